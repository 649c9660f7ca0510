"""What the recipes of several commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from adducir.cli.command import Writes, option
from adducir.core.files import is_standard_output
from adducir.core.recipe import Recipe
from adducir.corpora.readers import FORMATS
from adducir.models.machine import Precision

if TYPE_CHECKING:
    from adducir.core.executors import Execution

METADATA_ENDING = ".ir-metadata.yml"
FOLDER = Writes("folder")
LINES = Writes("file", (".jsonl", ".ndjson", ".json"))


def items(values: Any) -> Any:
    """Texts with commas between them as single ones."""
    texts = [values] if isinstance(values, str) else values
    return [one.strip() for text in texts for one in text.split(",") if one.strip()]


def _depth(value: Any) -> Any:
    return None if value == "all" else value


Names = Annotated[tuple[str, ...], BeforeValidator(items)]
"""Texts with commas between them, or repeated."""
Numbers = Annotated[tuple[float, ...], BeforeValidator(items)]
Runs = Annotated[
    tuple[Path, ...],
    # Metadata files that ``runs/*`` takes in are passed over.
    AfterValidator(
        lambda given: tuple(one for one in given if not one.name.endswith(METADATA_ENDING))
    ),
    option(
        "TREC runs, plain or .gz, or predictions of MTEB or sentence-transformers; metadata beside "
        f"them ({METADATA_ENDING}) is ignored.",
        metavar="RUN",
        argument=True,
    ),
]
RunOutput = Annotated[
    Path,
    option(
        "The run to write, such as runs/X.trec.gz; '-' is standard output.",
        "-o",
        writes=Writes("run"),
    ),
]
Topics = Annotated[
    str,
    option("An ir_datasets id, or a file: TREC's or Touché's XML, TSV or JSONL.", "-t", reads=True),
]
Qrels = Annotated[
    list[str],
    option("Judgements: a file or an ir_datasets id; can be repeated.", "-q", reads=True),
]
Depth = Annotated[
    Annotated[int, Field(ge=1)] | None,
    BeforeValidator(_depth),
    option("Documents per topic, at most; 'all' for every document found.", metavar="N|all"),
]
Tag = Annotated[str | None, option("The run's tag.", shown="the file's name")]
DocnoField = Annotated[
    str | None, option("The field of the docno, where it has none of the usual names.")
]
CorpusFormat = Annotated[
    str | None,
    FORMATS.named,
    option("The format of the files, if their names do not show it.", "--format"),
]
Rebuild = Annotated[bool, option("Build even what is there already.")]
Changes = Annotated[
    tuple[str, ...],
    option(
        "Change the recipe for this time, as in training.epochs=2; can be repeated.",
        "--set",
        metavar="KEY=VALUE",
    ),
]
Threads = Annotated[int | None, option("Threads.", ge=1, shown="one per core")]
Device = Annotated[
    Literal["auto", "cpu", "cuda", "mps"],
    option("Where the model runs; 'auto' takes a GPU if any."),
]
PrecisionOption = Annotated[
    Precision, option("What the model computes in; bfloat16 is coarser, and mostly faster.")
]


class Workers(Recipe):
    """Who makes chunks; nothing of it determines the result."""

    workers: int = option(
        "Processes that work side by side: one per core, or one per GPU.", default=1, ge=1
    )
    ray: str | None = option(
        "Work on a Ray cluster: 'auto', or its address.", default=None, rare=True
    )
    slurm: str | None = option(
        "Work in Slurm jobs, at most --workers at a time; settings of submitit, as in "
        "partition=gpu.",
        default=None,
        rare=True,
    )

    def execution(self) -> "Execution":
        """Who makes the chunks."""
        from adducir.core.executors import Execution

        return Execution(self.workers, self.ray, self.slurm)


class Computing(Workers):
    """How chunks are made that a network computes."""

    batch_tokens: int | None = option(
        "Padded tokens in a batch. Figures depend on it in their last digits.",
        default=None,
        ge=1,
        shown="2,048 on a CPU, 16,384 on a GPU",
        rare=True,
    )


def tag_of(output: Path, wanted: str | None) -> str:
    """The tag of a run: what the user wants, or its file's name, which may hold no blank."""
    from adducir.cli.names import stem

    return wanted or ("adducir" if is_standard_output(output) else "_".join(stem(output).split()))
