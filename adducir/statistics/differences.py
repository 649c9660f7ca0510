"""The differences per topic that every paired test starts from, and what of them is rounding.

The arithmetic of a measure leaves noise in its last bits: 0.3 - 0.2 and 0.2 - 0.1 differ by 3e-17.
A rank test would take it for evidence, a t-test on a constant difference would report p = 1e-48. So
differences closer together than :data:`NOISE` times the largest score count as equal wherever
equality matters: zeros, tied ranks, wins and losses, and whether differences vary at all.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = NDArray[np.intp]

NOISE = 1e-12
"""Differences below this share of the largest absolute score are rounding."""


def tolerance(first: Floats, second: Floats) -> Floats:
    """(K,) how far scores of (K, T) rows may differ and be equal; its square does not underflow."""
    largest = np.maximum(np.abs(first).max(axis=1), np.abs(second).max(axis=1))
    return np.asarray(np.maximum(NOISE * largest, 1e-100))


def settled(difference: Floats, noise: float) -> Floats:
    """(T,) differences without noise: those within it of 0 are 0, magnitudes within it equal."""
    magnitude = np.abs(difference)
    order = np.argsort(magnitude, kind="stable")
    ascending = magnitude[order]
    starts = np.diff(ascending, prepend=0.0) > noise
    values = np.concatenate(([0.0], ascending[starts]))
    result = np.empty_like(magnitude)
    result[order] = values[np.cumsum(starts)]
    return np.asarray(np.copysign(result, difference))


def constant_rows(difference: Floats, noise: Floats) -> Flags:
    """(K,) which rows of (K, T) differences do not vary beyond noise."""
    return np.asarray(np.ptp(difference, axis=1) <= 2 * noise)
