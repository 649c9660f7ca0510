"""The number of topics that finds a difference: topic set size design (Sakai 2016).

For the two-sided paired t-test, by the noncentral t distribution of statsmodels. The variance
comes from an earlier matrix of scores.
"""

from bisect import bisect_left

from adducir.core.errors import UsageError
from adducir.statistics.effects import check_share

MOST_TOPICS = 1_000_000


def topics_needed(
    difference: float, sd: float, *, alpha: float = 0.05, power_wanted: float = 0.8
) -> int:
    """The fewest topics with which a paired t-test finds a true difference.

    Args:
        difference: The smallest true mean difference that must be found, in units of the measure.
        sd: Standard deviation of the differences: sqrt(2 error) of
            :func:`~adducir.statistics.anova.two_way_anova`.
        alpha: Level of the test.
        power_wanted: Power, 0.8 by convention.

    Raises:
        UsageError: A number out of range, no difference, or more than a million topics.
    """
    from statsmodels.stats.power import TTestPower  # type: ignore[import-untyped]

    check_share(alpha, "alpha")
    check_share(power_wanted, "the power")
    if not difference or not sd > 0:
        raise UsageError("it takes a difference other than 0 and a standard deviation above 0.")
    power, sizes = TTestPower().power, range(2, MOST_TOPICS + 1)
    effect = abs(difference) / sd
    # Its solver fails where the effect is large; the power itself is right.
    at = bisect_left(sizes, power_wanted, key=lambda n: float(power(effect, n, alpha)))
    if at == len(sizes):
        raise UsageError(f"more than {MOST_TOPICS:,} topics would be needed.")
    return sizes[at]
