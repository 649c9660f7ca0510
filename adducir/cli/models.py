"""``adducir train``, ``adducir encode``, and ``adducir deepct``: evaluate, expand, show."""

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from adducir.cli import common
from adducir.cli.command import option, optional, repeatable
from adducir.cli.console import is_terminal, near, note, show
from adducir.core.errors import InputError, UsageError
from adducir.core.files import is_standard_output
from adducir.core.planning import planning
from adducir.core.progress import Progress
from adducir.core.recipe import Needs, Recipe, needs, without
from adducir.corpora.reading import CorpusReading, QueryReading
from adducir.encoders.settings import EncodingSettings
from adducir.models.machine import Precision


class TrainOptions(Recipe):
    recipe: Path = option("The recipe, such as encoders/NAME.yaml.", argument=True)
    output: Path | None = optional(
        "The model's folder.", shown="the recipe's name without suffix", writes=common.FOLDER
    )
    dry_run: bool = option(
        "Check the recipe, count its examples and steps, print the plan and stop.", default=False
    )
    changes: common.Changes = ()
    device: common.Device = "auto"
    threads: int | None = optional(
        "Threads: the same as --set training.threads=N, which determines the weights.",
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
    from adducir.training.run import planned, train_model
    from adducir.training.trainable import open_training

    threads = [] if settings.threads is None else [f"training.threads={settings.threads}"]
    with planning() if settings.dry_run else nullcontext():
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


class EncodeOptions(common.Computing, CorpusReading, QueryReading, EncodingSettings):
    conditions: ClassVar[Mapping[str, Needs]] = dict.fromkeys(
        EncodingSettings.model_fields.keys() - {"attention"}, without("sparse")
    )
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
    corpus: str | None = optional(
        "An ir_datasets id, or a file or folder.", "-c", metavar="SOURCE", reads=True
    )
    spans: Annotated[Path | None, without("sparse")] = optional(
        "Masked spans, instead of a corpus."
    )
    side: Annotated[Literal["context", "span"], needs("spans")] = option(
        "With --spans: encode the contexts, or the spans themselves.", default="context", rare=True
    )
    topics: Annotated[str | None, needs("sparse")] = optional(
        "With --sparse: the queries of topics, instead of a corpus."
    )
    fields: Annotated[common.Names, needs("corpus")] = repeatable(
        "With --corpus: the fields to encode, comma-separated or repeated.",
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

    from adducir.encoders.encoding import encode as encode_items
    from adducir.encoders.encoding import items_of_corpus, items_of_spans, items_of_topics
    from adducir.encoders.kinds import encoder_source
    from adducir.training.leaks import note_seen

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


Model = Annotated[Path, option("A term weighter's folder, or its recipe.", "-m", metavar="MODEL")]


class DeepCTEvaluateOptions(Recipe):
    recipe: Path = option("The recipe, such as deepct/NAME.yaml.", argument=True)
    model: Path | None = optional(
        "The model.", "-m", metavar="FOLDER", shown="the recipe's name without suffix"
    )
    changes: common.Changes = ()
    device: common.Device = "auto"
    precision: common.PrecisionOption = "float32"
    threads: common.Threads = None


def deepct_evaluate(settings: DeepCTEvaluateOptions) -> None:
    """Measure how well a term weighter recovers the reference terms of held-out passages.

    Average precision per passage, with bootstrap intervals over documents, for the model, the same
    model before training, tf-idf, and constant weights. The passages are the recipe's test part or,
    if there is none, its validation part.

    Examples:
        adducir deepct evaluate deepct/cacm.yaml
        adducir deepct evaluate deepct/cacm.yaml --set training.seed=1
    """
    from adducir.deepct.training import DeepCT, evaluate_recovery
    from adducir.models.machine import using_threads
    from adducir.models.running import Running
    from adducir.models.sources import trained_folder
    from adducir.training.trainable import open_training

    with using_threads(settings.threads):
        training = open_training(settings.recipe, settings.changes)
        if not isinstance(training, DeepCT):
            raise UsageError(f"{settings.recipe} is not the recipe of a term weighter.")
        if not (training.recipe.held_out.test or training.recipe.held_out.share):
            raise UsageError("the recipe does not hold out a test part: set `held_out.test`.")
        running = Running(settings.device, settings.threads, precision=settings.precision)
        model = settings.model or trained_folder(settings.recipe)
        if not training.is_current(model):
            problem = "not trained with the recipe as it is now"
            if settings.model is None:
                hint = f"Train it: adducir train {settings.recipe}"
                raise InputError(f"the model was {problem}.", path=model, hint=hint)
            note(f"{model} was {problem}: it may know the passages that it is tested on")
        lines = evaluate_recovery(training, model, running)
    show("\n".join(lines))


class DeepCTExpandOptions(common.Computing, CorpusReading):
    model: Model
    corpus: common.Corpus
    output: common.JsonLines
    weights: Path | None = optional(
        "Where to keep the words' weights, to render them again.",
        metavar="FOLDER",
        shown="beside the output, with suffix .weights",
    )
    scale: float = option("How often to repeat a word of weight 1.", default=100.0, gt=0)
    transform: Literal["linear", "sqrt"] = option(
        "Scale the weight, or its square root.", default="linear"
    )
    pairs: bool = option(
        "Write each word with its count, for the memory engine, instead of repeating it.",
        default=False,
    )
    keep: Annotated[common.Names, needs("pairs")] = repeatable(
        "With --pairs: fields whose own words count too, comma-separated or repeated.",
        metavar="FIELDS",
        rare=True,
    )
    precision: Precision = option(
        "Numeric precision; bfloat16 is coarser and usually faster.", default="float32", rare=True
    )
    rebuild: common.Rebuild = False


def deepct_expand(settings: DeepCTExpandOptions) -> None:
    """Predict every word's weight in a corpus and repeat words accordingly.

    Every document is written, with all its fields and the field `weighted`. Killed work resumes; to
    render the same weights again, the model is not needed.

    Examples:
        adducir deepct expand --model deepct/cacm --corpus cacm.jsonl -o expanded.jsonl.gz
        adducir deepct expand --model deepct/cacm --corpus cacm.jsonl --pairs -o pairs.jsonl.gz
    """
    from adducir.deepct.expansion import ExpandedCorpus, Rendering, predict_corpus_weights
    from adducir.deepct.recipe import TermWeighterSettings
    from adducir.models.sources import trained_folder

    output = settings.output
    if settings.weights is None and is_standard_output(output):
        raise UsageError("standard output requires --weights.")
    folder = trained_folder(settings.model)
    target = settings.weights or output.with_name(f"{common.stem(output)}.weights")
    documents = settings.opened(settings.corpus)
    model = TermWeighterSettings.load(folder)
    manifest = predict_corpus_weights(
        folder, documents, target, settings.running(), rebuild=settings.rebuild
    )
    rendering = Rendering(scale=settings.scale, transform=settings.transform)
    expanded = ExpandedCorpus(documents, target, manifest.fingerprint, model, rendering)
    count, once = expanded.write(output, pairs=settings.pairs, keep=settings.keep)
    lost = f", {once:,} of which keep each word once" if once else ""
    words = manifest.counts["words"]
    note(f"{near(output)}: {count:,} documents of {words:,} weighted words{lost}")


class DeepCTShowOptions(Recipe):
    model: Model
    text: str = option("The text; '-' reads stdin.", "-t")
    top: int = option("How many words to list by weight below the text.", default=10, ge=0)
    device: common.Device = "auto"


def deepct_show(settings: DeepCTShowOptions) -> None:
    """Print a text with the weight of each word.

    Examples:
        adducir deepct show --model deepct/cacm --text 'An algorithm for sorting files.'
        adducir deepct show --model deepct/demo --text 'Schools should ban phones.'
    """
    from adducir.deepct.model import TermWeighter
    from adducir.models.machine import choose_device
    from adducir.models.sources import trained_folder
    from adducir.training.trainable import note_older

    text = sys.stdin.read() if settings.text == "-" else settings.text
    with nullcontext() if is_terminal(sys.stderr) else Progress():
        folder = trained_folder(settings.model)
        note_older(folder)
        weighter = TermWeighter.load(folder)
        (weighted,) = weighter.to(choose_device(settings.device)).weigh([text])
    shown, done, greatest = "", 0, dict[str, float]()
    for word, weight in zip(weighted.words, weighted.weights.tolist(), strict=True):
        shown += f"{text[done : word.end]}[{weight:.2f}]"
        done, key = word.end, word.text.lower()
        greatest[key] = max(weight, greatest.get(key, weight))
    show(shown + text[done:])
    heaviest = sorted(greatest.items(), key=lambda item: (-item[1], item[0]))
    for key, weight in heaviest[: settings.top]:
        show(f"{weight:7.3f}  {key}")
