"""Batches by tokens: everything once, within the budget, and smaller where memory does not do."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from adducir.models.batches import CPU_TOKENS, DEVICE_TOKENS, computed, token_batches


@given(st.lists(st.integers(0, 50)), st.integers(1, 200))
def test_every_item_is_in_one_batch_within_the_budget(lengths, budget):
    batches = token_batches(lengths, budget)
    assert sorted(np.concatenate([*batches, np.array([], int)]).tolist()) == [*range(len(lengths))]
    for batch in batches:
        longest = max(lengths[number] for number in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget or longest == 0
    longest = [max(lengths[number] for number in batch) for batch in batches]
    assert longest == sorted(longest, reverse=True)


def test_the_order_of_equals_is_kept():
    assert [batch.tolist() for batch in token_batches([3, 5, 3, 5], 10)] == [[1, 3], [0, 2]]


def test_a_batch_that_does_not_fit_is_halved_and_later_ones_with_it():
    sizes = []

    def compute(batch):
        sizes.append(len(batch))
        if len(batch) > 3:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")
        return batch * 10

    batches = [np.arange(8), np.arange(8, 12)]
    found = dict(
        pair
        for batch, result in computed(batches, compute)
        for pair in zip(batch, result, strict=True)
    )
    assert found == {number: number * 10 for number in range(12)}
    assert sizes == [8, 4, 2, 2, 2, 2, 2, 2]


def test_a_single_item_that_does_not_fit_is_an_error():
    def compute(batch):
        raise MemoryError

    with pytest.raises(MemoryError):
        list(computed([np.arange(4)], compute))


def test_other_errors_pass():
    def compute(batch):
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        list(computed([np.arange(4)], compute))


def test_batches_are_as_large_as_suits_the_device():
    lengths = [512] * 100
    assert max(map(len, token_batches(lengths))) == CPU_TOKENS // 512
    assert max(map(len, token_batches(lengths, device=torch.device("cpu")))) == CPU_TOKENS // 512
    gpu = token_batches(lengths, device=torch.device("cuda"))
    assert max(map(len, gpu)) == DEVICE_TOKENS // 512
    assert max(map(len, token_batches(lengths, 1024, torch.device("cuda")))) == 2
