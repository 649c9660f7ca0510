"""The table of how sharply retriever and guide decide (Hindsight, figures 4 and 5)."""

from collections.abc import Callable

from adducir.evaluation.generation.sharpness import CUTOFFS, mass_scores
from adducir.evaluation.scores import Scores
from adducir.experiments.grounded_generation.opened import Answered, Opened
from adducir.experiments.grounded_generation.units import over_seeds
from adducir.statistics.comparison.comparison import compare
from adducir.tables.builder import Layout, build_table
from adducir.tables.table import ResultTable

_WHO = ("retriever", "guide")


def sharpness_table(study: Opened, layout: Callable[..., Layout], k: int | None) -> ResultTable:
    """The table of one section: all test contexts, each over its closed set; nothing is tested."""
    scores: dict[str, list[Scores]] = {who: [] for who in _WHO}
    for name, system in study.recipe.systems.items():
        steps = study.answers(name, k) if system.ranks_by == "model" else []
        for who in _WHO if steps else ():
            each = [_masses(study, name, step, who) for step in steps]
            scores[who].append(over_seeds(study, each))
    notes = [
        "Mass@k: the probability of the k most probable passages of a context's closed set; a "
        "sharp distribution is no better for it. BM25's scores are no logarithms of probabilities, "
        "and not shown."
    ]
    compared = {who: compare(some) for who, some in scores.items()}
    return build_table(compared, scores, layout=layout(of="Sharpness", notes=notes))


def _masses(study: Opened, system: str, step: Answered, who: str) -> Scores:
    """The values of one seed."""
    closed, contexts = step.read(), study.data.problem().contexts
    found = getattr(closed, f"{who}_scores")
    depth = found.shape[1]
    by_id = {contexts[n].id: row.tolist() for n, row in zip(closed.contexts, found, strict=True)}
    cutoffs = [one for one in CUTOFFS if one <= depth]
    return mass_scores(system, by_id, cutoffs=cutoffs, depth=depth)
