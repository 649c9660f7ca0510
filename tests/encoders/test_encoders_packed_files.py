"""Vectors in files: those that were written, and the same scores as held in memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adducir.core.errors import UsageError
from adducir.encoders.filed_ranks import filed_ranks
from adducir.encoders.maxsim import MultiVectors, maxsim_packed
from adducir.encoders.packed_files import PackedFiles, PackedPart, PackedRun, write_packed
from adducir.encoders.ranking import by_vectors, context_ranks


def drawn(lengths, seed=0, width=24):
    draw = np.random.default_rng(seed)
    return [draw.normal(size=(length, width)).astype(np.float32) for length in lengths]


def filed(folder, parts, size=4, seed=0):
    """Blocks of so many texts, each in one to three files, in any order; two blocks share one."""
    draw = np.random.default_rng(seed)
    blocks, before = [], []
    for first in range(0, len(parts), size):
        some = draw.permutation(min(size, len(parts) - first))
        blocks.append([])
        for number, places in enumerate(np.array_split(some, draw.integers(1, 4))):
            path, shift = folder / f"{seed}-{first}-{number}", 0
            texts = [(int(place), parts[first + place]) for place in places]
            if before and draw.random() < 0.5:  # behind one that is written already
                path, old, shift = before.pop()
                texts = old + [(shift + place, vectors) for place, vectors in texts]
            write_packed(path, iter(texts))
            before.append((path, texts, shift + size))
            blocks[-1].append(PackedPart(path, shift, shift + size))
    return PackedFiles(blocks, size)


def packed(folder, vectors, size=9):
    """One vector for each text."""
    found = filed(folder, [row[None] for row in vectors], size)
    return PackedRun(found, 0, len(vectors))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=23), st.integers(1, 9), st.integers(0, 999), st.data())
def test_what_was_written_is_read_wherever_it_lies(tmp_path_factory, lengths, size, seed, data):
    folder = tmp_path_factory.mktemp("packed")
    parts = drawn(lengths, seed, 3)
    found, whole = filed(folder, parts, size, seed), MultiVectors.of(parts, 3)
    assert np.array_equal(found.starts, whole.starts)
    for _ in range(5):
        first = data.draw(st.integers(0, len(parts)))
        last = data.draw(st.integers(first, len(parts)))
        some, wanted = found.rows(first, last), whole.rows(first, last)
        assert np.array_equal(some.starts, wanted.starts)
        assert some.values.tobytes() == wanted.values.tobytes()
        of_run = PackedRun(found, first, last - first)
        assert of_run.rows(0, len(of_run)).values.tobytes() == wanted.values.tobytes()


@pytest.mark.parametrize("products", [1, 700, 1 << 20])
def test_scores_are_those_of_vectors_in_memory_to_the_bit(tmp_path, products):
    parts = drawn([3, 0, 7, 1, 30, 5], 1)
    queries = MultiVectors.of(drawn([4, 6], 3), 24)
    wanted = maxsim_packed(queries, MultiVectors.of(parts, 24), products=products)
    for seed in range(5):
        found = filed(tmp_path, parts, 1 + seed, seed)
        assert np.array_equal(maxsim_packed(queries, found, products=products), wanted)


def test_a_file_that_was_cut_off_is_named(tmp_path):
    found = filed(tmp_path, drawn([3, 4]), 2, seed=4)
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(OSError, match="was cut off"):
        found.rows(0, 2)


def test_no_vectors_at_all(tmp_path):
    assert maxsim_packed(MultiVectors.of(drawn([2]), 24), PackedFiles([], 4)).shape == (1, 0)
    empty = filed(tmp_path, drawn([0, 0]))
    assert np.all(maxsim_packed(MultiVectors.of(drawn([2]), 24), empty) == -np.inf)


@pytest.mark.parametrize("part", [1, 7, 40, 41])
@pytest.mark.parametrize("block", [1, 30, 1 << 20])
def test_ranks_by_vectors_that_are_read_in_parts(tmp_path, part, block):
    draw = np.random.default_rng(part)
    # Whole numbers, so that many scores tie, and products are the same wherever they are computed.
    vectors = draw.integers(-2, 3, size=(40, 4)).astype(np.float32)
    contexts = draw.integers(-2, 3, size=(13, 4)).astype(np.float32)
    gold, counts = draw.integers(0, 40, size=13), draw.integers(1, 4, size=40)
    ranks = filed_ranks(contexts, packed(tmp_path, vectors), gold, counts, block=block, part=part)
    wanted = context_ranks(by_vectors(contexts, vectors), gold, counts)
    for name in ("better", "tied", "candidates", "first"):
        assert np.array_equal(getattr(ranks, name), getattr(wanted, name)), name


def test_ranks_in_parts_refuse_what_ranks_at_once_do(tmp_path):
    vectors = np.ones((5, 2), dtype=np.float32)
    found = packed(tmp_path, vectors)
    counts = np.ones(5, dtype=np.int64)
    with pytest.raises(UsageError, match="not below 5"):
        filed_ranks(vectors[:1], found, np.array([5]), counts, part=2)
    nan = np.full((1, 2), np.nan, dtype=np.float32)
    with pytest.raises(UsageError, match="not a number"):
        filed_ranks(nan, found, np.array([4]), counts, part=2)
    assert len(filed_ranks(nan[:0], found, np.zeros(0, dtype=int), counts, part=2).ranks) == 0
