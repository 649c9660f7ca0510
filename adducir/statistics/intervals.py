"""Bootstrap intervals of a mean difference, bias-corrected and accelerated (BCa).

Efron 1987; Efron and Tibshirani 1993, section 14.3. They need no normality and, unlike
the t interval, need not be symmetric.
"""

import numpy as np
from numpy.typing import ArrayLike

from adducir.statistics.blas import one_thread
from adducir.statistics.choices import DEFAULT_SAMPLES, DEFAULT_SEED
from adducir.statistics.differences import FloatArray, constant_rows, paired_rows, tolerance
from adducir.statistics.effects import check_share
from adducir.statistics.signs import block_rows
from adducir.statistics.tests.bootstrap import sample_counts
from adducir.statistics.tests.randomisation import check_draws

ROWS_AT_ONCE = 256
"""Rows whose sample means are held in memory together."""


def bca_rows(
    first: ArrayLike,
    second: ArrayLike,
    *,
    level: float = 0.95,
    samples: int = DEFAULT_SAMPLES,
    seed: int = DEFAULT_SEED,
) -> FloatArray:
    """BCa intervals of the mean differences of the rows of two (K, T) arrays.

    A constant difference gives an interval of no width.

    Args:
        first: Scores of the systems.
        second: Scores of what each is compared with, on the same topics.
        level: Confidence level.
        samples: Samples to draw, the same ones for all rows.
        seed: Seed of the draw.

    Returns:
        Lower and upper ends, shape (K, 2), in units of the measure.

    Raises:
        UsageError: The scores cannot be paired, or an option makes no sense.
    """
    check_share(level, "the confidence level")
    check_draws(samples, seed, "samples")
    a, b = paired_rows(first, second)
    difference = a - b
    ends = np.repeat(difference.mean(axis=1)[:, None], 2, axis=1)
    varying = np.flatnonzero(~constant_rows(difference, tolerance(a, b)))
    for start in range(0, varying.size, ROWS_AT_ONCE):
        rows = varying[start : start + ROWS_AT_ONCE]
        ends[rows] = _bca(difference[rows], level, samples, seed)
    return ends


def _bca(difference: FloatArray, level: float, samples: int, seed: int) -> FloatArray:
    """BCa intervals, shape (K, 2), of differences (K, T) that vary."""
    from scipy.special import ndtr, ndtri

    rows, topics = difference.shape
    blocks = sample_counts(seed, samples, topics, block_rows(topics, rows))
    with one_thread():
        means = np.concatenate([difference @ block.T for block in blocks], axis=1) / topics
    observed = difference.mean(axis=1, keepdims=True)
    below = ((means < observed).sum(axis=1) + (means <= observed).sum(axis=1)) / (2 * samples)
    bias = ndtri(np.clip(below, 0.5 / samples, 1 - 0.5 / samples))
    centred = difference - observed
    acceleration = (centred**3).sum(axis=1) / (6 * (centred**2).sum(axis=1) ** 1.5)
    ends = np.empty((rows, 2))
    for side, share in enumerate(((1 - level) / 2, (1 + level) / 2)):
        z = bias + ndtri(share)
        shares = ndtr(bias + z / (1 - acceleration * z))
        ends[:, side] = [np.quantile(row, cut) for row, cut in zip(means, shares, strict=True)]
    return ends


def bca_interval(
    first: ArrayLike,
    second: ArrayLike,
    *,
    level: float = 0.95,
    samples: int = DEFAULT_SAMPLES,
    seed: int = DEFAULT_SEED,
) -> tuple[float, float]:
    """:func:`bca_rows` of two systems' scores, each of shape (T,)."""
    low, high = bca_rows(first, second, level=level, samples=samples, seed=seed)[0]
    return float(low), float(high)
