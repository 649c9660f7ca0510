"""Fleiss' kappa, and intervals of agreement statistics.

Fleiss' kappa (Psychological Bulletin 76, 1971) is for units with the same number of ratings:
kappa = (P - P_e) / (1 - P_e), P the share of agreeing pairs of raters, P_e the sum of the squared
shares of the categories.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adducir.statistics.differences import percentile_interval
from adducir.studies.options import Bootstrap

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""Gives the (B,) values of samples that contain each unit ``weights`` (B, U) times, or NaN."""


def fleiss_kappa(table: Floats) -> Statistic:
    """Fleiss' kappa of (N, C) counts, each row of the same sum."""
    raters = table.sum(axis=1)
    agreeing = ((table**2).sum(axis=1) - raters) / (raters * (raters - 1))

    def of(weights: Floats) -> Floats:
        used = weights @ table
        shares = used / used.sum(axis=1, keepdims=True)
        expected = (shares**2).sum(axis=1)
        observed = (weights @ agreeing) / weights.sum(axis=1)
        varied = (used > 0).sum(axis=1) > 1
        return np.asarray((observed - expected) / np.where(varied, 1 - expected, np.nan))

    return of


def estimated(
    statistic: Statistic, clusters: NDArray[np.integer[Any]], drawing: Bootstrap
) -> tuple[float, float, float] | None:
    """A statistic and the bounds of its interval, by sampling clusters; None if undefined."""
    if not clusters.size:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        value = float(statistic(np.ones((1, clusters.size)))[0])
    if not np.isfinite(value):
        return None
    drawn = drawing.samples, drawing.seed, drawing.confidence
    return value, *percentile_interval(statistic, clusters, *drawn)
