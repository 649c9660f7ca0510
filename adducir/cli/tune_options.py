"""The options of ``adducir tune``, and which of them mean something together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adducir.cli import options
from adducir.cli.effects import with_any
from adducir.cli.hyperparameters import kind_option, numbers_of
from adducir.cli.parameters import option
from adducir.core.errors import UsageError
from adducir.indexes.feedback import FEEDBACK
from adducir.indexes.models import MODELS

if TYPE_CHECKING:
    from decimal import Decimal

    from adducir.experiments.tuning.folds import Folds, Pool
    from adducir.experiments.tuning.systems import Tunable

DEFAULT_OBJECTIVE = "nDCG(judged_only=True)@5"
SYSTEM = "What is tuned"
FOLDS = "Folds"

TopicsSources = Annotated[
    list[str],
    option(
        "An ir_datasets id, or a file: TREC's or Touché's XML, TSV or JSONL; can be repeated, "
        "each with its --qrels.",
        "-t",
    ),
]
TopicField = Annotated[
    str | None,
    option("The field to search with, such as title or description.", shown="title, query or text"),
]
GridRanges = Annotated[
    list[str],
    option(
        "A parameter and its values: k1=0.5:2.5:0.5 (from, to, step; both ends included), or "
        "b=0.2,0.4; can be repeated. Of equal settings the one with the smallest values is chosen, "
        f"the first parameter first. Parameters of --model and --feedback: "
        f"{numbers_of(MODELS, FEEDBACK)}; of --fuse: weights.NAME, and those of 'adducir fuse', "
        "such as k; of --rerank: rerank_depth.",
        "-g",
        metavar="NAME=VALUES",
    ),
]
Objective = Annotated[str, option("The measure whose mean is to be greatest.", "-m")]
NegativeGrades = Annotated[options.NegativeGrades, option(options.NEGATIVE_GRADES)]


@dataclass(frozen=True, kw_only=True)
class System:
    """What the user wants to tune."""

    index: Annotated[
        Path | None, option("The index to search.", "-i", metavar="FOLDER", panel=SYSTEM)
    ] = None
    model: Annotated[
        str | None,
        kind_option(MODELS, shown="bm25", panel=SYSTEM),
        with_any("index"),
    ] = None
    feedback: Annotated[
        str | None,
        kind_option(FEEDBACK, panel=SYSTEM),
        with_any("index"),
    ] = None
    fuse: Annotated[
        list[Path] | None,
        option(
            "Instead of searching, fuse runs; repeat it for each of them. A run's weight is "
            "called by the name of its file: weights.bm25.",
            metavar="RUN",
            panel=SYSTEM,
        ),
    ] = None
    method: Annotated[
        str | None,
        option(
            "How runs are fused: see 'adducir fuse --help'.",
            metavar="NAME",
            shown="rrf",
            panel=SYSTEM,
        ),
        with_any("fuse"),
    ] = None
    rerank: Annotated[
        tuple[Path, Path] | None,
        option(
            "Instead of searching, tune how many documents of a run are reranked: the run, and "
            "the same run reranked.",
            metavar="FIRST RERANKED",
            panel=SYSTEM,
        ),
    ] = None

    def __post_init__(self) -> None:
        """Refuse to tune several things at once, or none.

        Raises:
            UsageError: There is not exactly one of an index, runs to fuse and a pair to rerank.
        """
        given = [self.index is not None, bool(self.fuse), self.rerank is not None]
        if sum(given) != 1:
            raise UsageError("name what to tune: exactly one of --index, --fuse and --rerank.")

    def open(self, pool: "Pool", depth: int | None, threads: int | None) -> "Tunable":
        """Open the index or read the runs."""
        if self.index is not None:
            from adducir.experiments.tuning.systems import LexicalSearch
            from adducir.indexes.engine import open_index

            model = MODELS.kind(self.model or "bm25")
            feedback = None if self.feedback is None else FEEDBACK.kind(self.feedback)
            opened = open_index(self.index)
            return LexicalSearch(opened, model, feedback=feedback, depth=depth, threads=threads)

        from adducir.cli.names import system_names
        from adducir.experiments.tuning.combining import Fusion, RerankDepth
        from adducir.runs.read import read_run

        if not pool.has_own_qids:
            raise UsageError(
                "topic sets share qids, which the topics of one run cannot distinguish.",
                hint="Tune each topic set by itself.",
            )
        if self.rerank is not None:
            return RerankDepth(*(read_run(path) for path in self.rerank))
        runs = {name: read_run(path) for path, name in system_names(self.fuse or ()).items()}
        return Fusion(runs, self.method or "rrf", depth=depth)


def ranges(grid: Sequence[str]) -> "dict[str, list[Decimal]]":
    """The values by parameter.

    Raises:
        UsageError: An item is not ``NAME=VALUES``, or names a parameter again.
    """
    from adducir.experiments.tuning.grid import from_text

    found: dict[str, list[Decimal]] = {}
    for item in grid:
        name, equals, values = item.partition("=")
        if not (equals and name.strip()):
            raise UsageError(f"--grid takes NAME=VALUES, such as k1=0.9,1.2, not {item!r}.")
        if name.strip() in found:
            raise UsageError(f"--grid names {name.strip()} twice.")
        found[name.strip()] = from_text(values)
    return found


@dataclass(frozen=True, kw_only=True)
class Division:
    """How topics are cut into folds."""

    folds: Annotated[
        str | None,
        option(
            "How many folds to cut the topics into, or 'topics': each source of topics is a fold.",
            metavar="K|topics",
            shown="topics if there are several, else 5",
            panel=FOLDS,
        ),
    ] = None
    folds_file: Annotated[
        Path | None,
        option(
            "Folds from a file: JSON, a list of lists of qids, as Anserini has it.",
            metavar="FILE",
            panel=FOLDS,
        ),
    ] = None
    seed: Annotated[
        int | None, option("Decides which topics make a fold.", shown="42", panel=FOLDS)
    ] = None

    def rule(self, *, several: bool) -> "Callable[[Pool], Folds]":
        """What makes the folds that the user wants.

        Raises:
            UsageError: The options do not go together.
        """
        file, wanted = self.folds_file, self.folds or ("topics" if several else "5")
        if file is not None and self.folds is not None:
            raise UsageError("folds come from --folds or from --folds-file, not from both.")
        if self.seed is not None and (file is not None or wanted == "topics"):
            raise UsageError("--seed means nothing unless topics are cut into folds: --folds K.")
        if wanted != "topics" and not wanted.isdecimal():
            raise UsageError(f"--folds takes a number or 'topics', not {wanted!r}.")

        def made(pool: "Pool") -> "Folds":
            from adducir.experiments.tuning.folds import by_topic_set, from_file, k_fold

            if file is not None:
                return from_file(pool, file)
            if wanted == "topics":
                return by_topic_set(pool)
            return k_fold(pool, int(wanted), 42 if self.seed is None else self.seed)

        return made


def set_names(sources: Sequence[str]) -> list[str]:
    """A name for each source of topics: its last part, as much as is needed to differ."""
    from adducir.cli.names import stem

    parts = [[*Path(source).parts[:-1], stem(Path(source))] for source in sources]
    names = [Path(part[-1]).stem if "." in part[-1] else part[-1] for part in parts]
    return [
        "-".join([*part[:-1], name]).replace("/", "") if names.count(name) > 1 else name
        for part, name in zip(parts, names, strict=True)
    ]
