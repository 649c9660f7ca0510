"""The paired bootstrap test, studentised, for one pair of systems or many at once.

Efron and Tibshirani 1993, algorithm 16.2, as Sakai (SIGIR 2006) applies it to retrieval
runs: the differences are shifted to mean zero, topics are drawn from them with
replacement, and |t| of each sample is held against the observed |t|. p is
(c + 1) / (n + 1) for c of n samples at least as extreme (Davison and Hinkley 1997), where
Sakai writes c / n. A sample without variance has an infinite t, or 0 where its mean is 0.
"""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from adducir.statistics.blas import one_thread
from adducir.statistics.differences import FloatArray, paired_rows, tolerance
from adducir.statistics.outcome import TestResult
from adducir.statistics.signs import block_rows
from adducir.statistics.tests.base import DEFAULT_SAMPLES, DEFAULT_SEED, SignificanceTest
from adducir.statistics.tests.randomisation import check_draws
from adducir.statistics.tests.student import t_values


class Bootstrap(SignificanceTest):
    """The paired studentised bootstrap test."""

    title: ClassVar = "paired studentised bootstrap test"
    draws: ClassVar = "samples"
    samples: int = Field(DEFAULT_SAMPLES, ge=1, description="Samples to draw.")
    seed: int = Field(DEFAULT_SEED, ge=0, description="Seed of the draw.")

    def rows(self, first: FloatArray, second: FloatArray) -> list[TestResult]:
        """See :func:`bootstrap_rows`."""
        return bootstrap_rows(first, second, samples=self.samples, seed=self.seed)


def sample_counts(seed: int, samples: int, topics: int, rows: int) -> Iterator[FloatArray]:
    """How often each topic is drawn, in blocks of at most (rows, topics).

    Each of ``samples`` rows holds ``topics`` draws with replacement from PCG64's stream.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    for start in range(0, samples, rows):
        count = min(rows, samples - start)
        drawn = generator.integers(0, topics, size=(count, topics), dtype=np.int64)
        drawn += topics * np.arange(count)[:, None]
        yield (
            np.bincount(drawn.ravel(), minlength=count * topics)
            .reshape(count, topics)
            .astype(np.float64)
        )


def bootstrap_rows(
    first: ArrayLike,
    second: ArrayLike,
    *,
    samples: int = DEFAULT_SAMPLES,
    seed: int = DEFAULT_SEED,
) -> list[TestResult]:
    """:func:`bootstrap` for each row of two (K, T) arrays, by shared samples.

    Raises:
        UsageError: The scores cannot be paired, or ``samples`` or ``seed`` is wrong.
    """
    a, b = paired_rows(first, second)
    check_draws(samples, seed, "samples")
    topics = a.shape[1]
    difference, noise = a - b, tolerance(a, b)
    statistics, ps = t_values(difference, noise)
    ps[np.abs(difference.mean(axis=1)) <= noise] = 1.0
    varying = np.flatnonzero(np.isfinite(statistics) & (ps < 1.0))
    if varying.size:
        some = difference[varying], noise[varying], statistics[varying]
        with one_thread():
            counts = _extremes(*some, samples, seed)
        ps[varying] = (counts + 1.0) / (samples + 1.0)
    return [
        TestResult(
            "bootstrap",
            float(t),
            float(p),
            topics,
            topics,
            "bootstrap" if np.isfinite(t) else "exact",
            samples if np.isfinite(t) else None,
            seed if np.isfinite(t) else None,
            degenerate=bool(np.isinf(t)),
        )
        for t, p in zip(statistics, ps, strict=True)
    ]


def _extremes(
    difference: FloatArray, noise: FloatArray, observed: FloatArray, samples: int, seed: int
) -> FloatArray:
    """How many samples of each of (K, T) shifted rows have |t| >= |observed|: (K,)."""
    rows, topics = difference.shape
    shifted = difference - difference.mean(axis=1, keepdims=True)
    squared = np.square(shifted)
    counts = np.zeros(rows)
    limit = np.abs(observed)[:, None] * (1.0 - 1e-12)
    flat = np.square(noise)[:, None]
    for drawn in sample_counts(seed, samples, topics, block_rows(topics, rows)):
        mean = (shifted @ drawn.T) / topics
        variance = (squared @ drawn.T) / topics - np.square(mean)
        error = np.sqrt(np.where(variance > flat, variance, 0.0) / (topics - 1))
        magnitude = np.abs(mean)
        counts += ((magnitude >= limit * error) & (magnitude > noise[:, None])).sum(axis=1)
    return counts


def bootstrap(
    first: ArrayLike,
    second: ArrayLike,
    *,
    samples: int = DEFAULT_SAMPLES,
    seed: int = DEFAULT_SEED,
) -> TestResult:
    """Paired bootstrap test of two systems' scores, each of shape (T,).

    Args:
        first: Scores of the first system.
        second: Scores of the second system on the same topics.
        samples: Samples to draw.
        seed: Seed of the draw.

    Raises:
        UsageError: The scores cannot be paired, or ``samples`` or ``seed`` is wrong.
    """
    return bootstrap_rows(first, second, samples=samples, seed=seed)[0]
