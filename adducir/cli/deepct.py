"""``adducir deepct evaluate``, ``expand`` and ``show``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from adducir.cli import options
from adducir.cli.effects import with_any
from adducir.cli.outputs import LINES, SOURCE
from adducir.cli.parameters import argument, option
from adducir.cli.shards import ShardOptions
from adducir.core.errors import UsageError
from adducir.core.files import is_standard_output
from adducir.core.texts import visible
from adducir.models.machine import Precision

if TYPE_CHECKING:
    from adducir.deepct.model import Weighted

Model = Annotated[Path, option("A term weighter's folder, or its recipe.", "-m", metavar="MODEL")]


def deepct_evaluate(
    recipe: Annotated[Path, argument("The recipe, such as deepct/NAME.yaml.", "RECIPE")],
    model: Annotated[
        Path | None,
        option("The model.", "-m", metavar="FOLDER", shown="the recipe's name without its ending"),
    ] = None,
    changes: options.Changes = None,
    device: options.Device = "auto",
    precision: options.PrecisionOption = "float32",
    threads: options.Threads = None,
) -> None:
    """Measure how well a term weighter recovers the reference terms of passages held out.

    Average precision per passage, with bootstrap intervals over documents: of the model, of the
    same model before training, of tf-idf, and of constant weights. The passages are those of the
    recipe's test part, or, where it has none, those that training was validated with.
    """
    from adducir.cli.console import open_progress, show
    from adducir.deepct.training import DeepCT, evaluate_recovery
    from adducir.models.machine import using_threads
    from adducir.models.sources import trained_folder
    from adducir.training.kinds import open_training

    with open_progress(), using_threads(threads):
        training = open_training(recipe, changes or ())
        if not isinstance(training, DeepCT):
            raise UsageError(f"{recipe} is not a recipe of a term weighter.")
        if not (training.recipe.held_out.test or training.recipe.held_out.share):
            raise UsageError("the recipe holds out nothing: set `held_out.test`.")
        folder = model or trained_folder(recipe)
        lines = evaluate_recovery(training, folder, device=device, precision=precision)
    show("\n".join(lines))


def deepct_expand(
    model: Model,
    corpus: Annotated[
        str, option("An ir_datasets id, or a file or folder.", "-c", metavar="SOURCE"), SOURCE
    ],
    output: Annotated[Path, option("JSON lines to write, such as X.jsonl.gz.", "-o"), LINES],
    weights: Annotated[
        Path | None,
        option(
            "Where the words' weights are kept, for another rendering.",
            metavar="FOLDER",
            shown="beside the output, ending in .weights",
        ),
    ] = None,
    scale: Annotated[float, option("How often a word of weight 1 comes.", min=0.0)] = 100.0,
    transform: Annotated[
        Literal["linear", "sqrt"], option("Scale the weight, or its square root.")
    ] = "linear",
    pairs: Annotated[
        bool, option("Write each word with its count, for the memory engine, not repeated.")
    ] = False,
    keep: Annotated[
        list[str] | None,
        option(
            "With --pairs: fields whose own words are counted too, with commas or repeated.",
            metavar="FIELDS",
            rare=True,
        ),
        with_any("pairs"),
    ] = None,
    docno_field: options.DocnoField = None,
    format_name: options.CorpusFormat = None,
    device: options.Device = "auto",
    precision: Annotated[
        Precision,
        option("What the model computes in; bfloat16 is coarser, and mostly faster.", rare=True),
    ] = "float32",
    threads: options.Threads = None,
    *,
    shards: ShardOptions,
    rebuild: options.Rebuild = False,
) -> None:
    """Predict every word's weight in a corpus and write its words repeated by them.

    Every document is written, with all its fields and the field `weighted`. Work that
    was killed resumes; another rendering of the same weights costs no prediction.
    """
    from adducir.cli.console import near, note, open_progress
    from adducir.corpora.sources import open_corpus
    from adducir.deepct.expansion import ExpandedCorpus, Rendering
    from adducir.deepct.recipe import Settings
    from adducir.deepct.weighting import predict_corpus_weights
    from adducir.models.sources import trained_folder

    if scale <= 0:
        raise UsageError("--scale must be more than 0.")
    if weights is None and is_standard_output(output):
        raise UsageError("standard output has no name to keep the weights by: give --weights.")
    folder = trained_folder(model)
    target = weights or output.with_name(_stem(output.name) + ".weights")
    with open_progress():
        documents = open_corpus(corpus, docno_field=docno_field, format=format_name)
        settings = Settings.load(folder)
        manifest = predict_corpus_weights(
            folder,
            documents,
            target,
            device=device,
            threads=threads,
            tokens=shards.batch_tokens,
            precision=precision,
            rebuild=rebuild,
            execution=shards.execution(),
        )
        rendering = Rendering(scale=scale, transform=transform)
        expanded = ExpandedCorpus(documents, target, manifest.fingerprint, settings, rendering)
        if pairs:
            count = expanded.write_pairs(output, options.listed(keep))
        else:
            count = expanded.write(output)
        once = expanded.lost()
    lost = f", {once:,} of which keep their words once" if once else ""
    words = manifest.counts["words"]
    note(f"{near(output)}: {count:,} documents of {words:,} weighted words{lost}")


def _stem(name: str) -> str:
    for ending in (".gz", ".jsonl", ".ndjson", ".json"):
        name = name.removesuffix(ending)
    return name


def deepct_show(
    model: Model,
    text: Annotated[str, option("The text; '-' reads stdin.", "-t", metavar="TEXT")],
    top: Annotated[int, option("How many words to list by weight below the text.", min=0)] = 10,
    device: options.Device = "auto",
) -> None:
    """Print a text with the weight of each word, coloured in the terminal."""
    from adducir.cli.console import is_terminal, show
    from adducir.deepct.model import TermWeighter
    from adducir.models.machine import choose_device
    from adducir.models.sources import trained_folder

    shown = sys.stdin.read() if text == "-" else text
    weighter = TermWeighter.load(trained_folder(model)).to(choose_device(device))
    (found,) = weighter.weigh([shown])
    if is_terminal(sys.stdout):
        _print_coloured(shown, found)
    else:
        show(_plain(shown, found))
    for word, weight in _best(found, top):
        show(f"{weight:7.3f}  {word}")


def _plain(text: str, found: "Weighted") -> str:
    """The text with each word's weight behind it."""
    parts, done = [], 0
    for word, weight in zip(found.words, found.weights.tolist(), strict=True):
        parts.append(f"{text[done : word.end]}[{weight:.2f}]")
        done = word.end
    return "".join(parts) + text[done:]


def _print_coloured(text: str, found: "Weighted") -> None:
    """The text; the greater a word's weight, the stronger its background."""
    from rich.console import Console
    from rich.text import Text

    shown, done = Text(), 0
    for word, weight in zip(found.words, found.weights.tolist(), strict=True):
        shown.append(visible(text[done : word.start]))
        done = word.end
        share = min(1.0, max(0.0, weight))
        # From white to a deep blue, on which the text turns white.
        red, green = round(255 - 235 * share), round(255 - 165 * share)
        ink = "white" if share > 0.5 else "black"
        style = f"{ink} on rgb({red},{green},255)" if share >= 0.05 else None
        shown.append(visible(text[word.start : word.end]), style)
    shown.append(visible(text[done:]))
    Console(highlight=False).print(shown, soft_wrap=False)


def _best(found: "Weighted", top: int) -> list[tuple[str, float]]:
    """The different words of the greatest weights."""
    greatest: dict[str, float] = {}
    for word, weight in zip(found.words, found.weights.tolist(), strict=True):
        key = word.text.lower()
        greatest[key] = max(weight, greatest.get(key, weight))
    return sorted(greatest.items(), key=lambda item: (-item[1], item[0]))[:top]
