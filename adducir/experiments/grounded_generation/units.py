"""Contexts, or groups of them, as the units that figures are means over and tests are made of."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from adducir.evaluation.scores import Scores
from adducir.evaluation.seeds import over_runs
from adducir.experiments.grounded_generation.opened import Opened


def testing(study: Opened, scores: Sequence[Scores]) -> dict[str, Any]:
    """The arguments of a comparison; none where a baseline or a second query is not there."""
    requested, names = study.recipe.comparison, {one.system for one in scores}
    if requested is None or not requested.named <= names:
        return {}
    return requested.model_dump(exclude_none=True) if len(scores[0].qids) > 1 else {}


def of_units(study: Opened, scores: Scores) -> Scores:
    """The means of groups where they are the units; a context without a group is one by itself."""
    qids, values = scores.qids, scores.values
    if study.recipe.unit == "group":
        known = {one.id: one.group or one.id for one in study.data.problem().contexts}
        groups = [known[qid] for qid in scores.qids]
        numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
        places = np.array([numbers[group] for group in groups])
        sums = np.zeros((len(numbers), values.shape[1]))
        np.add.at(sums, places, values)
        qids, values = tuple(numbers), sums / np.bincount(places)[:, None]
    values.setflags(write=False)
    return Scores(scores.system, qids, scores.measures, values)


def over_seeds(study: Opened, system: str, each: Sequence[Scores]) -> Scores:
    """The scores of a system over its runs, of contexts or of groups of them."""
    return over_runs(system, [of_units(study, one) for one in each])
