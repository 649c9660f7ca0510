"""The per-topic differences that every paired test starts from.

The arithmetic that makes a measure leaves noise in its last bits: 0.3 - 0.2 and
0.2 - 0.1 differ by 3e-17. A rank or sign test would take that noise for evidence,
and a t-test on a constant difference would report p = 1e-48 with a warning. So
differences closer together than :data:`NOISE` times the largest score count as
equal wherever equality matters: in zeros, in tied ranks, in wins and losses, and
in telling whether the differences vary at all.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adducir.core.errors import UsageError

FloatArray = NDArray[np.float64]

NOISE = 1e-12
"""Differences below this share of the largest absolute score are rounding."""


def scores_array(values: ArrayLike, what: str = "the scores") -> FloatArray:
    """One or several rows of per-topic scores as a finite float64 array.

    Args:
        values: Shape (T,) or (K, T), T topics.
        what: How to name the array in an error.

    Returns:
        Shape (K, T); K = 1 for a single row.

    Raises:
        UsageError: Not numbers, not one or two axes, fewer than two topics, NaN or inf.
    """
    try:
        array = np.atleast_2d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise UsageError(f"{what} are not an array of numbers: {error}.") from error
    if array.ndim != 2:
        raise UsageError(f"{what} have {array.ndim} axes; expected topics, or rows of topics.")
    if array.shape[1] < 2:
        raise UsageError(
            f"a paired test needs at least two topics, but there are {array.shape[1]} in {what}.",
            hint="Compare means without a baseline, or evaluate on more topics.",
        )
    if not np.isfinite(array).all():
        row, topic = (int(axis[0]) for axis in np.nonzero(~np.isfinite(array)))
        raise UsageError(
            f"{what} hold {array[row, topic]} at row {row}, topic {topic}; "
            "a test needs a number for every topic."
        )
    return array


def paired_rows(first: ArrayLike, second: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Two arrays of equal shape (K, T), checked as in :func:`scores_array`.

    Raises:
        UsageError: As :func:`scores_array`, or the shapes differ.
    """
    a = scores_array(first, "the first scores")
    b = scores_array(second, "the second scores")
    if a.shape != b.shape:
        raise UsageError(
            f"the scores cannot be paired: {a.shape[1]} topics in {a.shape[0]} rows "
            f"against {b.shape[1]} topics in {b.shape[0]} rows.",
            hint="Evaluate both systems on the same topics.",
        )
    return a, b


def tolerance(first: FloatArray, second: FloatArray) -> FloatArray:
    """Per row of (K, T) scores, the difference that is still rounding noise: shape (K,).

    At least 1e-100, so that squares of what is more than noise do not underflow.
    """
    largest = np.maximum(np.abs(first).max(axis=1), np.abs(second).max(axis=1))
    return np.asarray(np.maximum(NOISE * largest, 1e-100), dtype=np.float64)


def settled(difference: FloatArray, noise: float) -> FloatArray:
    """One row of differences with rounding noise removed.

    Differences within ``noise`` of zero become zero; magnitudes that follow each
    other within ``noise`` become equal, so that ranks tie where they ought to.

    Args:
        difference: Shape (T,).
        noise: From :func:`tolerance`.

    Returns:
        Shape (T,), signs kept.
    """
    magnitude = np.abs(difference)
    order = np.argsort(magnitude, kind="stable")
    ascending = magnitude[order]
    starts = np.diff(ascending, prepend=0.0) > noise
    group = np.cumsum(starts)
    values = np.concatenate(([0.0], ascending[starts]))
    result = np.empty_like(magnitude)
    result[order] = values[group]
    return np.asarray(np.copysign(result, difference), dtype=np.float64)


def constant_rows(difference: FloatArray, noise: FloatArray) -> NDArray[np.bool_]:
    """Which rows of (K, T) differences do not vary beyond noise: shape (K,)."""
    return np.asarray(np.ptp(difference, axis=1) <= 2 * noise, dtype=np.bool_)
