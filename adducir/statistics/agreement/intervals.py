"""Bootstrap intervals of a statistic of agreement, over units.

Raters are taken as they are; units are drawn with replacement, all ratings of one together. Where
several systems answered the same items, an item's answers are drawn together, because they are no
independent sample. Ends are the percentiles of the samples' values (Efron and Tibshirani 1993,
ch. 13). A sample in which all ratings are equal has no value and is left out.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from adducir.core.errors import UsageError
from adducir.statistics.agreement.ratings import Floats, Integers
from adducir.statistics.resampling import one_thread, sample_counts

DEFAULT_SAMPLES = 2_000
_CELLS = 1 << 21
"""Numbers of a block of samples held in memory."""


def check_share(value: float, what: str) -> None:
    """Refuse a level outside (0, 1)."""
    if not 0.0 < value < 1.0:
        raise UsageError(f"{what} must lie between 0 and 1, but is {value}.")


@dataclass(frozen=True)
class Interval:
    """A confidence interval.

    Attributes:
        low: Lower end; NaN where no sample has a value.
        high: Upper end, likewise.
        undefined: How many samples had no value.
    """

    low: float
    high: float
    undefined: int = 0


def bootstrap_interval(
    statistic: Callable[[Floats], Floats],
    clusters: Integers,
    *,
    samples: int = DEFAULT_SAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """The percentile interval of a statistic.

    Args:
        statistic: From (B, U) numbers of times that each unit is drawn to the (B,) values.
        clusters: (U,) the item of each unit, as whole numbers; units of one are drawn together.

    Raises:
        UsageError: ``samples``, ``seed`` or ``level`` makes no sense.
    """
    if samples < 1 or seed < 0:
        raise UsageError(f"samples ({samples}) must be 1 or more and the seed ({seed}) 0 or more.")
    check_share(level, "the confidence level")
    _, members = np.unique(clusters, return_inverse=True)
    number = int(members.max()) + 1
    rows = max(1, _CELLS // members.size)
    with one_thread(), np.errstate(invalid="ignore", divide="ignore"):
        found = np.concatenate(
            [statistic(drawn[:, members]) for drawn in sample_counts(seed, samples, number, rows)]
        )
    defined = found[np.isfinite(found)]
    if not defined.size:
        return Interval(float("nan"), float("nan"), samples)
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), samples - defined.size)
