"""Fleiss' kappa: agreement of a fixed number of raters on categories, beyond chance.

Fleiss, "Measuring nominal scale agreement among many raters", Psychological Bulletin 76 (1971).
Of the N units each has n ratings, n_ij of them in category j. The share of agreeing pairs of
raters is P_i = (sum_j n_ij^2 - n) / (n (n - 1)) on unit i and P on average; by chance it would be
P_e = sum_j p_j^2 with p_j the share of category j among all ratings; kappa = (P - P_e) / (1 - P_e).

Free-marginal kappa (Randolph 2005, 2010) has P_e = 1 / C instead: it suits raters who need not
use each of the C categories a certain number of times, and options that are shuffled from unit to
unit, so that option 1 means nothing.
"""

from dataclasses import dataclass

import numpy as np

from adducir.core.errors import UsageError
from adducir.statistics.agreement.ratings import Floats


@dataclass(frozen=True)
class Kappa:
    """Agreement on N units with n ratings each.

    Attributes:
        kappa: Fleiss' kappa; NaN where all ratings are in one category, which leaves no chance to
            disagree.
        free: Free-marginal kappa; NaN with a single category.
        observed: Share of agreeing pairs of raters, P.
        expected: What chance would give, P_e.
        all_agree: Share of units that all raters put in one category.
        none_agree: Share of units where no two raters agree.
        units: N.
        raters: n.
        categories: C.
    """

    kappa: float
    free: float
    observed: float
    expected: float
    all_agree: float
    none_agree: float
    units: int
    raters: int
    categories: int


def fleiss_kappa(table: Floats, *, categories: int | None = None) -> Kappa:
    """Fleiss' kappa of counts.

    Args:
        table: (N, C) how many raters put each unit in each category; every row sums to the same n.
        categories: How many categories raters could choose from, where that is more than C; only
            the free-marginal kappa depends on it.

    Raises:
        UsageError: No unit, fewer than two raters, unequal numbers of raters, or fewer categories
            than were used.
    """
    table = np.asarray(table, dtype=np.float64)
    raters = _raters(table)
    offered = table.shape[1] if categories is None else categories
    if offered < int((table.sum(axis=0) > 0).sum()):
        raise UsageError(f"{offered} categories are offered, but more were used.")
    observed = float(agreement(table).mean())
    shares = table.sum(axis=0) / table.sum()
    highest = table.max(axis=1)
    chance = 1 / offered
    return Kappa(
        kappa=float(kappas(table, np.ones((1, table.shape[0])))[0]),
        free=(observed - chance) / (1 - chance) if offered > 1 else float("nan"),
        observed=observed,
        expected=float((shares**2).sum()),
        all_agree=float((highest == raters).mean()),
        none_agree=float((highest == 1).mean()),
        units=table.shape[0],
        raters=raters,
        categories=offered,
    )


def agreement(table: Floats) -> Floats:
    """(N,) the share of agreeing pairs of raters on each unit."""
    raters = table.sum(axis=1)
    return np.asarray(((table**2).sum(axis=1) - raters) / (raters * (raters - 1)))


def kappas(table: Floats, weights: Floats) -> Floats:
    """Kappa of B samples of the units.

    Args:
        table: (N, C) counts, each row with the same sum.
        weights: (B, N) how often each sample holds each unit.

    Returns:
        (B,) kappa; NaN where a sample has one category only.
    """
    used = weights @ table
    shares = used / used.sum(axis=1, keepdims=True)
    expected = (shares**2).sum(axis=1)
    observed = (weights @ agreement(table)) / weights.sum(axis=1)
    varied = (used > 0).sum(axis=1) > 1
    room = np.where(varied, 1 - expected, np.nan)
    return np.asarray((observed - expected) / room)


def _raters(table: Floats) -> int:
    """The one number of ratings that every unit has."""
    if table.ndim != 2 or not table.size:
        raise UsageError("Fleiss' kappa needs at least one unit and one category.")
    numbers = np.unique(table.sum(axis=1))
    if numbers.size > 1:
        raise UsageError(
            f"Fleiss' kappa needs as many ratings of each unit, not {numbers[0]:g} of one and "
            f"{numbers[-1]:g} of another.",
            hint="Leave units out, or take Krippendorff's alpha.",
        )
    if numbers[0] < 2:
        raise UsageError("Fleiss' kappa needs two raters or more.")
    return int(numbers[0])
