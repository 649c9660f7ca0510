"""``adducir compare``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adducir.cli import evaluate
from adducir.cli import evaluate_options as opts
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import argument, option
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from adducir.evaluation.scores import Scores

_ENDINGS = (".csv", ".json", ".jsonl", ".tsv")


@dataclass(frozen=True, kw_only=True)
class Testing(evaluate.Testing):
    """The same of systems, which here are no runs."""

    baseline: Annotated[
        list[str] | None,
        option(
            "The system that all others are tested against; can be repeated.",
            "-b",
            metavar="SYSTEM",
            panel=opts.TESTING,
        ),
    ] = None


def compare(
    scores: Annotated[
        list[Path],
        argument(
            "Values per topic: CSV of Adducir or PyTerrier, JSON of ranx or pytrec_eval, JSON "
            "lines, lines of ir_measures --by_query or trec_eval -q.",
            "SCORES",
        ),
        SOURCE,
    ],
    measures: Annotated[
        list[str] | None,
        option(
            "Which measures of the files to compare.",
            "-m",
            shown="all",
            panel=evaluate.MEASURING,
        ),
    ] = None,
    pool_seeds: Annotated[
        bool,
        option(
            "Take runs whose names differ only in seed1, seed2, ... for runs of one system.",
            panel=opts.TESTING,
            rare=True,
        ),
    ] = False,
    higher_is_better: Annotated[
        list[str] | None,
        option(
            "Measures of the files on which higher values are better.",
            metavar="MEASURES",
            panel=evaluate.MEASURING,
        ),
    ] = None,
    lower_is_better: Annotated[
        list[str] | None,
        option(
            "Measures of the files on which lower values are better.",
            metavar="MEASURES",
            panel=evaluate.MEASURING,
        ),
    ] = None,
    *,
    testing: Testing,
    further: opts.Further,
    printing: opts.Printing,
) -> None:
    """Test values per topic that any program computed, and print the table.

    A file that names no system is of one system, named after the file. All systems of a topic set
    need the same topics and measures. Topic sets are the groups of Adducir's own CSV.
    """
    from adducir.evaluation.seeds import pool_seeds as pooled
    from adducir.statistics.comparison.comparison import compare as compared
    from adducir.tables.builder import build_table

    groups = _groups(scores, measures)
    if pool_seeds:
        groups = {name: pooled(many) for name, many in groups.items()}
    lower, notes = _directions(groups, higher_is_better or (), lower_is_better or ())
    comparisons = {
        name: compared(many, **testing.arguments(), **further.arguments(), lower_is_better=lower)
        for name, many in groups.items()
    }
    layout = printing.layout(testing, scores=opts.digests(scores))
    layout = replace(layout, notes=notes, evaluated=False)
    printing.show(build_table(comparisons, groups, layout=layout))


def _groups(paths: Sequence[Path], measures: Sequence[str] | None) -> "dict[str, list[Scores]]":
    """The scores of all files by topic set, with the measures that are wanted."""
    from adducir.cli.names import system_names
    from adducir.evaluation.score_files import measure_of, read_scores

    wanted = [measure_of(one) for text in measures or () for one in text.split()]
    groups: dict[str, list[Scores]] = {}
    for path, name in system_names(paths).items():
        shown = Path(name).with_suffix("").as_posix() if Path(name).suffix in _ENDINGS else name
        for group, found in read_scores(path, shown).items():
            groups.setdefault(group, []).extend(_chosen(one, wanted) for one in found)
    return groups


def _directions(
    groups: "dict[str, list[Scores]]", higher: Sequence[str], lower: Sequence[str]
) -> tuple[frozenset[str], list[str]]:
    """The names of measures on which lower values are better, and what the footer says of it."""
    from adducir.evaluation.named import usually_falls
    from adducir.evaluation.score_files import is_known, measure_of

    told: dict[str, bool] = {}
    every = [one for many in groups.values() for one in many]
    for texts, falls in ((higher, False), (lower, True)):
        wanted = [measure_of(one) for text in texts for one in text.split()]
        for one in every:
            _check_measures(one, wanted)
        for name in map(str, wanted):
            if told.setdefault(name, falls) != falls:
                raise UsageError(f"{name} is named by --higher-is-better and --lower-is-better.")
    known: dict[str, bool] = {}
    for one in every:
        for measure in filter(is_known, one.measures):
            falls = bool(getattr(measure, "lower_is_better", False))
            name = str(measure)
            if known.setdefault(name, falls) != falls and name not in told:
                raise UsageError(
                    f"the files do not agree on whether higher values of {name} are better.",
                    hint="Say it by --higher-is-better or --lower-is-better.",
                )
    directions = known | told
    unknown = {str(m): None for one in every for m in one.measures if str(m) not in directions}
    for name in unknown:
        if usually_falls(name):
            raise UsageError(
                f"it is not known whether higher or lower values of {name} are better.",
                hint="Say it by --higher-is-better or --lower-is-better.",
            )
    falling = [name for name, falls in directions.items() if falls]
    notes = [f"Lower values are better: {', '.join(falling)}."] if falling else []
    if unknown:
        notes.append(f"Higher values were taken as better: {', '.join(unknown)}.")
    return frozenset(falling), notes


def _check_measures(one: "Scores", wanted: Sequence[object]) -> None:
    """Refuse measures that a system has no values of."""
    for measure in wanted:
        if measure not in one.measures:
            raise UsageError(
                f"{one.system} has no values of {measure}.",
                hint=f"It has {', '.join(map(str, one.measures))}.",
            )


def _chosen(one: "Scores", wanted: Sequence[object]) -> "Scores":
    """The scores with the measures that are wanted, in that order; with all if none is named."""
    if not wanted:
        return one
    _check_measures(one, wanted)
    columns = [list(one.measures).index(measure) for measure in wanted]  # type: ignore[arg-type]
    measures = tuple(one.measures[column] for column in columns)
    return replace(one, measures=measures, values=one.values[:, columns])
