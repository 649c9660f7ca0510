"""Human and model judgements together: prediction-powered inference.

A model judges all items, humans a few of them. The model's mean over all items is corrected by its
mean error on items judged by humans; the interval covers the human mean however wrong the model is,
and shrinks with better agreement (Angelopoulos et al. 2023). The model's weight lambda, from 0
(ignore the model) to 1, minimises the variance (PPI++; Angelopoulos, Duchi and Zrnic
2023). Mean and weight equal ``ppi_py``'s, whose normal interval is too short for few human
judgements: mean and weight are both estimated from them, so the variance of the n errors is divided
by n - 2, and the quantile is Student's with n - 2 degrees of freedom.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from adducir.core.errors import UsageError
from adducir.statistics.differences import Floats


class PoweredMean(NamedTuple):
    """The mean of human judgements, its interval, and lambda, the model's weight."""

    mean: float
    low: float
    high: float
    weight: float


def powered_mean(
    human: Floats, model: Floats, model_alone: Floats, *, level: float = 0.95
) -> PoweredMean:
    """Mean human judgement or difference: (n,) items judged by both, (N,) by the model only."""
    from scipy.special import stdtrit

    y, hat, alone = (np.asarray(values, dtype=np.float64) for values in (human, model, model_alone))
    if y.shape != hat.shape or y.size < 3 or alone.size < 2:
        raise UsageError(
            "the model must judge the items that humans judged, three at least, and two others."
        )
    if not all(np.isfinite(values).all() for values in (y, hat, alone)):
        raise UsageError("a judgement is not a number.")
    # The weight with the least variance: cov(human, model) / ((1 + n / N) var(all of the model)).
    spread = float(np.concatenate((hat, alone)).var(ddof=1))
    shared = float(((y - y.mean()) * (hat - hat.mean())).mean())
    least = shared / ((1 + y.size / alone.size) * spread) if spread else 0.0
    weight = min(1.0, max(0.0, least))
    mean = float((weight * alone).mean() + (y - weight * hat).mean())
    variance = (weight * alone).var() / alone.size + (y - weight * hat).var(ddof=2) / y.size
    reach = float(stdtrit(y.size - 2, 0.5 + level / 2)) * sqrt(variance)
    return PoweredMean(mean, mean - reach, mean + reach, weight)
