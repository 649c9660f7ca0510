"""One difference over several collections: random-effects meta-analysis.

Each collection has an effect of its own; their mean and their variance tau^2 between collections
are estimated. Weights are 1 / (v + tau^2), with v an effect's sampling variance.

* tau^2 by restricted maximum likelihood (``reml``; Viechtbauer 2005) or DerSimonian and Laird's
  moments (``dl``; 1986), at least 0.
* The mean's interval is Hartung and Knapp's (2001) with t of k - 1 degrees of freedom, which keeps
  its level with few collections (IntHout, Ioannidis and Borm 2014); p likewise.
* The prediction interval, for the effect in another collection, has t of k - 2 degrees of freedom
  (Higgins, Thompson and Spiegelhalter 2009), so it takes three collections.

``dl`` and Hartung-Knapp equal ``statsmodels.stats.meta_analysis``. An effect is a mean difference
in units of the measure (v = sd^2 / n), or, where collections have other scales, Hedges' g
of the paired differences, g = J d_z (v = J^2 (n - 1) / (n - 3) (1 / n + g^2) - g^2, the variance of
a noncentral t; Hedges 1981).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from adducir.core.errors import UsageError
from adducir.statistics.differences import FloatArray
from adducir.statistics.effects import Effect, check_share, hedges_factor

Estimator = Literal["reml", "dl"]
EffectKind = Literal["difference", "g"]


@dataclass(frozen=True, slots=True)
class MetaAnalysis:
    """k effects, and what they say together.

    Attributes:
        effects: (k,) effects.
        variances: (k,) their sampling variances.
        weights: (k,) their shares in the mean; they sum to 1.
        lows: (k,) lower ends of their own intervals (normal).
        highs: (k,) upper ends.
        mean: The mean effect.
        low: Lower end of its interval.
        high: Upper end.
        p: Of the null hypothesis that it is 0, two-sided.
        predicted: Interval for the effect in another collection; None with two collections.
        tau2: Variance between collections.
        i2: Share of the variance that lies between collections (Higgins and Thompson 2002).
        q: Cochran's Q.
        level: Level of all intervals.
    """

    effects: FloatArray
    variances: FloatArray
    weights: FloatArray
    lows: FloatArray
    highs: FloatArray
    mean: float
    low: float
    high: float
    p: float
    predicted: tuple[float, float] | None
    tau2: float
    i2: float
    q: float
    level: float


def effects_of(found: Sequence[Effect], kind: EffectKind = "difference") -> tuple[FloatArray, ...]:
    """Effects and sampling variances, each (k,), of one difference on k collections.

    Raises:
        UsageError: A difference does not vary over topics and so has no variance; for ``g`` a
            collection of fewer than 4 topics.
    """
    for one in found:
        if not one.sd > 0 or one.hedges is None or one.d_z is None:
            raise UsageError(
                "a difference is the same on all topics of a collection and has no variance.",
                hint="Leave the collection out.",
            )
    if kind == "difference":
        pairs = [(one.difference, one.sd**2 / one.n) for one in found]
    else:
        pairs = [(one.hedges or 0.0, _variance_of_g(one.hedges or 0.0, one.n)) for one in found]
    effects, variances = np.array(pairs, dtype=np.float64).T
    return effects, variances


def _variance_of_g(g: float, n: int) -> float:
    """Sampling variance of Hedges' g of n paired differences."""
    if n < 4:
        raise UsageError(f"Hedges' g has a variance from 4 topics on; a collection has {n}.")
    return hedges_factor(n - 1) ** 2 * (n - 1) / (n - 3) * (1 / n + g * g) - g * g


def meta_analysis(
    effects: ArrayLike,
    variances: ArrayLike,
    *,
    method: Estimator = "reml",
    level: float = 0.95,
) -> MetaAnalysis:
    """Random-effects meta-analysis of k effects.

    Args:
        effects: Shape (k,), k from 2.
        variances: Shape (k,), their sampling variances, above 0.
        method: ``reml`` or ``dl``.
        level: Level of all intervals.

    Raises:
        UsageError: Fewer than two effects, a variance not above 0, or an unknown method.
    """
    from scipy.special import ndtri, stdtr, stdtrit

    check_share(level, "the confidence level")
    y, v = np.asarray(effects, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    if y.ndim != 1 or y.shape != v.shape or y.size < 2 or not (v > 0).all():
        raise UsageError(
            f"a meta-analysis takes two or more effects with variances above 0, not {y.size}."
        )
    if method not in ("reml", "dl"):
        raise UsageError(f"tau^2 is estimated by 'reml' or 'dl', not {method!r}.")
    k, fixed = y.size, 1 / v
    q = float((fixed * (y - (fixed * y).sum() / fixed.sum()) ** 2).sum())
    tau2 = _moments(v, q) if method == "dl" else _reml(y, v)
    weights = 1 / (v + tau2)
    weights /= weights.sum()
    mean = float(weights @ y)
    error = sqrt(float(weights @ (y - mean) ** 2) / (k - 1))
    reach = float(stdtrit(k - 1, 0.5 + level / 2)) * error
    own = float(ndtri(0.5 + level / 2)) * np.sqrt(v)
    predicted = None
    if k > 2:
        wide = float(stdtrit(k - 2, 0.5 + level / 2)) * sqrt(tau2 + error**2)
        predicted = mean - wide, mean + wide
    typical = (k - 1) * fixed.sum() / (fixed.sum() ** 2 - (fixed**2).sum())
    return MetaAnalysis(
        effects=y,
        variances=v,
        weights=weights,
        lows=y - own,
        highs=y + own,
        mean=mean,
        low=mean - reach,
        high=mean + reach,
        p=float(2 * stdtr(k - 1, -abs(mean) / error)) if error > 0 else float(mean == 0),
        predicted=predicted,
        tau2=tau2,
        i2=tau2 / (tau2 + float(typical)),
        q=q,
        level=level,
    )


def _moments(variances: FloatArray, q: float) -> float:
    """DerSimonian and Laird's tau^2."""
    weights = 1 / variances
    scale = weights.sum() - (weights**2).sum() / weights.sum()
    return max(0.0, float((q - (variances.size - 1)) / scale))


def _reml(effects: FloatArray, variances: FloatArray) -> float:
    """tau^2 that maximises the restricted likelihood, to a relative 1e-9."""
    from scipy.optimize import minimize_scalar

    def deviance(tau2: float) -> float:
        weights = 1 / (variances + tau2)
        mean = (weights * effects).sum() / weights.sum()
        return float(
            -np.log(weights).sum() + log(weights.sum()) + (weights * (effects - mean) ** 2).sum()
        )

    top = max(float(np.ptp(effects)) ** 2, float(variances.max())) * 4
    ends = log(1e-8 * top), log(top)
    starts = np.linspace(*ends, 60)
    best = starts[int(np.argmin([deviance(exp(one)) for one in starts]))]
    found = minimize_scalar(
        lambda one: deviance(exp(one)),
        bounds=(best - 1, best + 1),
        method="bounded",
        options={"xatol": 1e-10},
    )
    tau2 = exp(float(found.x))
    return tau2 if deviance(tau2) < deviance(0.0) else 0.0
