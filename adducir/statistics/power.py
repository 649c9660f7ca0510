"""The number of topics that finds a difference by the paired t-test (Sakai 2016)."""

from bisect import bisect_left

from adducir.core.errors import UsageError

POWER = 0.8
"""The conventional power."""
MAX_TOPICS = 1_000_000


def topics_needed(difference: float, sd: float, alpha: float = 0.05, wanted: float = POWER) -> int:
    """The fewest topics with which a paired t-test finds a difference; ``sd`` of differences."""
    from statsmodels.stats.power import TTestPower  # type: ignore[import-untyped]

    if not difference or not sd > 0:
        raise UsageError("it takes a difference other than 0 and a standard deviation above 0.")
    power, sizes = TTestPower().power, range(2, MAX_TOPICS + 1)
    effect = abs(difference) / sd
    # Its solver fails where the effect is large; the power itself is right.
    at = bisect_left(sizes, wanted, key=lambda n: float(power(effect, n, alpha)))
    if at == len(sizes):
        raise UsageError(f"more than {MAX_TOPICS:,} topics would be needed.")
    return sizes[at]
