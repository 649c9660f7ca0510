"""``adducir reproduce``."""

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adducir.cli import common
from adducir.cli.command import option
from adducir.cli.evaluate import MEASURES
from adducir.cli.tabled import TableOptions, digests
from adducir.core.errors import InputError
from adducir.core.recipe import needs
from adducir.corpora.reading import QrelsReading
from adducir.runs.reading import RunReading

if TYPE_CHECKING:
    from adducir.evaluation.scores import Scores
    from adducir.runs.run import Run

AGREEMENT, DOCUMENTS = "Agreement", "Order"
ORIGINAL, REPRODUCED, DEFAULT = "original", "reproduced", "AP nDCG@10 P@10"


class ReproduceOptions(TableOptions, RunReading, QrelsReading):
    original: Path = option("The original run, or its values per topic.", argument=True)
    reproduced: Path = option("The run that reproduces it, or its values.", argument=True)
    qrels: common.Qrels = []  # noqa: RUF012  (pydantic copies it)
    measures: list[str] = option(MEASURES, default=[], shown=DEFAULT)
    original_baseline: Annotated[Path | None, needs("new_baseline")] = option(
        "The baseline's run in the original experiment.", default=None, metavar="RUN"
    )
    new_baseline: Annotated[Path | None, needs("original_baseline")] = option(
        "The baseline's run in the reproduction.", default=None, metavar="RUN"
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
    from adducir.cli.console import open_progress
    from adducir.evaluation.reproduction import (
        compare_effects,
        kendall_tau_of_runs,
        overlap_of_runs,
    )
    from adducir.statistics.comparison import compare
    from adducir.tables.build import Figure, build_table
    from adducir.tables.table import Column

    with open_progress():
        paths = {ORIGINAL: settings.original, REPRODUCED: settings.reproduced}
        scores, runs = _scores(settings, paths)
        baselines = None
        if settings.original_baseline is not None and settings.new_baseline is not None:
            files = {"original": settings.original_baseline, "new": settings.new_baseline}
            (first, second), _ = _scores(settings, files)
            baselines = first, second
        effects = compare_effects(scores[0], scores[1], baselines)
        comparison = compare(
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
        layout = settings.layout(notes=notes, runs=digests(paths.values()))
        figures = [
            Figure("", name, column, value if isfinite(value or 0) else None, topics, rates=False)
            for name, column, value, topics in rows
        ]
        names = dict.fromkeys((figure.system for figure in figures), AGREEMENT)
        columns = {DOCUMENTS: Column(DOCUMENTS, descriptive=True)} if runs else {}
        layout = replace(layout, sections=names)
        table = build_table(comparison, layout, figures=figures, columns=columns)
    settings.print(table)


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
    from adducir.cli.compare import chosen, directed, measure_names
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
