"""Batches by tokens: everything once, within the budget, and never others where memory is short."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import MachineError
from adducir.models.batches import in_order, token_batches


@given(st.lists(st.integers(0, 50)), st.integers(1, 200))
def test_every_item_is_in_one_batch_within_the_budget(lengths, budget):
    batches = token_batches(lengths, budget)
    assert sorted(np.concatenate([*batches, np.array([], int)]).tolist()) == [*range(len(lengths))]
    for batch in batches:
        longest = max(lengths[number] for number in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget or longest == 0
    longest = [max(lengths[number] for number in batch) for batch in batches]
    assert longest == sorted(longest, reverse=True)


OUT_OF_MEMORY = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"),
    MemoryError(),
]


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(("size", "words"), [(8, "8 texts"), (1, "1 text")])
def test_a_batch_that_does_not_fit_is_an_error_and_never_another_batch(error, size, words):
    sizes = []

    def compute(batch):
        sizes.append(len(batch))
        raise error

    with pytest.raises(MachineError, match=rf"a batch of {words}\..*batch_tokens") as caught:
        in_order([5] * size + [2] * 3, compute, tokens=5 * size)
    assert caught.value.exit_code == 4
    assert sizes == [size]
