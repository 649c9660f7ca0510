"""Vectors in a file: those that were written, and the same scores as held in memory."""

import numpy as np
import pytest

from adducir.encoders.maxsim import MultiVectors, maxsim_packed
from adducir.encoders.ranking import by_maxsim, context_ranks
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
