"""A one-sided test of the mean of bounded values, for any distribution and any number of them.

Gaffke's (2005) test: with values x_1 .. x_n that cannot exceed b, the mean could be as large as
sum(w_i x_i) + w_0 b, with random shares w (uniform over the simplex: the spacings of n uniform
draws); p is the probability that this reaches the mean of the null hypothesis. For values of 0 and
1 it is the exact binomial test (Clopper and Pearson 1934). For other values it is not proven to
hold its level; no counterexample is known (Learned-Miller and Thomas 2020), and the simulations
behind ``docs/statistics.md`` found none.

The shares are exponential variables over their sum, so p is P(sum(a_i E_i) >= 0) with a = x - mean,
and is computed from the Laplace transform of that sum by the trapezoid rule along a line through
the saddle point, to a relative error of about 1e-10.
"""

import numpy as np

from adducir.core.errors import UsageError
from adducir.statistics.differences import FloatArray

_NODES = np.arange(0, 18, 1 / 48)


def mean_below(values: FloatArray, mean: float, highest: float) -> float:
    """P of the null hypothesis that the true mean is at least ``mean``.

    Args:
        values: (n,) values, none above ``highest``.
        mean: The mean of the null hypothesis.
        highest: The largest value that can occur, above ``mean``.

    Raises:
        UsageError: No value, one above ``highest``, or ``highest`` not above ``mean``.
    """
    if not values.size or values.max() > highest + 1e-9 or not highest > mean:
        raise UsageError(
            f"the mean {mean:g} cannot be tested with {values.size} values up to {highest:g}."
        )
    rises, counts = np.unique(np.append(values, highest) - mean, return_counts=True)
    if rises[0] >= 0:
        return 1.0
    return min(1.0, _positive(rises, counts.astype(np.float64)))


def _positive(weights: FloatArray, counts: FloatArray) -> float:
    """P(sum of weights times exponential variables > 0); weights of either sign.

    Args:
        weights: (k,) distinct weights, ascending; the last above 0, the first below.
        counts: (k,) how many variables have each.
    """
    from scipy.optimize import brentq

    end = 1.0 / weights[-1]

    def slope(s: float) -> float:
        return float((counts * weights / (1.0 - weights * s)).sum() - 1.0 / s)

    saddle = float(brentq(slope, 1e-9 * end, (1 - 1e-12) * end, xtol=1e-14 * end))
    bend = float((counts * (weights / (1.0 - weights * saddle)) ** 2).sum() + saddle**-2)
    steps = np.sinh(_NODES) / np.sqrt(bend)
    at = saddle + 1j * steps
    logarithm = -(counts @ np.log(1.0 - weights[:, None] * at)) - np.log(at)
    terms = np.exp(logarithm).real * np.cosh(_NODES) / np.sqrt(bend)
    terms[0] /= 2.0
    return float(terms.sum() * (_NODES[1] - _NODES[0]) / np.pi)
