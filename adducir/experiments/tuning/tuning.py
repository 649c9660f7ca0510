"""What tuning gives: the whole grid, the chosen settings, and the pooled held-out rankings."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Any

import numpy as np
from ir_measures import Measure

from adducir.evaluation.judgements import Floats, Integers, NegativeGrades
from adducir.experiments.tuning.folds import Folds, Pool
from adducir.experiments.tuning.grid import Grid, Number, Setting, plain
from adducir.runs.run import Run

DECIMALS = 12
"""Means that agree to so many decimals are equal."""
FEW_TOPICS = 10
"""A choice made on fewer topics than this is worth a warning."""


def mean(values: Floats) -> float:
    """The mean with an exact sum, so that it does not depend on the order of the topics."""
    return round(fsum(values.tolist()) / len(values), DECIMALS) if len(values) else 0.0


@dataclass(frozen=True)
class Edge:
    """A value at the end of its range that was chosen.

    Attributes:
        name: The parameter.
        value: The value.
        largest: Whether it is the largest value tried, or the smallest.
        folds: How many folds chose it.
    """

    name: str
    value: Number
    largest: bool
    folds: int


@dataclass(frozen=True, eq=False)
class Tuning:
    """The outcome of a grid search with F folds, S settings and T topics.

    Attributes:
        pool: The topics.
        grid: The settings.
        folds: The folds.
        objective: The measure that settings were chosen by.
        negative: How negative grades were treated.
        values: (S, T) the objective of every setting and topic.
        chosen: (F,) the setting that was chosen for each fold.
        run: The rankings of every topic by the setting chosen for its fold, over the pool's ids.
        system: What was tuned.
        seconds: How long it took.
    """

    pool: Pool
    grid: Grid
    folds: Folds
    objective: Measure
    negative: NegativeGrades
    values: Floats
    chosen: tuple[int, ...]
    run: Run
    system: dict[str, Any]
    seconds: float

    @cached_property
    def training(self) -> Floats:
        """(F, S) means over the topics of all other folds: what choices are made by."""
        return self._means([self.folds.train(fold) for fold in range(len(self.folds))])

    @cached_property
    def test(self) -> Floats:
        """(F, S) means over each fold's own topics: to look at, not to choose by."""
        return self._means([self.folds.test(fold) for fold in range(len(self.folds))])

    def _means(self, folds: Sequence[Integers]) -> Floats:
        return np.array([[mean(values[rows]) for values in self.values] for rows in folds])

    def setting(self, fold: int) -> Setting:
        """The setting chosen for a fold."""
        return self.grid.setting(self.chosen[fold])

    @cached_property
    def held_out(self) -> Floats:
        """(T,) each topic's objective under the setting chosen without it."""
        settings = np.array(self.chosen)[self.folds.of]
        return np.asarray(self.values[settings, np.arange(len(self.pool))])

    @property
    def result(self) -> float:
        """The mean over all topics of :attr:`held_out`: the one figure to report."""
        return mean(self.held_out)

    def best(self, fold: int) -> Integers:
        """The settings that have a fold's best training mean, the chosen one first."""
        means = self.training[fold]
        return np.flatnonzero(means == means[self.chosen[fold]])

    @property
    def edges(self) -> list[Edge]:
        """Chosen values that are the first or the last of those tried.

        Where settings tie for the best mean, all of them must have the value.
        """
        found = []
        for place, parameter in enumerate(self.grid.parameters):
            used: Counter[Number] = Counter()
            for fold in range(len(self.folds)):
                tied = {self.grid.places(number)[place] for number in self.best(fold).tolist()}
                if len(tied) == 1:
                    used[parameter.values[tied.pop()]] += 1
            for value in sorted(used):
                if parameter.is_edge(value):
                    largest = value == parameter.values[-1]
                    found.append(Edge(parameter.name, value, largest, used[value]))
        return found

    def warnings(self) -> list[str]:
        """What a reader of the figures has to know, a sentence each."""
        folds = len(self.folds)
        lines = [
            f"{edge.name} = {plain(edge.value)}, the {'largest' if edge.largest else 'smallest'} "
            f"value tried, was chosen in {edge.folds} of {folds} folds: a better one may lie beyond"
            for edge in self.edges
        ]
        for fold, name in enumerate(self.folds.names):
            if (ties := len(self.best(fold))) > 1:
                lines.append(
                    f"fold {name}: {ties} of {len(self.grid)} settings have the best training "
                    "mean; the first of them in the grid was chosen"
                )
        fewest = min(len(self.folds.train(fold)) for fold in range(folds))
        if fewest < FEW_TOPICS:
            lines.append(f"a setting was chosen on {fewest} topics only: little can be concluded")
        for what, names in (
            ("have no judgements and took no part", self.pool.unjudged),
            ("have judgements and no query, and count 0", self.pool.unsearchable),
        ):
            if names:
                lines.append(f"{len(names)} topics {what}: {', '.join(names[:10])}")
        return lines
