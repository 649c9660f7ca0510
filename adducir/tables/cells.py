"""From the outcome of one comparison to the cells of a table."""

from collections.abc import Hashable
from dataclasses import asdict
from typing import TYPE_CHECKING

from adducir.evaluation.scores import SUMMED
from adducir.tables.table import Equivalence, TableCell, Versus

if TYPE_CHECKING:
    from adducir.evaluation.scores import Scores
    from adducir.statistics.comparison.results import Cell, Comparison, PairedTest


def is_summed(measure: Hashable) -> bool:
    """Whether a measure is a count, shown as its sum over topics (as trec_eval does)."""
    return getattr(measure, "NAME", None) in SUMMED


def references(comparison: "Comparison") -> tuple[str, ...]:
    """What systems were tested against: the baselines, or all systems where all pairs were."""
    pairs = comparison.settings.family == "pairs"
    return comparison.systems if pairs else comparison.baselines


def table_cell(
    comparison: "Comparison", system: str, measure: Hashable, scores: "Scores | None"
) -> TableCell:
    """The cell of a system and a measure; an empty one where the system was not compared."""
    if system not in comparison.systems:
        return TableCell()
    cell = comparison.cell(system, measure)
    found = (cell.against(name) for name in references(comparison))
    tests = [test for test in found if test is not None]
    p_best = comparison.p_best.get(measure)
    values: tuple[float, ...] = ()
    runs: dict[str, tuple[float, ...]] = {}
    if scores is not None:
        place = [str(one) for one in scores.measures].index(str(measure))
        values = tuple(scores.values[:, place].tolist())
        if scores.runs is not None:
            each = zip(scores.run_names, scores.runs[:, :, place].tolist(), strict=True)
            runs = {name: tuple(own) for name, own in each}
    return TableCell(
        mean=float(round(cell.mean * comparison.topics)) if is_summed(measure) else cell.mean,
        n=comparison.topics,
        best=cell.best and len(comparison.systems) > 1,
        in_set=cell.in_set and not comparison.undecided(measure),
        p_best=None if p_best is None else float(p_best[comparison.systems.index(system)]),
        versus=tuple(
            _versus(test, measure in comparison.settings.lower_is_better) for test in tests
        ),
        equivalence=_equivalence(cell),
        values=values,
        runs=runs,
    )


def _versus(test: "PairedTest", lower_is_better: bool) -> Versus:
    effect = test.effect
    wins, losses = effect.wins, effect.losses  # of the greater value, whatever is better
    return Versus(
        baseline=test.reference,
        difference=test.difference,
        verdict=test.verdict or "none",
        p=None if test.refused else test.p,
        p_corrected=None if test.refused else test.p_corrected,
        ci=None if test.refused else test.interval,
        level=effect.level,
        effect=effect.d_z,
        wins=losses if lower_is_better else wins,
        ties=effect.ties,
        losses=wins if lower_is_better else losses,
        more={"test": asdict(test.result), "effect": asdict(effect)},
    )


def _equivalence(cell: "Cell") -> Equivalence | None:
    found = cell.equivalence
    if found is None:
        return None
    return Equivalence(
        found.reference, found.equivalent, found.tost.delta, found.tost.p, found.p_corrected
    )
