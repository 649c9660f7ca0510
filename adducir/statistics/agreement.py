"""Agreement of raters: Cohen's and Fleiss' kappa, Krippendorff's alpha, and their intervals.

Fleiss' kappa (Psychological Bulletin 76, 1971) is for units with the same number of ratings:
kappa = (P - P_e) / (1 - P_e), P the share of agreeing pairs of raters, P_e the sum of the squared
shares of the categories. Cohen's (1960) has two raters, each with its own shares. Krippendorff's
alpha (2011) allows any number of raters and missing ratings: 1 - D_o / D_e, the disagreement within
units over that between all ratings. For squared differences of ranks r the sum over all pairs of a
unit's m ratings is 2 (m sum r^2 - (sum r)^2), which needs no matrix of pairs per sample.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.statistics.differences import percentile_interval

Floats = NDArray[np.float64]
Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]
Statistic = Callable[[Floats], Floats]
"""Gives the (B,) values of samples that contain each unit ``weights`` (B, U) times, or NaN."""


def votes_by_unit(answers: pl.DataFrame, *unit: str) -> tuple[pl.DataFrame, Floats, NDArray[Any]]:
    """Units, how often each was given each value, and the values.

    Args:
        answers: The column ``value``, and those that name the unit.

    Returns:
        The U units in order, a (U, C) table, and the C values, ascending.
    """
    values, columns = np.unique(answers["value"], return_inverse=True)
    units = answers.select(unit).unique(maintain_order=True)
    rows = answers.join(units.with_row_index("unit"), on=unit, maintain_order="left")["unit"]
    table = np.zeros((len(units), len(values)))
    np.add.at(table, (rows.to_numpy(), columns), 1)
    return units, table, values


def most_common_count(table: Floats) -> tuple[int, NDArray[np.bool_]]:
    """The number of ratings that most of (U, C) units have, and which units those are."""
    ratings = table.sum(axis=1)
    numbers, often = np.unique(ratings, return_counts=True)
    usual = int(numbers[often == often.max()].max()) if len(numbers) else 0
    return usual, ratings == usual


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


def cohens_kappa(first: NDArray[Any], second: NDArray[Any]) -> Statistic:
    """Cohen's kappa of (U,) labels by two raters."""
    names, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    parts = np.split(codes, 2)
    same = parts[0] == parts[1]

    def of(weights: Floats) -> Floats:
        total = weights.sum(axis=1)
        shares = [weights @ np.eye(len(names))[part] / total[:, None] for part in parts]
        expected, observed = (shares[0] * shares[1]).sum(axis=1), weights @ same / total
        return np.asarray((observed - expected) / np.where(expected < 1, 1 - expected, np.nan))

    return of


def krippendorffs_alpha(table: Floats, values: Floats, level: Level) -> Statistic:
    """Krippendorff's alpha of (U, C) counts of C values, each row with two ratings or more."""
    size = table.sum(axis=1)
    apart = (values[:, None] - values) ** 2
    if level == "nominal":
        apart = np.sign(apart)
    elif level == "ratio":
        sums = values[:, None] + values
        apart /= np.where(sums == 0, 1.0, sums) ** 2
    within_units = ((table @ apart) * table).sum(axis=1) / (size - 1)

    def of(weights: Floats) -> Floats:
        totals = weights @ table
        number = totals.sum(axis=1)
        if level == "ordinal":
            ranks = np.cumsum(totals, axis=1) - totals / 2 - number[:, None] / 2
            pairs = 2 * (size * (ranks**2 @ table.T) - (ranks @ table.T) ** 2)
            within = (weights * pairs / (size - 1)).sum(axis=1)
            squares, sums = (totals * ranks**2).sum(axis=1), (totals * ranks).sum(axis=1)
            between = 2 * (number * squares - sums**2)
        else:
            within, between = weights @ within_units, ((totals @ apart) * totals).sum(axis=1)
        varied = (totals > 0).sum(axis=1) > 1
        return np.asarray(1 - (number - 1) * within / np.where(varied, between, np.nan))

    return of


def estimated(
    statistic: Statistic,
    clusters: NDArray[np.integer[Any]],
    samples: int,
    seed: int,
    confidence: float,
) -> tuple[float, float, float] | None:
    """A statistic and the bounds of its interval, by sampling clusters; None if undefined."""
    if not clusters.size:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        value = float(statistic(np.ones((1, clusters.size)))[0])
    if not np.isfinite(value):
        return None
    return value, *percentile_interval(statistic, clusters, samples, seed, confidence)
