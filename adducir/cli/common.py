"""Options that several commands share."""

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from click.exceptions import Exit
from pydantic import AfterValidator, BeforeValidator

from adducir.cli.command import Writes, option, optional
from adducir.cli.console import note
from adducir.core.errors import UsageError
from adducir.core.files import is_standard_output
from adducir.core.processes import MOST_THREADS
from adducir.core.recipe import Recipe
from adducir.core.texts import readable_name
from adducir.models.machine import Precision
from adducir.runs.kinds import Depth as Depth

if TYPE_CHECKING:
    from adducir.core.executors import Execution
    from adducir.judges.answers import Answering, Asked, Talk
    from adducir.judges.exchange import Request
    from adducir.judges.llm import Answerer
    from adducir.models.running import Running

T = TypeVar("T")
METADATA_ENDING = ".ir-metadata.yml"
_ENDINGS = (".gz", ".trec", ".txt", ".run", ".res", ".csv", ".tsv", ".json", ".jsonl", ".parquet")
FOLDER = Writes("folder")
LLM = "The language model's file, or the folder or GGUF file with its weights."
WRITE_ANYWAY = ", or write what there is with --failures"
LINES = Writes("file", (".jsonl", ".ndjson", ".json"))
JSONL = Writes("file", (".jsonl",))
CSV = Writes("file", (".csv",))


def items(values: Any) -> Any:
    texts = [values] if isinstance(values, str) else values
    return [item.strip() for text in texts for item in str(text).split(",") if item.strip()]


Names = Annotated[tuple[str, ...], BeforeValidator(items)]
"""Comma-separated or repeated texts."""
Numbers = Annotated[tuple[float, ...], BeforeValidator(items)]
Paths = Annotated[tuple[Path, ...], BeforeValidator(items)]


