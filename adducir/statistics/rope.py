"""Bayesian comparison with a region of practical equivalence (Benavoli et al., JMLR 2017).

With a flat prior and normal differences the posterior of the true mean difference is Student's t
with n - 1 degrees of freedom around the observed mean. Three probabilities follow: that the first
system is worse by more than the region, that the two are practically equivalent, and that it is
better. Topics are independent, so there is no correlation to correct for, as there is in
cross-validation. Equal to ``baycomp``'s posterior of that mean and variance.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from adducir.core.errors import UsageError
from adducir.statistics.differences import constant_rows, paired_rows, tolerance


class Rope(NamedTuple):
    """Posterior probabilities; they sum to 1.

    Attributes:
        worse: The true difference lies below -delta.
        equivalent: It lies within (-delta, delta).
        better: It lies above delta.
    """

    worse: float
    equivalent: float
    better: float


def rope(first: ArrayLike, second: ArrayLike, delta: float) -> Rope:
    """How probably two systems' scores, each (T,), truly differ by more than ``delta``.

    Args:
        first: Scores of the system.
        second: Scores of what it is compared with, on the same topics.
        delta: Half-width of the region, in units of the measure; 0 leaves no region.

    Raises:
        UsageError: The scores cannot be paired, ``delta`` is negative, or the differences do not
            vary, which leaves the posterior without width.
    """
    from scipy.special import stdtr

    if not (np.isfinite(delta) and delta >= 0):
        raise UsageError(f"the region of equivalence must be a number from 0 up, not {delta}.")
    a, b = paired_rows(first, second)
    difference = (a - b)[0]
    if constant_rows(a - b, tolerance(a, b))[0]:
        raise UsageError(
            "the difference is the same on every topic: its posterior has no width.",
            hint="Take an exact test of equivalence.",
        )
    n = difference.size
    error = difference.std(ddof=1) / np.sqrt(n)
    worse = float(stdtr(n - 1, (-delta - difference.mean()) / error))
    better = float(stdtr(n - 1, (difference.mean() - delta) / error))
    return Rope(worse, max(0.0, 1.0 - worse - better), better)
