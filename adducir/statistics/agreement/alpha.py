"""Krippendorff's alpha: agreement of any number of raters, with any ratings missing.

Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), and "Content Analysis", ch. 11.
alpha = 1 - D_o / D_e: the disagreement observed between the ratings of one unit over that between
all ratings, where d(c, k) is the squared difference of two values:

* nominal: 0 if they are equal, else 1;
* ordinal: (n_c / 2 + the ratings between c and k + n_k / 2)^2, with n_c the ratings of value c;
* interval: (c - k)^2;
* ratio: ((c - k) / (c + k))^2.

A unit with a single rating counts nothing. The ordinal difference is that of two mean ranks (n_c
adds up to the ranks below c, and half of n_c more), so the ordinal alpha is the interval alpha of
mean ranks. For squared differences of numbers s, the sum over all pairs of a unit's m ratings is
2 (m sum s^2 - (sum s)^2), which needs no matrix of pairs.
"""

import numpy as np

from adducir.core.errors import UsageError
from adducir.statistics.agreement.counts import Level
from adducir.statistics.agreement.ratings import Floats


def krippendorff_alpha(table: Floats, values: Floats, level: Level = "ordinal") -> float:
    """Krippendorff's alpha of counts.

    Args:
        table: (U, C) how many raters gave each unit each value.
        values: (C,) the values, rising.

    Returns:
        alpha: 1 for full agreement, 0 for that of chance; NaN where all ratings that have another
        beside them are equal, for then nothing can be said.

    Raises:
        UsageError: No unit with two ratings.
    """
    table, values = pairable(table, values)
    return float(alphas(table, values, level, np.ones((1, table.shape[0])))[0])


def pairable(table: Floats, values: Floats) -> tuple[Floats, Floats]:
    """The units that have two ratings or more, and the values (all of them).

    Raises:
        UsageError: There is none.
    """
    table = np.asarray(table, dtype=np.float64)
    kept = table[table.sum(axis=1) >= 2]
    if not kept.size:
        raise UsageError(
            "no unit has two ratings, so there is no agreement to measure.",
            hint="Agreement needs several raters of one answer.",
        )
    return kept, np.asarray(values, dtype=np.float64)


def alphas(table: Floats, values: Floats, level: Level, weights: Floats) -> Floats:
    """Alpha of B samples of the units.

    Args:
        table: (U, C) counts, each row with a sum of 2 or more.
        values: (C,) the values, rising.
        weights: (B, U) how often each sample holds each unit.

    Returns:
        (B,) alpha; NaN where a sample has one value only.
    """
    size = table.sum(axis=1)
    totals = weights @ table
    number = totals.sum(axis=1)
    if level == "nominal":
        within = weights @ ((size**2 - (table**2).sum(axis=1)) / (size - 1))
        between = number**2 - (totals**2).sum(axis=1)
    elif level == "ratio":
        apart = _ratios(values)
        within = weights @ (((table @ apart) * table).sum(axis=1) / (size - 1))
        between = ((totals @ apart) * totals).sum(axis=1)
    elif level == "interval":
        # Differences know no zero; far from it, squares would lose digits.
        score = values - values.mean()
        within = weights @ (_spread(table, size, score) / (size - 1))
        between = _spread(totals, number, score)
    else:
        ranks = np.cumsum(totals, axis=1) - totals / 2 - number[:, None] / 2
        spread = 2 * (size * (ranks**2 @ table.T) - (ranks @ table.T) ** 2)
        within = (weights * spread / (size - 1)).sum(axis=1)
        between = 2 * (
            number * (totals * ranks**2).sum(axis=1) - ((totals * ranks).sum(axis=1)) ** 2
        )
    varied = (totals > 0).sum(axis=1) > 1
    return np.asarray(1 - (number - 1) * within / np.where(varied, between, np.nan))


def _spread(counts: Floats, number: Floats, score: Floats) -> Floats:
    """Sum of squared differences over all ordered pairs of each row's ratings."""
    return np.asarray(2 * (number * (counts @ score**2) - (counts @ score) ** 2))


def _ratios(values: Floats) -> Floats:
    """(C, C) the squared ratio differences; 0 between two zeros."""
    total = values[:, None] + values[None, :]
    safe = np.where(total == 0, 1.0, total)
    return np.asarray(((values[:, None] - values[None, :]) / safe) ** 2)
