"""The table of how sharp the distributions over passages are (Hindsight, figures 4 and 5)."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from adducir.evaluation.generation.sharpness import CUTOFFS, mass_scores
from adducir.evaluation.scores import Scores
from adducir.experiments.grounded_generation.opened import Answered, Opened, Scored
from adducir.experiments.grounded_generation.units import over_seeds
from adducir.statistics.comparison.comparison import compare
from adducir.tables.builder import Layout, build_table
from adducir.tables.table import ResultTable

if TYPE_CHECKING:
    from adducir.hindsight.closed import ClosedSets

_LISTS = ("retriever", "guide")
_POSTERIORS = ("generator", "posterior")


def sharpness_table(study: Opened, layout: Callable[..., Layout], k: int | None) -> ResultTable:
    """The table of one section: test contexts, each over its closed set; nothing is tested."""
    scores: dict[str, list[Scores]] = {}
    for name, system in study.recipe.systems.items():
        steps = study.answers(name, k) if system.ranks_by == "model" else []
        each = [
            dict(_distributions(answer, scored))
            for answer, scored in zip(steps, study.likelihoods(name, k), strict=True)
        ]
        for who in each[0] if each else ():
            masses = [
                _masses(study, step.run, one[who]) for step, one in zip(steps, each, strict=True)
            ]
            scores.setdefault(who, []).append(over_seeds(study, name, masses))
    notes = [
        "Mass@k: the probability of the k most probable passages of a context's closed set; a "
        "sharp distribution is no better for it. BM25's scores are no logarithms of probabilities, "
        "and not shown."
    ]
    if "generator" in scores:
        notes.append(
            "generator: P(z|x,y) by the generator with a uniform prior, over the retriever's "
            "closed set; posterior: with the retriever as prior, what the guide is to approach. "
            "Contexts without a target are left out."
        )
    compared = {who: compare(some) for who, some in scores.items()}
    return build_table(compared, scores, layout=layout(of="Sharpness", notes=notes))


Distributions = tuple[Any, Any]
"""Numbers of contexts, and (n, r) unnormalised log-probabilities of passages."""


def _distributions(answer: Answered, scored: Scored) -> Iterator[tuple[str, Distributions]]:
    """What is known of one seed, by name."""
    closed: ClosedSets = answer.read()
    for who in _LISTS:
        yield who, (closed.contexts, getattr(closed, f"{who}_scores"))
    rows, values = scored.read()
    if len(rows):
        # The softmax of scores and that of their log-softmax are one.
        joint = closed.retriever_scores[rows] + values
        for who, found in zip(_POSTERIORS, (values, joint), strict=True):
            yield who, (closed.contexts[rows], found)


def _masses(study: Opened, system: str, found: Distributions) -> Scores:
    """The values of one seed."""
    contexts, depth = study.data.problem().contexts, found[1].shape[1]
    by_id = {contexts[n].id: row.tolist() for n, row in zip(*found, strict=True)}
    cutoffs = [one for one in CUTOFFS if one <= depth]
    return mass_scores(system, by_id, cutoffs=cutoffs, depth=depth)
