"""``adducir compare`` and ``adducir reproduce``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from adducir.cli import common
from adducir.cli.command import option, optional
from adducir.cli.tabled import MEASURES, MEASURING, Tabled, TableOptions, digests
from adducir.core.errors import InputError, UsageError
from adducir.core.recipe import needs
from adducir.corpora.reading import QrelsReading
from adducir.runs.reading import RunReading

if TYPE_CHECKING:
    from ir_measures import Measure

    from adducir.evaluation.scores import Scores
    from adducir.runs.run import Run

AGREEMENT, DOCUMENTS = "Agreement", "Order"
ORIGINAL, REPRODUCED, DEFAULT = "original", "reproduced", "AP nDCG@10 P@10"
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
    score_columns: Order | None = optional(
        "What the columns of a table beside a topic's id are; or the order of a leaderboard's "
        "four columns.",
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
    from adducir.evaluation.score_files import is_leaderboard, read_scores
    from adducir.statistics.comparison import compare as compared
    from adducir.tables.build import build_table

    names = common.system_names(settings.scores)
    scores_of_files = [
        read_scores(path, name, by=settings.score_columns) for path, name in names.items()
    ]
    scores, notes = directed(scores_of_files, settings.higher_is_better, settings.lower_is_better)
    if settings.measures:
        scores = chosen(scores, measure_names(settings.measures))
    pooled = scores.pooled() if settings.pool_seeds else scores
    comparison = compared(pooled, settings.testing())
    files = [path for path in settings.scores if not path.is_dir()]
    unit = "task" if all(map(is_leaderboard, settings.scores)) else "topic"
    origin = {"scores": digests(files)}
    layout = settings.layout(origin, notes=notes, evaluated=False, unit=unit)
    settings.print(build_table(comparison, layout))


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
    frame = scores.frame.filter(pl.col("measure").is_in(place))
    order = pl.col("measure").replace_strict(place, return_dtype=pl.Int64)
    frame = frame.sort(order, maintain_order=True)
    return replace(scores, frame=frame, measures={name: scores.measures[name] for name in names})


def _check(scores: "Scores", names: "Sequence[str] | dict[str, bool]") -> None:
    for name in names:
        if name not in scores.measures:
            raise UsageError(
                f"{', '.join(scores.systems[:3])}: values of {name} are missing.",
                hint=f"The measures are {', '.join(scores.measures)}.",
            )


class ReproduceOptions(TableOptions, RunReading, QrelsReading):
    original: Path = option("The original run, or its values per topic.", argument=True)
    reproduced: Path = option("The run that reproduces it, or its values.", argument=True)
    qrels: common.Qrels = []  # noqa: RUF012  (pydantic copies it)
    measures: list[str] = option(MEASURES, default=[], shown=DEFAULT)
    original_baseline: Annotated[Path | None, needs("new_baseline")] = optional(
        "The baseline's run in the original experiment.", metavar="RUN"
    )
    new_baseline: Annotated[Path | None, needs("original_baseline")] = optional(
        "The baseline's run in the reproduction.", metavar="RUN"
    )
    depth: Annotated[int, needs("qrels")] = option(
        "Documents per topic whose order is compared.", default=1000, ge=1
    )
    persistence: Annotated[float, needs("qrels")] = option(
        "p of rank-biased overlap.", default=0.8, gt=0, lt=1
    )
    equivalence: float = option(
        "Bound of the equivalence test of the two runs.", default=0.05, gt=0
    )


def reproduce(settings: ReproduceOptions) -> None:
    """Compare a reproduction with the original: order, effectiveness, effect, equivalence.

    Prints rank-biased overlap, Kendall's tau union, and root mean square errors, and with the
    baselines of both experiments the effect ratio and the delta relative improvement. Without
    --qrels, the files are values per topic, as for `adducir compare`, without an order.

    Examples:
        adducir reproduce original.trec.gz ours.trec.gz -q bundled:qrels -m 'AP nDCG@10'
        adducir reproduce original.trec ours.trec -q qrels.txt --original-baseline bm25.trec \
