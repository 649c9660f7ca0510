"""Equivalence of two systems: two one-sided paired tests (TOST; Schuirmann 1987; Lakens 2017).

The null hypothesis is that the true mean difference is at least delta away from zero. Each side is
tested one-sided at alpha and p is the larger of the two; within one such test nothing is to be
corrected, because both must reject. One side alone is a test of non-inferiority: that a system is
not worse by delta or more.

Delta is in units of the measure and must be chosen before looking at the figures. A difference
that is not significant is not thereby equivalent; a difference can be both significant and
equivalent (small, and surely so).

What the one-sided tests are:

* ``t``: paired t-tests, as in ``statsmodels.stats.weightstats.ttost_paired``. Systems are then
  equivalent at alpha exactly where the (1 - 2 alpha) interval lies within (-delta, delta). Of
  skewed differences they find too many equivalent.
* ``hall``: the larger p of that and of the t-test on Hall's (1992) transformation, which takes the
  skewness of the differences out: sqrt(n) (w + g w^2 / 3 + g^2 w^3 / 27 + g / (6 n)) with w the
  mean in standard deviations (of n) and g their skewness.

Neither t-test knows what it has not seen. Where fewer than :data:`FEW` topics differ (few topics,
saturated scores, measures of 0 and 1), ``hall`` is refused, with p = 1; so is ``t`` where the
differences do not vary at all, which has no t.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from adducir.core.errors import UsageError
from adducir.statistics.choices import EQUIVALENCE_TESTS, EquivalenceTestName, SideName
from adducir.statistics.differences import FloatArray, constant_rows, paired_rows, tolerance

FEW = 15
"""With fewer topics that differ, the t-tests are not relied on."""

Method = Literal["t", "hall", "refused"]
OneSided = Callable[[FloatArray, float], FloatArray]


@dataclass(frozen=True, slots=True)
class Equivalence:
    """What a test of equivalence, or of non-inferiority, found of two systems.

    Attributes:
        p: The larger of the two one-sided p-values, or the one that was asked for; in [0, 1].
        p_lower: Against H0: mean difference <= -delta.
        p_upper: Against H0: mean difference >= delta.
        delta: Half-width of the band, in units of the measure.
        n: Number of topics.
        degenerate: The differences do not vary.
        differing: Number of topics on which the two scores differ.
        method: How p was computed; ``refused`` where the scores allow no test, and p is 1.
    """

    p: float
    p_lower: float
    p_upper: float
    delta: float
    n: int
    degenerate: bool
    differing: int
    method: Method

    @property
    def questionable(self) -> bool:
        """Whether t-tests were taken where they have too little to go by."""
        return self.method == "t" and self.differing < FEW


def tost_rows(
    first: ArrayLike,
    second: ArrayLike,
    delta: float,
    *,
    test: EquivalenceTestName = "hall",
    side: SideName = "both",
) -> list[Equivalence]:
    """:func:`tost` for each row of two (K, T) arrays."""
    if not (np.isfinite(delta) and delta > 0):
        raise UsageError(f"the band of equivalence must be a number above 0, not {delta}.")
    if test not in EQUIVALENCE_TESTS:
        raise UsageError(f"unknown equivalence test {test!r}: {', '.join(EQUIVALENCE_TESTS)}.")
    a, b = paired_rows(first, second)
    difference, noise = a - b, tolerance(a, b)
    constant = constant_rows(difference, noise)
    differing = (np.abs(difference) > noise[:, None]).sum(axis=1)
    sparse = constant | ((differing < FEW) & (test == "hall"))
    sides = np.ones((2, len(difference)))
    if not sparse.all():
        one_sided = {"t": _student, "hall": _hall}[test]
        some = difference[~sparse]
        sides[:, ~sparse] = one_sided(-some, delta), one_sided(some, delta)
    chosen = {"both": sides.max(axis=0), "lower": sides[0], "upper": sides[1]}[side]
    return [
        Equivalence(
            p=float(chosen[k]),
            p_lower=float(sides[0, k]),
            p_upper=float(sides[1, k]),
            delta=float(delta),
            n=difference.shape[1],
            degenerate=bool(constant[k]),
            differing=int(differing[k]),
            method="refused" if sparse[k] else test,
        )
        for k in range(len(difference))
    ]


def _student(difference: FloatArray, delta: float) -> FloatArray:
    """(K,) p of H0: mean >= delta, by Student's t."""
    from scipy.stats import ttest_1samp

    return np.asarray(ttest_1samp(difference, delta, axis=1, alternative="less").pvalue)


def _hall(difference: FloatArray, delta: float) -> FloatArray:
    """(K,) the larger p of Student's t and of t on Hall's transformation."""
    from scipy.special import stdtr

    topics = difference.shape[1]
    mean, sd = difference.mean(axis=1), difference.std(axis=1)
    skewness = ((difference - mean[:, None]) ** 3).mean(axis=1) / sd**3
    w = (mean - delta) / sd
    bent = w + skewness * w**2 / 3 + skewness**2 * w**3 / 27 + skewness / (6 * topics)
    other: FloatArray = stdtr(topics - 1, np.sqrt(topics) * bent)
    return np.maximum(_student(difference, delta), other)


def tost(
    first: ArrayLike,
    second: ArrayLike,
    delta: float,
    *,
    test: EquivalenceTestName = "hall",
    side: SideName = "both",
) -> Equivalence:
    """Equivalence within (-delta, delta) of two systems' scores, each of shape (T,).

    Args:
        first: Scores of the system.
        second: Scores of what it is compared with, on the same topics.
        delta: Half-width of the band, in units of the measure.
        test: ``hall`` or ``t``; see the module.
        side: ``both``; ``lower`` tests only that the first is not lower by delta or more, ``upper``
            only that it is not higher.

    Raises:
        UsageError: The scores cannot be paired, ``delta`` is not above 0, or an unknown test.
    """
    return tost_rows(first, second, delta, test=test, side=side)[0]
