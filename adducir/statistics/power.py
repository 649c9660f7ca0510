"""What an experiment of a given size can find, and the size it takes: topic set size design.

Exact for the two-sided paired t-test, by the noncentral t distribution, and for the analysis of
variance, by the noncentral F (Cohen 1988; Sakai 2016, Information Retrieval Journal 19, applies
them to retrieval). The variances come from an earlier matrix of scores: :func:`score_variance`.
"""

from collections.abc import Callable
from math import exp, lgamma, sqrt

from numpy.typing import ArrayLike

from adducir.core.errors import UsageError
from adducir.statistics.anova import two_way_anova
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


MOST_TOPICS = 1_000_000


def score_variance(values: ArrayLike) -> float:
    """Variance of a score once topic and system are known, from scores (S, T) of an experiment.

    The mean square of the error of the two-way analysis of variance (Sakai 2016, section 3.3); the
    variance of a difference of two systems is twice that. For several experiments take the mean,
    weighted by S - 1 times T - 1.

    Raises:
        UsageError: As :func:`~adducir.statistics.anova.two_way_anova`.
    """
    return two_way_anova(values).error


def topics_needed(
    difference: float, sd: float, *, alpha: float = 0.05, power_wanted: float = 0.8
) -> int:
    """The fewest topics with which a paired t-test finds a true difference (Sakai 2016, t-test).

    Args:
        difference: The smallest true mean difference that must be found, in units of the measure.
        sd: Standard deviation of the differences: sqrt(2 :func:`score_variance`).
        alpha: Level of the test.
        power_wanted: Power, 0.8 by convention.

    Raises:
        UsageError: As :func:`power`; no difference; or more than a million topics.
    """
    check_share(power_wanted, "the power")
    if not difference:
        raise UsageError("no number of topics finds a difference of 0.")
    return _fewest(lambda n: power(difference, sd, n, alpha=alpha) >= power_wanted)


def topics_needed_anova(
    systems: int,
    spread: float,
    variance: float,
    *,
    alpha: float = 0.05,
    power_wanted: float = 0.8,
) -> int:
    """The fewest topics with which an analysis of variance finds a spread (Sakai 2016, ANOVA).

    The worst case of a spread is taken: the best and the worst system differ by it, all others lie
    in the middle.

    Args:
        systems: Number of systems, from 2.
        spread: Smallest true difference between best and worst that must be found.
        variance: Of a score, :func:`score_variance`.
        alpha: Level of the test.
        power_wanted: Power.

    Raises:
        UsageError: A number that makes no sense, or more than a million topics.
    """
    from scipy.special import fdtri, ncfdtr

    check_share(alpha, "alpha")
    check_share(power_wanted, "the power")
    if systems < 2 or not variance > 0 or not spread:
        raise UsageError("it takes two systems, a variance above 0 and a spread other than 0.")

    def found(n: int) -> bool:
        between, within = systems - 1, systems * (n - 1)
        critical = fdtri(between, within, 1 - alpha)
        shift = n * spread**2 / (2 * variance)
        return bool(1 - ncfdtr(between, within, shift, critical) >= power_wanted)

    return _fewest(found)


def topics_needed_interval(half_width: float, sd: float, *, level: float = 0.95) -> int:
    """The fewest topics with which the t interval is no wider, in expectation (Sakai 2016, CI).

    Args:
        half_width: Half the width that the interval of a difference may have on average.
        sd: Standard deviation of the differences.
        level: Level of the interval.

    Raises:
        UsageError: A width not above 0, or more than a million topics.
    """
    from scipy.special import stdtrit

    check_share(level, "the confidence level")
    if not half_width > 0:
        raise UsageError(f"an interval is wider than 0, but half of it should be {half_width}.")

    def narrow(n: int) -> bool:
        expected = exp(lgamma(n / 2) - lgamma((n - 1) / 2)) * sqrt(2 / (n - 1)) * sd
        return bool(stdtrit(n - 1, 0.5 + level / 2) * expected / sqrt(n) <= half_width)

    return _fewest(narrow)


def _fewest(enough: Callable[[int], bool]) -> int:
    """The smallest number of topics from 2 that is enough, where more are enough as well."""
    low, high = 1, 2
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST_TOPICS:
            raise UsageError(f"more than {MOST_TOPICS:,} topics would be needed.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
