"""Intervals of a share of successes."""

from math import nan, sqrt

from adducir.core.errors import UsageError
from adducir.statistics.effects import check_share


def wilson_interval(successes: int, trials: int, *, level: float = 0.95) -> tuple[float, float]:
    """Wilson's (1927) score interval of a binomial share.

    It holds its level for small numbers and for shares near 0 or 1, where the usual interval fails
    (Brown, Cai and DasGupta 2001), and never leaves [0, 1].

    Args:
        successes: How many of the trials succeeded.
        trials: Independent trials.
        level: Confidence level.

    Returns:
        The two ends; NaN without a trial.

    Raises:
        UsageError: Numbers that cannot be.
    """
    from scipy.special import ndtri

    check_share(level, "the confidence level")
    if not 0 <= successes <= trials:
        raise UsageError(f"{successes} successes cannot be of {trials} trials.")
    if trials == 0:
        return nan, nan
    z = float(ndtri(0.5 + level / 2))
    share = successes / trials
    middle = share + z * z / (2 * trials)
    reach = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    low = 0.0 if successes == 0 else (middle - reach) / scale
    high = 1.0 if successes == trials else (middle + reach) / scale
    return low, high
