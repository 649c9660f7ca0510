"""Human and model judgements together: prediction-powered inference.

A model judges all items, humans a few of them. The model's mean over all items is corrected by its
mean error on those that humans judged; the interval covers the human mean however wrong the model
is, and is the shorter the better it agrees with them (Angelopoulos et al. 2023). The weight lambda
of the model is chosen to make the variance least (PPI++; Angelopoulos, Duchi and Zrnic 2023), from
0, which leaves the model out, to 1. Equal to ``ppi_py.ppi_mean_ci``.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from adducir.core.errors import UsageError
from adducir.statistics.differences import FloatArray
from adducir.statistics.effects import check_share


@dataclass(frozen=True, slots=True)
class PoweredMean:
    """A mean as humans would judge it.

    Attributes:
        mean: The estimate.
        low: Lower end of its interval (normal).
        high: Upper end.
        weight: Lambda, the weight of the model's judgements, from 0 to 1.
        human: Mean of the human judgements alone.
        human_low: Lower end of the interval from these alone.
        human_high: Its upper end.
        model: Mean of all judgements of the model.
        judged: Items that humans judged.
        items: Items that the model alone judged.
        level: Level of both intervals.
        judge: Which model judged; to be named wherever the mean is.
    """

    mean: float
    low: float
    high: float
    weight: float
    human: float
    human_low: float
    human_high: float
    model: float
    judged: int
    items: int
    level: float
    judge: str

    @property
    def statement(self) -> str:
        """The sentence for a footer."""
        return (
            f"Prediction-powered: {self.judged} human judgements, and {self.items} more items "
            f"judged by {self.judge} alone (lambda = {self.weight:.2f})."
        )


def powered_mean(
    human: ArrayLike,
    model: ArrayLike,
    model_alone: ArrayLike,
    *,
    judge: str,
    level: float = 0.95,
    weight: float | None = None,
) -> PoweredMean:
    """Mean of what humans would judge, from some human and many model judgements.

    For the difference of two systems give differences, topic by topic, in all three.

    Args:
        human: (n,) human judgements, of items drawn at random.
        model: (n,) the model's judgements of the same items.
        model_alone: (N,) the model's judgements of the other items.
        judge: Name and version of the model.
        level: Level of the intervals.
        weight: Lambda; None: the one of least variance.

    Raises:
        UsageError: Fewer than two judgements of either kind, NaN, no judge named, or a weight
            outside 0 to 1.
    """
    from scipy.special import ndtri

    check_share(level, "the confidence level")
    y, hat, alone = (np.asarray(one, dtype=np.float64) for one in (human, model, model_alone))
    _check(y, hat, alone, judge, weight)
    n, others = y.size, alone.size
    if weight is None:
        weight = _least_variance(y, hat, alone)
    mean = float((weight * alone).mean() + (y - weight * hat).mean())
    z = float(ndtri(0.5 + level / 2))
    reach = z * sqrt((weight * alone).var() / others + (y - weight * hat).var() / n)
    own = z * float(y.std()) / sqrt(n)
    return PoweredMean(
        mean=mean,
        low=mean - reach,
        high=mean + reach,
        weight=weight,
        human=float(y.mean()),
        human_low=float(y.mean()) - own,
        human_high=float(y.mean()) + own,
        model=float(np.concatenate((hat, alone)).mean()),
        judged=n,
        items=others,
        level=level,
        judge=judge,
    )


def _least_variance(human: FloatArray, model: FloatArray, alone: FloatArray) -> float:
    """Lambda of least variance: cov(human, model) / ((1 + n / N) var(all of the model))."""
    spread = float(np.concatenate((model, alone)).var(ddof=1))
    if spread == 0.0:
        return 0.0
    shared = float(((human - human.mean()) * (model - model.mean())).mean())
    return min(1.0, max(0.0, shared / ((1 + human.size / alone.size) * spread)))


def _check(
    human: FloatArray, model: FloatArray, alone: FloatArray, judge: str, weight: float | None
) -> None:
    if human.ndim != 1 or human.shape != model.shape or alone.ndim != 1:
        raise UsageError("human judgements and the model's must be of the same items.")
    if min(human.size, alone.size) < 2:
        raise UsageError("two human judgements and two of the model alone are needed at least.")
    if not all(np.isfinite(one).all() for one in (human, model, alone)):
        raise UsageError("a judgement is no number.")
    if not judge.strip():
        raise UsageError("the judge must be named.", hint="Give the model and its version.")
    if weight is not None and not 0.0 <= weight <= 1.0:
        raise UsageError(f"the model's weight must lie from 0 to 1, but is {weight}.")
