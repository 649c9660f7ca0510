"""How large a difference is: effect sizes, t intervals, wins, ties and losses.

``d_z`` is the mean difference in standard deviations of the differences (Cohen 1988,
section 2.3.5; Lakens 2013); ``hedges`` is ``d_z`` times Hedges' (1981) exact correction
for small samples. Wins, ties and losses count topics.
"""

from dataclasses import dataclass, replace
from math import exp, lgamma, log, sqrt

import numpy as np
from numpy.typing import ArrayLike

from adducir.core.errors import UsageError
from adducir.statistics.differences import constant_rows, paired_rows, tolerance


@dataclass(frozen=True, slots=True)
class Effect:
    """How two systems differ.

    Attributes:
        difference: Mean of first minus second, in units of the measure.
        sd: Standard deviation of the differences (n - 1).
        low: Lower end of the t interval of the mean difference.
        high: Its upper end.
        level: Confidence level of the interval, 0.95 say.
        d_z: Standardised difference; None where a constant difference has no variance.
        hedges: ``d_z`` corrected for small samples; None as ``d_z``.
        relative: Difference as a share of the second's mean; None where that is 0.
        wins: Topics on which the first is better.
        ties: Topics on which they are equal within the tolerance.
        losses: Topics on which the second is better.
        n: Number of topics.
    """

    difference: float
    sd: float
    low: float
    high: float
    level: float
    d_z: float | None
    hedges: float | None
    relative: float | None
    wins: int
    ties: int
    losses: int
    n: int

    def mirrored(self, mean_first: float) -> "Effect":
        """The same with the two systems in the other order.

        Args:
            mean_first: Mean of the system that was first, for the relative difference.
        """
        return replace(
            self,
            difference=-self.difference,
            low=-self.high,
            high=-self.low,
            d_z=None if self.d_z is None else -self.d_z,
            hedges=None if self.hedges is None else -self.hedges,
            relative=None if mean_first == 0 else -self.difference / mean_first,
            wins=self.losses,
            losses=self.wins,
        )


def check_share(value: float, what: str) -> None:
    """Refuse a level, alpha or power outside (0, 1) with UsageError."""
    if not 0.0 < value < 1.0:
        raise UsageError(f"{what} must lie between 0 and 1, but is {value}.")


def hedges_factor(df: int) -> float:
    """Hedges' (1981) correction c(df) = gamma(df/2) / (sqrt(df/2) gamma((df-1)/2)).

    0 for df = 1, where it is undefined in the limit.
    """
    if df < 2:
        return 0.0
    return exp(lgamma(df / 2) - lgamma((df - 1) / 2) - log(df / 2) / 2)


def effect_rows(
    first: ArrayLike, second: ArrayLike, *, level: float = 0.95, tie: float = 0.0
) -> list[Effect]:
    """:func:`effect` for each row of two (K, T) arrays."""
    from scipy.special import stdtrit

    check_share(level, "the confidence level")
    if not tie >= 0.0:
        raise UsageError(f"the tie tolerance must be at least 0, but is {tie}.")
    a, b = paired_rows(first, second)
    difference, noise = a - b, tolerance(a, b)
    topics = difference.shape[1]
    constant = constant_rows(difference, noise)
    mean = difference.mean(axis=1)
    sd = np.where(constant, 0.0, difference.std(axis=1, ddof=1))
    reach = float(stdtrit(topics - 1, 0.5 + level / 2)) * sd / sqrt(topics)
    wide = np.maximum(noise, tie)[:, None]
    wins, losses = (difference > wide).sum(axis=1), (difference < -wide).sum(axis=1)
    base = b.mean(axis=1)
    identical = np.abs(difference).max(axis=1) <= noise
    d_z = np.where(identical, 0.0, mean / np.where(constant, np.nan, sd))
    factor = hedges_factor(topics - 1)
    return [
        Effect(
            difference=float(mean[k]),
            sd=float(sd[k]),
            low=float(mean[k] - reach[k]),
            high=float(mean[k] + reach[k]),
            level=level,
            d_z=None if np.isnan(d_z[k]) else float(d_z[k]),
            hedges=None if np.isnan(d_z[k]) else float(d_z[k]) * factor,
            relative=None if base[k] == 0 else float(mean[k] / base[k]),
            wins=int(wins[k]),
            ties=int(topics - wins[k] - losses[k]),
            losses=int(losses[k]),
            n=topics,
        )
        for k in range(mean.size)
    ]


def effect(first: ArrayLike, second: ArrayLike, *, level: float = 0.95, tie: float = 0.0) -> Effect:
    """How two systems' scores, each of shape (T,), differ.

    Args:
        first: Scores of the system.
        second: Scores of what it is compared with, on the same topics.
        level: Confidence level of the interval.
        tie: Differences up to this size, in units of the measure, count as ties;
            rounding noise always does.

    Raises:
        UsageError: The scores cannot be paired, or ``level`` or ``tie`` makes no sense.
    """
    return effect_rows(first, second, level=level, tie=tie)[0]
