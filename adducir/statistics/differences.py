"""Differences per topic for paired tests, their rounding, and random draws.

Arithmetic leaves noise in the last bits: 0.3 - 0.2 and 0.2 - 0.1 differ by 3e-17. A rank test would
take it as evidence; a t-test on a constant difference would report p = 1e-48. So differences closer
than :data:`NOISE` times the largest score count as equal wherever equality matters: zeros, tied
ranks, wins and losses, and whether differences vary at all.

A sign vector s of +1 and -1 is stored as bits b in {0, 1}, s = 2b - 1, so that the sum of signed
differences is 2 (d . b) - sum(d): one matrix product with the raw bits.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = NDArray[np.intp]

NOISE = 1e-12
"""Differences below this share of the largest absolute score are rounding."""


def tolerance(first: Floats, second: Floats) -> Floats:
    """(K,) the tolerance for equal scores in (K, T) rows; its square does not underflow."""
    largest = np.maximum(np.abs(first).max(axis=1), np.abs(second).max(axis=1))
    return np.asarray(np.maximum(NOISE * largest, 1e-100))


def settled(difference: Floats, noise: float) -> Floats:
    """(T,) differences without noise: those near 0 become 0, close magnitudes equal."""
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


_CELLS = 1 << 22
"""Numbers in one block of bits: 32 MB as float64."""
CACHED_ROWS = 2048
"""Sums of this many draws fit the processor's first cache."""


def block_rows(topics: int, systems: int) -> int:
    return max(1, _CELLS // max(topics, systems))


def random_bits(seed: int, permutations: int, topics: int, rows: int) -> Iterator[Floats]:
    """Fair random bits in blocks of (rows, topics), the same whatever the blocks' size."""
    generator = np.random.Generator(np.random.PCG64(seed))
    words = -(-topics // 64)
    buffer = np.empty((min(rows, permutations), topics))
    for start in range(0, permutations, rows):
        count = min(rows, permutations - start)
        drawn = generator.integers(0, 2**64, size=(count, words), dtype=np.uint64)
        octets = drawn.astype("<u8", copy=False).view(np.uint8)
        block = buffer[:count]
        np.copyto(block, np.unpackbits(octets, axis=1, count=topics, bitorder="little"))
        yield block


def every_half(topics: int, rows: int) -> Iterator[Floats]:
    """All bit vectors whose last bit is 0; their complements' sums differ only in sign."""
    places = np.arange(topics, dtype=np.uint64)
    for start in range(0, total := 1 << (topics - 1), rows):
        numbers = np.arange(start, min(start + rows, total), dtype=np.uint64)
        yield ((numbers[:, None] >> places) & np.uint64(1)).astype(np.float64)


def sample_counts(seed: int, samples: int, topics: int, rows: int) -> Iterator[Floats]:
    """Blocks of (rows, topics) counts: how often each topic occurs in a draw with replacement."""
    generator = np.random.Generator(np.random.PCG64(seed))
    for start in range(0, samples, rows):
        count = min(rows, samples - start)
        drawn = generator.integers(0, topics, size=(count, topics), dtype=np.int64)
        drawn += topics * np.arange(count)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=count * topics)
        yield counts.reshape(count, topics).astype(np.float64)


def percentile_interval(
    statistic: Callable[[Floats], Floats],
    clusters: NDArray[np.integer[Any]],
    samples: int,
    seed: int,
    level: float,
) -> tuple[float, float]:
    """The percentile bootstrap interval of a statistic (Efron and Tibshirani 1993, ch. 13).

    ``statistic`` maps (B, U) counts of how often each unit is drawn to (B,) values, NaN if
    undefined; units of the same one of the (U,) ``clusters`` are drawn together.
    """
    _, members = np.unique(clusters, return_inverse=True)
    rows = max(1, _CELLS // (2 * members.size))
    with one_thread(), np.errstate(invalid="ignore", divide="ignore"):
        drawn = sample_counts(seed, samples, int(members.max()) + 1, rows)
        values = np.concatenate([statistic(counts[:, members]) for counts in drawn])
    defined = values[np.isfinite(values)]
    if not defined.size:
        return np.nan, np.nan
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def reached_by_largest(
    sums: Floats, first: Rows, second: Rows, scale: Floats, bounds: Floats
) -> Floats:
    """(K,) in how many of N draws, (S, N), a pair from the k-th on reaches the k-th bound."""
    return _compiled(_count_reached)(sums, first, second, scale, bounds)


def _count_reached(
    sums: Floats, first: Rows, second: Rows, scale: Floats, bounds: Floats
) -> Floats:
    counts = np.zeros(first.size)
    largest = np.zeros(sums.shape[1])
    for k in range(first.size - 1, -1, -1):
        a, b, factor, bound = sums[first[k]], sums[second[k]], scale[k], bounds[k]
        reached = 0
        for n in range(largest.size):
            gap = abs(a[n] - b[n]) * factor
            most = largest[n] if largest[n] > gap else gap
            largest[n] = most
            reached += most >= bound
        counts[k] = reached
    return counts


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    import numba

    try:
        compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # it cannot write to any folder
        compiled = numba.njit(nogil=True)(function)
    return compiled


def one_thread() -> AbstractContextManager[Any]:
    """One thread for BLAS: on busy cores, several take 35 ms for these products instead of 0.8."""
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()