def _without_metadata(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """The runs, without metadata files matched by ``runs/*``."""
    runs = tuple(path for path in paths if not path.name.endswith(METADATA_ENDING))
    if paths and not runs:
        raise ValueError("these are metadata, not runs")
    return runs


Runs = Annotated[
    tuple[Path, ...],
    AfterValidator(_without_metadata),
    option(
        "Runs of TREC, MS MARCO, PyTerrier (CSV), ranx (Parquet), MTEB; also .gz. Metadata beside "
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
    option("An ir_datasets id, or a file: TREC, Touché's XML, TSV, CSV, JSONL.", "-t", reads=True),
]
Qrels = Annotated[
    list[str], option("Judgements: a file or an ir_datasets id; can be repeated.", "-q", reads=True)
]
Contexts = Annotated[
    tuple[str, Path] | None,
    option(
        "Instead of --spans: contexts with candidates of their own, of a kind of `adducir kinds "
        "contexts`, such as RELiC's: `--contexts relic val.json`.",
        metavar="KIND FILE",
    ),
]
Corpus = Annotated[
    str, option("An ir_datasets id, or a file or folder.", "-c", metavar="SOURCE", reads=True)
]
JsonLines = Annotated[Path, option("JSON lines to write, such as X.jsonl.gz.", "-o", writes=LINES)]
PoolSeeds = Annotated[
    bool,
    option(
        "Treat runs whose names differ only in seed1, seed2, ... as runs of one system.", rare=True
    ),
]
Tag = Annotated[str | None, option("The run's tag.", shown="the file's name")]
Rebuild = Annotated[bool, option("Rebuild what exists.")]
AllowCode = Annotated[bool, option("Allow Python code that comes with a model to run.")]
Changes = Annotated[
    tuple[str, ...],
    option(
        "Override a key of the recipe, as in training.epochs=2; can be repeated.",
        "--set",
        metavar="KEY=VALUE",
    ),
]
Threads = Annotated[int | None, option("Threads.", ge=1, le=MOST_THREADS, shown="one per core")]
Device = Annotated[
    Literal["auto", "cpu", "cuda", "mps"],
    option("Where the model runs; 'auto' uses a GPU if available."),
]
PrecisionOption = Annotated[
    Precision, option("Numeric precision; bfloat16 is coarser and usually faster.")
]


def tag_of(output: Path, tag: str | None) -> str:
    """A run's tag: the user's choice or the file's name; it must not contain blanks."""
    return tag or (
        "adducir" if is_standard_output(output) else "_".join(readable_name(stem(output)).split())
    )


def stem(path: Path) -> str:
    """The file's name without suffixes: ``bm25-k1=0.9.trec.gz`` becomes ``bm25-k1=0.9``."""
    name = path.name
    while Path(name).suffix.lower() in _ENDINGS:
        name = Path(name).stem
    return name


def system_names(runs: Sequence[Path]) -> dict[Path, str]:
    """A distinct name for every run: its file's name without suffixes.

    Runs of the same name get as many parent folders as needed: ``2020/bm25``, ``2021/bm25``.
    """
    # A pipe resolves to a different name each time.
    places = [Path(os.path.realpath(path) if path.is_file() else path.absolute()) for path in runs]
    for path, place in zip(runs, places, strict=True):
        if places.count(place) > 1:
            raise UsageError(f"the run {path} is repeated.", hint="Give each run once.")
    labels = [place.with_name(stem(place)) for place in places]
    # bm25.trec and bm25.trec.gz in one folder: only the suffixes distinguish them.
    labels = [
        place if labels.count(label) > 1 else label
        for place, label in zip(places, labels, strict=True)
    ]
    names = [label.name for label in labels]
    folders = 0
    while len(set(names)) < len(names):
        folders += 1
        names = [
            "/".join(label.parts[-1 - folders :]) if names.count(name) > 1 else name
            for label, name in zip(labels, names, strict=True)
        ]
    return dict(zip(runs, map(readable_name, names), strict=True))


def find_system(name: str, names: dict[Path, str]) -> str | None:
    if name in names.values():
        return name
    place = os.path.realpath(name)
    return next((name for path, name in names.items() if os.path.realpath(path) == place), None)


def add_figures(figures: dict[str, T], more: dict[str, T], path: Path) -> None:
    if twice := more.keys() & figures.keys():
        message = f"{path} repeats figures of {min(twice)} from an earlier file."
        raise UsageError(message, hint="Give every system or judge a unique name.")
    figures |= more


class Asking(Recipe):
    """Where a language model's answers are kept, and whether it is asked at all."""

    cache: Path | None = optional(
        "The file with all answers.",
        shown="the model's, or answers.sqlite beside the output",
        rare=True,
        flag=True,
    )
    offline: bool = option("Use the cache alone.", default=False, rare=True, flag=True)
    dry_run: bool = option(
        "Say what asking would take, and stop.", default=False, rare=True, flag=True
    )

    def answering(self) -> "Answering":
        from adducir.judges.answers import Answering

        return Answering(self.cache, self.offline, dry=self.dry_run)

    def asked(
        self,
        model: "Answerer",
        talks: "Sequence[Talk]",
        output: Path,
        bounds: "Sequence[Sequence[Request]]" = (),
    ) -> "tuple[list[Any], Asked]":
        """What talks with a model come to; a dry run ends after saying what they would take."""
        from adducir.judges.answers import converse, plan

        with closing(self.answering().opened(model, output)) as cache:
            if self.dry_run:
                needed = plan(model, talks, cache, bounds)
                note(f"At most {needed}" if bounds else needed)
                raise Exit(0)
            return converse(model, talks, cache)


class AskingModel(Asking):
    """Which language model is asked, and how often its answers may fail."""

    llm: str = option(LLM)
    failures: float = option(
        "The share of answers that may be unreadable.", default=0.01, ge=0, le=1
    )
    allow_code: AllowCode = False


class Computing(Recipe):
    """How a network computes chunks, and who does; only batches affect the result's last digits."""

    device: Device = "auto"
    threads: Threads = None
    workers: int = option("Parallel processes, such as one per core or GPU.", default=1, ge=1)
    batch_tokens: int | None = optional(
        "Padded tokens per batch, which affect the last digits of figures.",
        ge=1,
        shown="2,048 on a CPU, 16,384 on a GPU",
        rare=True,
    )
    ray: str | None = optional("Work on a Ray cluster: 'auto' or its address.", rare=True)
    slurm: str | None = optional(
        "Work in Slurm jobs, at most --workers at a time; settings of submitit, as in "
        "partition=gpu.",
        rare=True,
    )

    def execution(self) -> "Execution":
        from adducir.core.executors import Execution

        return Execution(self.workers, self.ray, self.slurm)

    def running(self) -> "Running":
        from adducir.models.running import Running

        precision: Any = getattr(self, "precision", "float32")
        return Running(self.device, self.threads, self.batch_tokens, precision, self.execution())
