"""What an experiment of a given size can find: power and the detectable difference.

Exact for the two-sided paired t-test, by the noncentral t distribution (Cohen 1988;
Sakai 2016 applies it to retrieval experiments).
"""

from math import sqrt

from adducir.core.errors import UsageError
from adducir.statistics.effects import check_share


def power(difference: float, sd: float, n: int, *, alpha: float = 0.05) -> float:
    """Power of a two-sided paired t-test, by the noncentral t distribution.

    Args:
        difference: True mean difference, in units of the measure.
        sd: Standard deviation of the differences.
        n: Number of topics.
        alpha: Level of the test.

    Raises:
        UsageError: ``n`` < 2, ``sd`` not above 0, or ``alpha`` outside (0, 1).
    """
    from scipy.special import nctdtr, stdtrit

    check_share(alpha, "alpha")
    if n < 2 or not sd > 0:
        raise UsageError(f"power needs at least 2 topics (n = {n}) and sd above 0 (sd = {sd}).")
    shift = abs(difference) / sd * sqrt(n)
    critical = float(stdtrit(n - 1, 1 - alpha / 2))
    return float(1 - nctdtr(n - 1, shift, critical) + nctdtr(n - 1, shift, -critical))


def detectable(sd: float, n: int, *, alpha: float = 0.05, power_wanted: float = 0.8) -> float:
    """The smallest true mean difference that a paired t-test finds with the given power.

    Args:
        sd: Standard deviation of the differences, in units of the measure.
        n: Number of topics.
        alpha: Level of the test, uncorrected.
        power_wanted: Power, 0.8 by convention; must exceed ``alpha``.

    Returns:
        The difference, in units of the measure, to a relative 1e-10; 0 where sd is 0.

    Raises:
        UsageError: As :func:`power`, or ``power_wanted`` does not exceed ``alpha``.
    """
    from scipy.optimize import brentq

    check_share(power_wanted, "the power")
    if power_wanted <= alpha:
        raise UsageError(f"the power wanted ({power_wanted}) must exceed alpha ({alpha}).")
    if sd == 0:
        return 0.0
    high = 1.0
    while power(high, 1.0, n, alpha=alpha) < power_wanted:
        high *= 2.0
    standardised = brentq(
        lambda d: power(d, 1.0, n, alpha=alpha) - power_wanted, 0.0, high, rtol=1e-10
    )
    return float(standardised) * sd
