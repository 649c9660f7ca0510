"""Arguments and options that commands share, and the choices they offer.

The packages decide what the choices mean; here they stand once more so that ``--help`` imports
nothing heavy.
``tests/cli/test_options.py`` holds the two together.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from adducir.cli.choices import kind_of
from adducir.cli.outputs import RUN, TABLE
from adducir.cli.parameters import argument, option
from adducir.core.files import is_standard_output
from adducir.core.texts import whole_number
from adducir.corpora.readers import FORMATS
from adducir.models.machine import Precision
from adducir.tables.formats import TABLES

DEFAULT_MEASURES = "nDCG(judged_only=True)@5 Bpref Judged@5"
METADATA_ENDING = ".ir-metadata.yml"


def format_of(output: Path | None, wanted: str | None = None) -> str:
    """The format that is wanted, or else the one that a file's ending says."""
    name = output.name.removesuffix(".gz") if output is not None else ""
    ending = Path(name).suffix.lower()
    if wanted is not None or not ending:
        return wanted or "terminal"
    kinds = TABLES.kinds().items()
    return next((kind for kind, one in kinds if one.ending == ending), "terminal")


NegativeGrades = Literal["zero", "trec_eval"]
Fit = Literal["auto", "column", "page"]
NEGATIVE_GRADES = (
    "Count negative grades as judged and not relevant, or leave them to trec_eval's rule."
)


def _without_metadata(paths: list[Path]) -> list[Path]:
    """Pass over the metadata files that ``runs/*`` takes in."""
    return [path for path in paths if not path.name.endswith(METADATA_ENDING)]


def depth_of(text: str) -> int | None:
    """A depth as it is typed; None for ``all``.

    Raises:
        BadParameter: Neither ``all`` nor a number from 1 up.
    """
    if text == "all":
        return None
    number = whole_number(str(text))
    if not number:
        raise typer.BadParameter(f"{text!r} is neither a number from 1 up nor 'all'.")
    return number


RunPaths = Annotated[
    list[Path],
    argument(
        "TREC runs, plain or .gz, or predictions of MTEB or sentence-transformers; metadata beside "
        f"them ({METADATA_ENDING}) is ignored.",
        "RUN",
        callback=_without_metadata,
    ),
]
Output = Annotated[Path | None, option("Write there instead of to the terminal.", "-o"), TABLE]
RunOutput = Annotated[
    Path, option("The run to write, such as runs/X.trec.gz; '-' is standard output.", "-o"), RUN
]
CorpusFormat = Annotated[
    str | None,
    option(
        "The format of the files, if their names do not show it.", "--format", **kind_of(FORMATS)
    ),
]
TableFormat = Annotated[
    str | None,
    option(
        "What to print; by default what the ending of --output says.",
        "--format",
        shown="terminal",
        **kind_of(TABLES),
    ),
]
Threads = Annotated[int | None, option("Threads.", min=1, shown="one per core")]
TrainingThreads = Annotated[
    int | None,
    option(
        "Threads: the same as --set training.threads=N, which determines the weights.",
        min=1,
        shown="the recipe's, or 1",
    ),
]
Depth = Annotated[
    int | None,
    option(
        "Documents per topic, at most; 'all' for every document found.",
        metavar="N|all",
        parser=depth_of,
    ),
]
Tag = Annotated[str | None, option("The run's tag.", shown="the file's name")]
QrelsSources = Annotated[
    list[str], option("Judgements: a file or an ir_datasets id; can be repeated.", "-q")
]
DocnoField = Annotated[
    str | None, option("The field of the docno, where it has none of the usual names.")
]
Rebuild = Annotated[bool, option("Build even what is there already.")]


def given(**values: Any) -> dict[str, Any]:
    """Those that are not None: what the user said."""
    return {name: value for name, value in values.items() if value is not None}


def listed(values: Sequence[str] | None) -> list[str]:
    """The items of an option that takes commas, repetition, or both."""
    return [item.strip() for value in values or () for item in value.split(",") if item.strip()]


def tag_of(output: Path, wanted: str | None) -> str:
    """The tag of a run: what the user wants, or its file's name, which may hold no blank."""
    from adducir.cli.names import stem

    return wanted or ("adducir" if is_standard_output(output) else "_".join(stem(output).split()))


DeviceName = Literal["auto", "cpu", "cuda", "mps"]
Device = Annotated[DeviceName, option("Where the model runs; 'auto' takes a GPU if any.")]
PrecisionOption = Annotated[
    Precision,
    option("What the model computes in; bfloat16 is coarser, and mostly faster."),
]


def training_changes(changes: Sequence[str] | None, threads: int | None) -> list[str]:
    """The changes of a training recipe, with those threads that were asked for."""
    return [*(changes or ()), *([] if threads is None else [f"training.threads={threads}"])]


Changes = Annotated[
    list[str] | None,
    option(
        "Change the recipe for this time, as in training.epochs=2; can be repeated.",
        "--set",
        metavar="KEY=VALUE",
    ),
]
