"""``adducir train`` and ``adducir encode``."""

import os
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from adducir.cli import common
from adducir.cli.command import option
from adducir.cli.common import Computing
from adducir.core.errors import UsageError
from adducir.core.planning import planning
from adducir.core.recipe import Needs, Recipe, needs, without
from adducir.corpora.reading import CorpusReading, QueryReading
from adducir.encoders.settings import EncodingSettings


class TrainOptions(Recipe):
    recipe: Path = option("The recipe, such as encoders/NAME.yaml.", argument=True)
    output: Path | None = option(
        "The model's folder.",
        default=None,
        shown="the recipe's name without suffix",
        writes=common.FOLDER,
    )
    dry_run: bool = option(
        "Check the recipe, count its examples and steps, print the plan and stop.", default=False
    )
    changes: common.Changes = ()
    device: common.Device = "auto"
    threads: int | None = option(
        "Threads: the same as --set training.threads=N, which determines the weights.",
        default=None,
        ge=1,
        shown="the recipe's, or 1",
    )
    rebuild: common.Rebuild = False
    allow_code: common.AllowCode = False


def train(settings: TrainOptions) -> None:
    """Train a model from its recipe: a term weighter, an encoder, a reranker.

    The recipe's key `kind` chooses the model: deepct, dual-encoder, cross-encoder, monobert,
    complementary or drn. The weights with the lowest validation loss are kept. A killed training
    resumes from its last checkpoint, at most two minutes old; a model that already exists with the
    same settings is not trained again.

    On several GPUs or machines, use torchrun: torchrun ... -m adducir train RECIPE.

    Examples:
        adducir train encoders/egret.yaml
        adducir train encoders/egret.yaml --dry-run
        adducir train rerankers/touche-small-ce.yaml --set training.seed=1 -o rerankers/ce-1
    """
    from adducir.cli.console import near, note, open_progress, show
    from adducir.training.run import planned, train_model
    from adducir.training.trainable import open_training

    threads = [] if settings.threads is None else [f"training.threads={settings.threads}"]
    is_first = os.environ.get("RANK", "0") == "0"
    with (
        open_progress() if is_first else nullcontext(),
        planning() if settings.dry_run else nullcontext(),
    ):
        plan = open_training(settings.recipe, [*settings.changes, *threads])
        target = settings.output or settings.recipe.with_suffix("")
        if settings.dry_run:
            for verb, text in planned(plan, target):
                show(f"{verb:6} {text}")
            return
        manifest = train_model(plan, target, device=settings.device, rebuild=settings.rebuild)
    if manifest is not None:
        counts = manifest.counts
        loss, step = counts["validation_loss"], counts["best_step"]
        text = "" if loss is None else f", validation loss {loss:.5f} at step {step:,}"
        for line in plan.report(counts):
            show(line)
        note(f"{near(target)}: {counts['steps']:,} steps{text}")


class EncodeOptions(Computing, CorpusReading, QueryReading, EncodingSettings):
    conditions: ClassVar[Mapping[str, Needs]] = {
        **dict.fromkeys(("docno_field", "format", "passages"), needs("corpus")),
        **dict.fromkeys(EncodingSettings.model_fields.keys() - {"attention"}, without("sparse")),
    }
    model: str = option(
        "An encoder: its folder or recipe, 'minilm', a name on the Hub, or two of them, "
        "comma-separated (queries, documents).",
        "-m",
    )
    output: Path = option("The folder of the vectors or weights.", writes=common.FOLDER)
    sparse: bool = option(
        "Token weights of a learned sparse encoder (such as SPLADE), instead of vectors.",
        default=False,
    )
    corpus: str | None = option(
        "An ir_datasets id, or a file or folder.", "-c", metavar="SOURCE", default=None, reads=True
    )
    spans: Annotated[Path | None, without("sparse")] = option(
        "Masked spans, instead of a corpus.", default=None
    )
    side: Annotated[Literal["context", "span"], needs("spans")] = option(
        "With --spans: encode the contexts, or the spans themselves.", default="context", rare=True
    )
    topics: Annotated[str | None, needs("sparse")] = option(
        "With --sparse: the queries of topics, instead of a corpus.", default=None
    )
    fields: Annotated[common.Names, needs("corpus")] = option(
        "With --corpus: the fields to encode, comma-separated or repeated.",
        default=(),
        shown="the corpus's texts",
    )
    precision: common.PrecisionOption = "float32"
    rebuild: common.Rebuild = False
    allow_code: common.AllowCode = False


def encode(settings: EncodeOptions) -> None:
    """Encode a corpus, or contexts and spans, into vectors.

    Killed work resumes. A digest ties the vectors to their docnos. With --sparse, the folder
    contains weights.jsonl.gz for `adducir index --weights` and `adducir search --topics`.

    Examples:
        adducir encode --model minilm --corpus corpus.jsonl --output vectors/corpus
        adducir encode --model minilm --corpus corpus.jsonl --workers 8 -o vectors/corpus
        adducir encode --sparse --model naver/splade-v3 --corpus corpus.jsonl -o weights/corpus
        adducir encode --sparse --model naver/splade-v3 --topics topics.tsv -o weights/queries
    """
    if (settings.corpus, settings.spans, settings.topics).count(None) != 2:
        raise UsageError("give exactly one of --corpus, --spans and --topics.")

    from adducir.cli.console import near, note, open_progress
    from adducir.encoders.encoding import encode as encode_items
    from adducir.encoders.encoding import items_of_corpus, items_of_spans, items_of_topics
    from adducir.encoders.kinds import encoder_source
    from adducir.training.leaks import note_seen

    with open_progress():
        source = encoder_source(settings.model, encoding=settings)
        if settings.spans is not None:
            items = items_of_spans(settings.spans, settings.side)
        elif settings.topics is not None:
            topics = settings.read_topics(settings.topics)
            note_seen(source.query.folder, topics)
            items = items_of_topics(topics)
        else:
            items = items_of_corpus(settings.opened(settings.corpus or ""), settings.fields)
        manifest = encode_items(
            source,
            items,
            settings.output,
            settings.running(),
            sparse=settings.sparse,
            rebuild=settings.rebuild,
        )
    counts = manifest.counts
    summary = (
        f"{counts['weights']:,} weights of {counts['texts']:,} texts"
        if settings.sparse
        else f"{counts['vectors']:,} vectors of {counts['width']:,} numbers"
    )
    note(f"{near(settings.output)}: {summary}, computed in {manifest.recipe['precision']}")
