"""Tukey's honestly significant differences, paired: by analysis of variance, or by randomisation.

For all pairs of systems. The largest difference between any two means is what chance has to reach,
so that the chance of any false claim is at most alpha.

* ``tukey``: the studentised range, with the error of the two-way analysis of variance (systems and
  topics; Tukey 1953; Carterette 2012). The topics' difficulty is taken out, which the unpaired test
  of ``scipy.stats.tukey_hsd`` and ranx leaves in. Where no difference varies over topics, there is
  no error; p is then the exact randomisation test's, 2^(1 - topics), or 1 for equal scores.
* ``tukey-randomised``: under the null hypothesis the scores of a topic can be exchanged among the
  systems; the range of the means over random exchanges takes the place of the studentised range
  (Carterette 2012, algorithm 1; Sakai 2014). Nothing is taken as normal. p = (c + 1) / (n + 1).
"""

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from adducir.core.errors import UsageError
from adducir.statistics.anova import two_way_anova
from adducir.statistics.corrections.correction import Correction, PairFamily
from adducir.statistics.differences import constant_rows, tolerance
from adducir.statistics.tests.base import DEFAULT_PERMUTATIONS, DEFAULT_SEED

if TYPE_CHECKING:
    from adducir.statistics.corrections.correction import FloatArray

_CELLS = 1 << 22
"""Scores exchanged at a time: 32 MB."""


class Tukey(Correction):
    """Tukey's HSD with the error of the two-way analysis of variance."""

    title: ClassVar = "Tukey HSD (two-way ANOVA)"
    tests: ClassVar[tuple[str, ...]] = ("t",)
    scopes: ClassVar = ("measure", "pairs")

    def adjusted(self, p: "FloatArray") -> "FloatArray":
        """Always refused.

        Raises:
            UsageError: p-values alone do not say how the systems differ.
        """
        raise UsageError("Tukey's correction needs the scores behind the p-values.")

    def of_pairs(self, family: PairFamily) -> "FloatArray":
        from scipy.stats import studentized_range

        values, gaps = _systems(family)
        systems, topics = values.shape
        noise = tolerance(values, values).max()
        if constant_rows(values - values[:1], np.array([noise])).all():
            return np.where(gaps > noise, 2.0 ** (1 - topics), 1.0)
        found = two_way_anova(values)
        reached = gaps / np.sqrt(found.error / topics)
        return np.asarray(studentized_range.sf(reached, systems, found.df), dtype=np.float64)


class RandomisedTukey(Tukey):
    """Tukey's HSD by exchanging the scores of each topic among the systems."""

    title: ClassVar = "randomised Tukey HSD"
    draws: ClassVar = "permutations"
    tests: ClassVar[tuple[str, ...]] = ("t", "randomisation")
    permutations: int = Field(DEFAULT_PERMUTATIONS, ge=1, description="Exchanges to draw.")
    seed: int = Field(DEFAULT_SEED, ge=0, description="Seed of the draw.")

    def of_pairs(self, family: PairFamily) -> "FloatArray":
        values, gaps = _systems(family)
        generator = np.random.Generator(np.random.PCG64(self.seed))
        at_once = max(1, _CELLS // values.size)
        ranges = np.empty(self.permutations)
        for start in range(0, self.permutations, at_once):
            count = min(at_once, self.permutations - start)
            exchanged = np.broadcast_to(values.T, (count, *values.T.shape)).copy()
            generator.permuted(exchanged, axis=2, out=exchanged)
            ranges[start : start + count] = np.ptp(exchanged.mean(axis=1), axis=1)
        ranges.sort()
        slack = 1e-12 * float(np.abs(values).max())
        reached = self.permutations - np.searchsorted(ranges, gaps - slack)
        return np.asarray((reached + 1.0) / (self.permutations + 1.0))


def _systems(family: PairFamily) -> "tuple[FloatArray, FloatArray]":
    """The (S, T) scores of the systems of a family, and the (K,) differences of its pairs."""
    rows = np.unique(np.concatenate((family.first, family.second)))
    means = family.values.mean(axis=1)
    return family.values[rows], np.abs(means[family.first] - means[family.second])
