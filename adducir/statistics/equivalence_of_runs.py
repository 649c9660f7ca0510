"""Equivalence of two systems of several runs: TOST over topics and runs.

The one-sided tests of :mod:`adducir.statistics.equivalence`, with the standard error and the
quantiles of :mod:`adducir.statistics.two_level` in place of those over topics:

* ``t``: t of (mean - delta) over the two-level error.
* ``hall``: the larger p of that and of Hall's transformation. The mean over topics and runs has the
  third central moment of the topics' differences over T^2, the runs being taken as symmetric; with
  skewness g, that moment over error^3, and t the transformed statistic is t + g t^2 / 3 + g^2 t^3 /
  27 + g / 6 (Hall 1992), for one run each that of topics alone.

With ``hall`` and fewer than :data:`.FEW` topics that differ, without any variance, and where a
system has two runs, equivalence is refused.
"""

import numpy as np

from adducir.core.errors import UsageError
from adducir.statistics.choices import EquivalenceTestName, SideName
from adducir.statistics.differences import FloatArray, tolerance
from adducir.statistics.equivalence import FEW, Equivalence, Method
from adducir.statistics.two_level import TwoLevel, two_level


def tost_of_runs(
    first: FloatArray,
    second: FloatArray,
    delta: float,
    *,
    test: EquivalenceTestName = "hall",
    side: SideName = "both",
) -> Equivalence:
    """Equivalence within (-delta, delta) of two systems' scores, (R1, T) and (R2, T).

    Args:
        first: Scores of the system, a row for each of its runs.
        second: Those of what it is compared with, on the same topics.
        delta: Half-width of the band, in units of the measure.
        test: ``hall`` or ``t``.
        side: See :func:`.tost`.

    Raises:
        UsageError: The scores cannot be paired, ``delta`` is not above 0, or another test.
    """
    if not (np.isfinite(delta) and delta > 0):
        raise UsageError(f"the band of equivalence must be a number above 0, not {delta}.")
    if test not in ("hall", "t"):
        raise UsageError(f"there is no {test} test of equivalence of several runs.")
    found = two_level(first, second)
    a, b = (np.atleast_2d(one).mean(axis=0) for one in (first, second))
    gap, topics = a - b, a.size
    differing = int((np.abs(gap) > tolerance(a[None], b[None])).sum())
    degenerate = not found.error > 0
    method: Method = test
    if degenerate or found.refused or (test == "hall" and differing < FEW):
        method, sides = "refused", (1.0, 1.0)
    else:
        shape = (0.0, 0.0)
        if test == "hall":
            of_runs = found.error**2 * (1 - found.topics)
            spread = of_runs + float(gap.var()) / topics
            shape = spread, float(((gap - gap.mean()) ** 3).mean()) / topics**2
        low, high = (
            _below(found, sign * found.difference - delta, shape[0], sign * shape[1])
            for sign in (-1.0, 1.0)
        )
        sides = low, high
    return Equivalence(
        p={"both": max(sides), "lower": sides[0], "upper": sides[1]}[side],
        p_lower=sides[0],
        p_upper=sides[1],
        delta=float(delta),
        n=topics,
        degenerate=degenerate,
        differing=differing,
        method=method,
    )


def _below(found: TwoLevel, gap: float, variance: float, third: float) -> float:
    """P of H0: the mean is delta or more, ``gap`` above it; of ``t`` alone without ``variance``."""
    p = found.below(gap / found.error)
    if not variance > 0:
        return p
    t, g = gap / np.sqrt(variance), third / variance**1.5
    return max(p, found.below(t + g * t**2 / 3 + g**2 * t**3 / 27 + g / 6))
