"""``adducir compare``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from adducir.cli import common
from adducir.cli.command import option
from adducir.cli.tabled import MEASURING, Tabled, digests
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from ir_measures import Measure

    from adducir.evaluation.scores import Scores

Order = Literal["systems", "measures", "ir_measures", "tot", "rag4reports"]


class CompareOptions(Tabled):
    scores: tuple[Path, ...] = option(
        "Values per topic: CSV of Adducir or PyTerrier, JSON of ranx or pytrec_eval, JSON lines, "
        "lines of ir_measures --by_query or trec_eval -q, AutoJudge's leaderboards; or a matrix of "
        "tasks and models.",
        argument=True,
    )
    measures: list[str] = option(
        "Which measures of the files to compare.", default=[], shown="all", panel=MEASURING
    )
    higher_is_better: list[str] = option(
        "Measures of the files on which higher values are better.",
        default=[],
        metavar="MEASURES",
        panel=MEASURING,
    )
    lower_is_better: list[str] = option(
        "Measures of the files on which lower values are better.",
        default=[],
        metavar="MEASURES",
        panel=MEASURING,
    )
    pool_seeds: common.PoolSeeds = False
    score_columns: Order | None = option(
        "What the columns of a table beside a topic's id are; or the order of a leaderboard's "
        "four columns.",
        default=None,
        rare=True,
        flag=True,
    )


def compare(settings: CompareOptions) -> None:
    """Test values per topic that any program computed, and print the table.

    A file without system names is taken as one system, named after the file. All systems of a topic
    set need the same topics and measures. Topic sets are the groups of Adducir's own CSV. In a
    leaderboard (a CSV with a row per task and a column per model, or MTEB's folder of results),
    each task counts as a topic. For outcomes of 0 or 1, the sign test is McNemar's exact test.

    Examples:
        adducir compare per-topic.csv --baseline BM25 --correction maxt
        adducir compare bm25.trec_eval splade.json -m AP --comparisons all-pairs -o table.html
    """
    from adducir.cli.console import open_progress
    from adducir.evaluation.score_files import is_leaderboard, read_scores
    from adducir.statistics.comparison import compare as compared
    from adducir.tables.build import build_table

    with open_progress():
        names = common.system_names(settings.scores)
        scores_of_files = [
            read_scores(path, name, by=settings.score_columns) for path, name in names.items()
        ]
        scores, notes = directed(
            scores_of_files, settings.higher_is_better, settings.lower_is_better
        )
        if settings.measures:
            scores = chosen(scores, measure_names(settings.measures))
        pooled = scores.pooled() if settings.pool_seeds else scores
        comparison = compared(pooled, settings.testing())
        files = [path for path in settings.scores if not path.is_dir()]
        unit = "task" if all(map(is_leaderboard, settings.scores)) else "topic"
        layout = settings.layout(notes=notes, scores=digests(files))
        table = build_table(comparison, replace(layout, evaluated=False, unit=unit))
    settings.print(table)


def measure_names(texts: Sequence[str]) -> list[str]:
    from adducir.evaluation.score_files import measure_of

    return [str(measure_of(name)) for text in texts for name in text.split()]


def directed(
    scores_of_files: "Sequence[Scores]", higher: Sequence[str], lower: Sequence[str]
) -> "tuple[Scores, list[str]]":
    """The scores with the direction of every measure, and the notes on it below the table."""
    from adducir.evaluation.measures import NamedMeasure
    from adducir.evaluation.measures import lower_is_better as falls
    from adducir.evaluation.score_files import is_known, usually_falls
    from adducir.evaluation.scores import Scores

    stated = dict.fromkeys(measure_names(higher), False)
    for name in measure_names(lower):
        if name in stated:
            raise UsageError(f"{name} is in both --higher-is-better and --lower-is-better.")
        stated[name] = True
    hint = "Choose --higher-is-better or --lower-is-better."
    pairs = [pair for scores_ in scores_of_files for pair in scores_.measures.items()]
    published = {name: falls(measure) for name, measure in pairs if is_known(measure)}
    for name, measure in pairs:
        if name not in stated and is_known(measure) and falls(measure) != published[name]:
            message = f"the files disagree on whether higher values of {name} are better."
            raise UsageError(message, hint=hint)
    scores = Scores.concat(scores_of_files)
    _check(scores, stated)
    unknown = [name for name in scores.measures if name not in published | stated]
    for name in unknown:
        if usually_falls(name):
            raise UsageError(
                f"it is not known whether higher or lower values of {name} are better.", hint=hint
            )
    falling = [name for name, is_so in (published | stated).items() if is_so]
    notes = [f"Lower values are better: {', '.join(falling)}."] if falling else []
    if unknown:
        notes.append(f"Higher values are assumed to be better: {', '.join(unknown)}.")

    def with_direction(name: str, measure: "Measure") -> "Measure":
        is_so = (published | stated).get(name, False)
        if is_known(measure) and falls(measure) == is_so:
            return measure
        return NamedMeasure(name, lower_is_better=is_so)

    measures = {name: with_direction(name, one) for name, one in scores.measures.items()}
    return replace(scores, measures=measures), notes


def chosen(scores: "Scores", names: Sequence[str]) -> "Scores":
    import polars as pl

    _check(scores, names)
    place = {name: number for number, name in enumerate(dict.fromkeys(names))}
    frame = scores.frame.filter(pl.col("measure").is_in(place)).with_columns(
        place=pl.col("measure").replace_strict(place, return_dtype=pl.Int64)
    )
    frame = frame.sort("place", maintain_order=True).drop("place")
    return replace(scores, frame=frame, measures={name: scores.measures[name] for name in names})


def _check(scores: "Scores", names: "Sequence[str] | dict[str, bool]") -> None:
    for name in names:
        if name not in scores.measures:
            raise UsageError(
                f"{', '.join(scores.systems[:3])}: values of {name} are missing.",
                hint=f"The measures are {', '.join(scores.measures)}.",
            )
