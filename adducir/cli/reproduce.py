"""``adducir reproduce``."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adducir.cli import common
from adducir.cli.command import option
from adducir.cli.evaluate import MEASURES
from adducir.cli.tabled import TableOptions, digests
from adducir.core.recipe import needs

if TYPE_CHECKING:
    from adducir.evaluation.reproduction import Reproduced

ORIGINAL, REPRODUCED, DEFAULT = "original", "reproduced", "AP nDCG@10 P@10"


class Reproduce(TableOptions):
    original: Path = option("The original run.", argument=True, metavar="ORIGINAL")
    reproduced: Path = option("The run that reproduces it.", argument=True, metavar="REPRODUCED")
    qrels: common.Qrels
    measures: list[str] = option(MEASURES, "-m", default=[], shown=DEFAULT)
    original_baseline: Annotated[Path | None, needs("new_baseline")] = option(
        "The baseline's run in the original experiment.", default=None, metavar="RUN"
    )
    new_baseline: Annotated[Path | None, needs("original_baseline")] = option(
        "The baseline's run in the reproduction.", default=None, metavar="RUN"
    )
    depth: int = option("Documents per topic whose order is compared.", default=1000, ge=1)
    persistence: float = option("p of rank-biased overlap.", default=0.8, gt=0, lt=1)
    equivalence: float = option(
        "Bound of the equivalence test of the two runs.", default=0.05, gt=0
    )


def reproduce(settings: Reproduce) -> None:
    """Compare a reproduction with the original: order, effectiveness, effect, equivalence.

    Prints rank-biased overlap and root mean square error and, with the baselines of both
    experiments, the effect ratio and the delta relative improvement.

    Examples:
        adducir reproduce original.trec.gz ours.trec.gz -q bundled:qrels -m 'AP nDCG@10'
        adducir reproduce original.trec ours.trec -q qrels.txt --original-baseline bm25.trec \
--new-baseline our-bm25.trec
    """
    from adducir.cli.console import open_progress
    from adducir.corpora.qrels import load_qrels
    from adducir.evaluation.evaluator import Evaluator
    from adducir.evaluation.reproduction import compare_effects, overlap_of_runs
    from adducir.runs.read import read_run
    from adducir.statistics.comparison import compare
    from adducir.tables.build import build_table

    with open_progress():
        evaluator = Evaluator(load_qrels(settings.qrels), settings.measures or DEFAULT)
        paths = {ORIGINAL: settings.original, REPRODUCED: settings.reproduced}
        runs = {name: read_run(path) for name, path in paths.items()}
        scores = [evaluator.score(run, system=name) for name, run in runs.items()]
        baselines = None
        if settings.original_baseline is not None and settings.new_baseline is not None:
            first, second = (
                evaluator.score(read_run(path))
                for path in (settings.original_baseline, settings.new_baseline)
            )
            baselines = first, second
        depth, p = settings.depth, settings.persistence
        overlap, topics = overlap_of_runs(*runs.values(), depth=depth, p=p)
        effects = compare_effects(scores[0], scores[1], baselines)
        found = compare(
            scores, baseline=ORIGINAL, equivalence=settings.equivalence, against=ORIGINAL
        )
        notes = [
            f"Order of documents (first {depth:,}, {topics:,} topics): rank-biased overlap "
            f"{overlap:.3f} (p = {p:g}).",
            *_of_effects(effects, len(evaluator.qids)),
        ]
        layout = settings.layout(notes=notes, runs=digests(paths.values()))
        table = build_table(found, layout)
    settings.print(table)


def _of_effects(found: "dict[str, Reproduced]", topics: int) -> Iterator[str]:
    errors = ", ".join(f"{measure} {one.rmse:.3f}" for measure, one in found.items())
    yield f"Root mean square error per topic: {errors}."
    ratios = ", ".join(
        f"{measure} {one.effect_ratio:.3f} and {one.delta_improvement:+.3f}"
        for measure, one in found.items()
        if one.effect_ratio is not None
    )
    if ratios:
        yield f"Effect ratio (1: the same) and delta relative improvement (0: the same): {ratios}."
    same = [measure for measure, one in found.items() if one.rmse == 0]
    if same:
        yield (
            f"All {topics:,} topics have the same values in both: {', '.join(same)}. "
            "Equivalence is not tested when so few topics differ."
        )