--new-baseline our-bm25.trec
        adducir reproduce original.trec_eval ours.trec_eval -m AP
    """
    from adducir.evaluation.reproduction import (
        compare_effects,
        kendall_tau_of_runs,
        overlap_of_runs,
    )
    from adducir.statistics.comparison import compare as compared
    from adducir.tables.build import Figure, build_table
    from adducir.tables.table import Column

    paths = {ORIGINAL: settings.original, REPRODUCED: settings.reproduced}
    scores, runs = _scores(settings, paths)
    baselines = None
    if settings.original_baseline is not None and settings.new_baseline is not None:
        files = {"original": settings.original_baseline, "new": settings.new_baseline}
        (first, second), _ = _scores(settings, files)
        baselines = first, second
    effects = compare_effects(scores[0], scores[1], baselines)
    comparison = compared(
        scores, baseline=ORIGINAL, equivalence=settings.equivalence, against=ORIGINAL
    )
    count, about = len(scores[0].qids), ""
    rows = list[tuple[str, str, float | None, int]]()
    for measure, effect in effects.items():
        rows.append(("RMSE", measure, effect.rmse, count))
        rows.append(("nRMSE", measure, effect.nrmse, count))
        if effect.effect_ratio is not None:
            rows.append(("Effect ratio", measure, effect.effect_ratio, count))
            improvement = effect.delta_improvement
            rows.append(("Delta relative improvement", measure, improvement, count))
    if runs:
        depth, p = settings.depth, settings.persistence
        overlap, topics = overlap_of_runs(*runs, depth=depth, p=p)
        rows.append(("RBO", DOCUMENTS, overlap, topics))
        tau = kendall_tau_of_runs(*runs, depth=depth)
        rows.append(("Kendall's tau", DOCUMENTS, tau, topics))
        about = (
            f"rank-biased overlap (p = {p:g}) and Kendall's tau union of the first "
            f"{depth:,} documents of {topics:,} topics; "
        )
    notes = [
        f"Agreement: {about}root mean square error per topic, and "
        "divided by the largest possible (nRMSE); with both baselines, effect ratio (1: the "
        "same) and delta relative improvement (0: the same)."
    ]
    if same := [measure for measure, effect in effects.items() if effect.rmse == 0]:
        notes.append(
            f"All {count:,} topics have the same values in both: {', '.join(same)}. "
            "Equivalence is not tested when so few topics differ."
        )
    figures = [
        Figure("", name, column, value if isfinite(value or 0) else None, topics, rates=False)
        for name, column, value, topics in rows
    ]
    names = dict.fromkeys((figure.system for figure in figures), AGREEMENT)
    columns = {DOCUMENTS: Column(DOCUMENTS, descriptive=True)} if runs else {}
    layout = settings.layout({"runs": digests(paths.values())}, notes=notes, sections=names)
    settings.print(build_table(comparison, layout, figures=figures, columns=columns))


def _scores(
    settings: ReproduceOptions, paths: "Mapping[str, Path]"
) -> "tuple[list[Scores], list[Run]]":
    """The values per topic of two runs, or of two files of values, and the runs."""
    if settings.qrels:
        from adducir.evaluation.evaluator import Evaluator
        from adducir.evaluation.measures import needs_subtopics, parse_measures

        measures = parse_measures(settings.measures or DEFAULT)
        qrels = settings.read_qrels(settings.qrels, subtopics=needs_subtopics(measures))
        evaluator = Evaluator(qrels, measures)
        runs = [settings.read_run(path) for path in paths.values()]
        pairs = zip(paths, runs, strict=True)
        return [evaluator.score(run, system=name) for name, run in pairs], runs
    from adducir.evaluation.score_files import read_scores

    scores = []
    for name, path in paths.items():
        values = read_scores(path, name)
        if len(values.systems) > 1:
            systems = f"{len(values.systems)} systems ({', '.join(values.systems[:3])})"
            message = f"it has values of {systems}, where one is compared."
            raise InputError(message, path=path, hint="Give a file for each, or runs and --qrels.")
        scores.append(directed([values.renamed(name)], (), ())[0])
    original, reproduced = scores
    shared = [measure for measure in original.measures if measure in reproduced.measures]
    names = measure_names(settings.measures) or shared
    return [chosen(values, names) for values in scores], []
