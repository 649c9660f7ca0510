"""TOST: two one-sided paired t-tests for equivalence (Schuirmann 1987; Lakens 2017).

The null hypothesis is that the true mean difference is at least delta away from zero.
Each side is tested one-sided at alpha and p is the larger of the two; within one such
test nothing is to be corrected, because both must reject. Systems are equivalent at
alpha exactly where the (1 - 2 alpha) confidence interval, 90% for alpha = .05, lies
within (-delta, delta).

Delta is in units of the measure and must be chosen before looking at the figures. A
difference that is not significant is not thereby equivalent; a difference can be both
significant and equivalent (small, and surely so).

Where the differences do not vary, p is 0 if the constant lies inside the band, else 1;
for identical runs this is 0, as in ``statsmodels.stats.weightstats.ttost_paired``.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from adducir.core.errors import UsageError
from adducir.statistics.differences import FloatArray, constant_rows, paired_rows, tolerance


@dataclass(frozen=True, slots=True)
class Equivalence:
    """What a TOST of two systems found.

    Attributes:
        p: The larger of the two one-sided p-values, in [0, 1].
        p_lower: Against H0: mean difference <= -delta.
        p_upper: Against H0: mean difference >= delta.
        delta: Half-width of the band, in units of the measure.
        n: Number of topics.
        degenerate: The differences do not vary.
        differing: Number of topics on which the two scores differ.
    """

    p: float
    p_lower: float
    p_upper: float
    delta: float
    n: int
    degenerate: bool
    differing: int

    @property
    def questionable(self) -> bool:
        """Whether the t-tests have too little to go by for a verdict to be relied on.

        Where scores are identical p is 0 by definition: of ten topics with 0/1 scores that truly
        differ by the band, a third of all samples is, and is called equivalent. Where they differ
        on a handful of topics (ceilings, floors, measures of 0 and 1), t is far from its
        distribution.
        """
        few = self.differing < _FEW_DIFFERENCES and self.n < _MANY_TOPICS
        return self.degenerate or self.differing == 0 or few


_FEW_DIFFERENCES = 5
_MANY_TOPICS = 100


def tost_rows(first: ArrayLike, second: ArrayLike, delta: float) -> list[Equivalence]:
    """:func:`tost` for each row of two (K, T) arrays."""
    from scipy.special import stdtr

    if not (np.isfinite(delta) and delta > 0):
        raise UsageError(f"the band of equivalence must be a number above 0, not {delta}.")
    a, b = paired_rows(first, second)
    difference, noise = a - b, tolerance(a, b)
    topics, differing = difference.shape[1], (np.abs(difference) > noise[:, None]).sum(axis=1)
    mean, constant = difference.mean(axis=1), constant_rows(difference, noise)
    error = np.where(constant, 1.0, difference.std(axis=1, ddof=1) / np.sqrt(topics))
    lower: FloatArray = stdtr(topics - 1, -(mean + delta) / error)
    upper: FloatArray = stdtr(topics - 1, (mean - delta) / error)
    lower = np.where(constant, np.where(mean > noise - delta, 0.0, 1.0), lower)
    upper = np.where(constant, np.where(mean < delta - noise, 0.0, 1.0), upper)
    return [
        Equivalence(
            float(max(lower[k], upper[k])),
            float(lower[k]),
            float(upper[k]),
            float(delta),
            topics,
            bool(constant[k]),
            int(differing[k]),
        )
        for k in range(mean.size)
    ]


def tost(first: ArrayLike, second: ArrayLike, delta: float) -> Equivalence:
    """Equivalence within (-delta, delta) of two systems' scores, each of shape (T,).

    Raises:
        UsageError: The scores cannot be paired, or ``delta`` is not above 0.
    """
    return tost_rows(first, second, delta)[0]
