"""Vectors in a file: those that were written, and the same scores as held in memory."""

import gc
import weakref

import numpy as np
import pytest

from adducir.core.errors import UsageError
from adducir.encoders.filed_ranks import filed_ranks
from adducir.encoders.maxsim import MultiVectors, maxsim_packed
from adducir.encoders.ranking import by_maxsim, by_vectors, context_ranks
from adducir.encoders.vector_file import FiledVectors, VectorFile


def drawn(lengths, seed=0, width=24):
    draw = np.random.default_rng(seed)
    return [draw.normal(size=(length, width)).astype(np.float32) for length in lengths]


def filed(of, parts, order):
    found = FiledVectors(of, [len(part) for part in parts])
    for number in order:
        found.put(number, parts[number])
    return found


@pytest.mark.parametrize("products", [1, 700, 1 << 20])
def test_scores_are_those_of_vectors_in_memory_to_the_bit(tmp_path, products):
    file, every = VectorFile(tmp_path), [drawn([3, 0, 7, 1, 30, 5], 1), drawn([2, 9], 2)]
    for key, parts in enumerate(every):
        file[key] = filed(file, parts, reversed(range(len(parts))))
    queries = MultiVectors.of(drawn([4, 6], 3), 24)
    for key, parts in enumerate(every):  # the first ones still stand where they stood
        assert key in file
        whole = MultiVectors.of(parts, 24)
        wanted = maxsim_packed(queries, whole, products=products)
        assert np.array_equal(maxsim_packed(queries, file[key], products=products), wanted)
        some = file[key].rows(1, len(parts))
        assert np.array_equal(some.values, whole.rows(1, len(parts)).values)
        assert np.array_equal(some.starts, whole.rows(1, len(parts)).starts)
    assert 2 not in file
    assert not list(tmp_path.iterdir())


def test_ranks_of_contexts_in_blocks(tmp_path):
    parts, file = drawn([5] * 20, 4), VectorFile(tmp_path)
    contexts, whole = MultiVectors.of(drawn([3] * 9, 5), 24), MultiVectors.of(parts, 24)
    gold, counts = np.arange(9), np.ones(20, dtype=np.int64)
    wanted = context_ranks(by_maxsim(contexts, whole), gold, counts)
    found = context_ranks(
        by_maxsim(contexts, filed(file, parts, range(20))), gold, counts, block=40
    )
    assert np.array_equal(found.ranks, wanted.ranks)


def test_no_vectors_at_all(tmp_path):
    file = VectorFile(tmp_path)
    none = filed(file, [], [])
    assert maxsim_packed(MultiVectors.of(drawn([2]), 24), none).shape == (1, 0)
    empty = filed(file, drawn([0, 0]), [1, 0])
    assert np.all(maxsim_packed(MultiVectors.of(drawn([2]), 24), empty) == -np.inf)


@pytest.mark.parametrize("part", [1, 7, 40, 41])
@pytest.mark.parametrize("block", [1, 30, 1 << 20])
def test_ranks_by_vectors_that_are_read_in_parts(tmp_path, part, block):
    draw = np.random.default_rng(part)
    # Whole numbers, so that many scores tie, and products are the same wherever they are computed.
    vectors = draw.integers(-2, 3, size=(40, 4)).astype(np.float32)
    contexts = draw.integers(-2, 3, size=(13, 4)).astype(np.float32)
    gold, counts = draw.integers(0, 40, size=13), draw.integers(1, 4, size=40)
    found = FiledVectors(VectorFile(tmp_path), np.ones(40, dtype=np.int64))
    for first in range(0, 40, 9):
        found.put(first, vectors[first : first + 9])
    ranks = filed_ranks(contexts, found, gold, counts, block=block, part=part)
    wanted = context_ranks(by_vectors(contexts, vectors), gold, counts)
    for name in ("better", "tied", "candidates", "first"):
        assert np.array_equal(getattr(ranks, name), getattr(wanted, name)), name


def test_ranks_in_parts_refuse_what_ranks_at_once_do(tmp_path):
    vectors = np.ones((5, 2), dtype=np.float32)
    found = FiledVectors(VectorFile(tmp_path), np.ones(5, dtype=np.int64))
    found.put(0, vectors)
    counts = np.ones(5, dtype=np.int64)
    with pytest.raises(UsageError, match="not below 5"):
        filed_ranks(vectors[:1], found, np.array([5]), counts, part=2)
    nan = np.full((1, 2), np.nan, dtype=np.float32)
    with pytest.raises(UsageError, match="not a number"):
        filed_ranks(nan, found, np.array([4]), counts, part=2)
    assert len(filed_ranks(nan[:0], found, np.zeros(0, dtype=int), counts, part=2).ranks) == 0


@pytest.mark.parametrize(("many", "width"), [(4097, 384), (4102, 128)])
def test_equal_vectors_tie_wherever_they_are_read(tmp_path, many, width):
    """The twins of the first vectors would stand in a last part of a few."""
    (vectors,) = drawn([many], 6, width)
    rest = many % 4096
    vectors[-rest:] = vectors[:rest]
    (contexts,) = drawn([150], 7, width)
    gold, counts = np.arange(150) % rest, np.ones(many, dtype=np.int64)
    found = FiledVectors(VectorFile(tmp_path), counts)
    found.put(0, vectors)
    ranks = filed_ranks(contexts, found, gold, counts, part=4096)
    assert ranks.tied.tolist() == [2] * 150


def test_a_file_that_nobody_reads_is_gone_at_once(tmp_path):
    file = VectorFile(tmp_path)
    file[0] = filed(file, drawn([2, 3]), [0, 1])
    handle = file.place.file
    gc.disable()
    try:
        del file
        assert handle.fileno() >= 0  # this test refers to it
        seen = weakref.ref(handle)
        del handle
        assert seen() is None
    finally:
        gc.enable()
