"""Sign vectors for randomisation tests, and samples of topics, in blocks of bounded memory.

A sign vector s of +1 and -1 is held as bits b in {0, 1}, s = 2b - 1, so that the sum
of signed differences is 2 (d . b) - sum(d): one matrix product over the raw bits.
"""

from collections.abc import Iterator

import numpy as np

from adducir.statistics.differences import FloatArray

BLOCK_CELLS = 1 << 22
"""Numbers in one block of bits: 32 MB as float64."""


def block_rows(topics: int, systems: int) -> int:
    """How many sign vectors to take at a time."""
    return max(1, BLOCK_CELLS // max(topics, systems))


def random_bits(seed: int, permutations: int, topics: int, rows: int) -> Iterator[FloatArray]:
    """Fair random bits as float64, in blocks of at most (rows, topics).

    Each vector takes its bits from whole 64-bit words of PCG64's stream, so vector k is
    the same whatever the size of the blocks.
    """
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


def every_half(topics: int, rows: int) -> Iterator[FloatArray]:
    """All 2^(topics - 1) bit vectors whose last bit is 0, in blocks of (rows, topics).

    The other half are their complements, whose sums differ in sign only.
    """
    total = 1 << (topics - 1)
    places = np.arange(topics, dtype=np.uint64)
    for start in range(0, total, rows):
        numbers = np.arange(start, min(start + rows, total), dtype=np.uint64)
        yield ((numbers[:, None] >> places) & np.uint64(1)).astype(np.float64)


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
