"""Batches of texts by the tokens they take once padded, so that memory is bounded."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import MachineError, is_out_of_memory

if TYPE_CHECKING:
    import torch

CPU_TOKENS = 2048
"""Padded tokens in a batch on a CPU. A layer's states then stay in its cache: with four times as
many MiniLM takes a quarter longer (benchmarks/encoding.py)."""
DEVICE_TOKENS = 16384
"""Padded tokens in a batch on a GPU, which many tokens keep busy."""


def token_batches(
    lengths: Sequence[int] | NDArray[np.integer[Any]],
    budget: int | None = None,
    device: "torch.device | None" = None,
) -> list[NDArray[np.int64]]:
    """The numbers of items in batches of like length, longest first.

    A batch of n items whose longest has m tokens takes n * m <= ``budget`` tokens (by default what
    suits the device); a longer item is a batch of its own. With the longest first, memory that does
    not suffice shows at once.
    """
    budget = budget or tokens_for(device)
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    batches, start = [], 0
    while start < len(order):
        most = max(1, budget // max(1, int(sizes[order[start]])))
        batches.append(order[start : start + most])
        start += most
    return batches


def tokens_for(device: "torch.device | None" = None) -> int:
    """Padded tokens in a batch that suit a device."""
    return CPU_TOKENS if device is None or device.type == "cpu" else DEVICE_TOKENS


def shuffled_batches(
    lengths: Sequence[int] | NDArray[np.integer[Any]], size: int, seed: int
) -> list[NDArray[np.int64]]:
    """Cut items into batches of ``size`` in random order, items of like length together.

    The items are shuffled, each run of 32 batches is sorted by length and cut (its last batch
    may be smaller), and the batches are shuffled. So any two items can still meet.
    """
    draw = np.random.default_rng(seed)
    sizes = np.asarray(lengths, dtype=np.int64)
    order = draw.permutation(len(sizes))
    batches: list[NDArray[np.int64]] = []
    for start in range(0, len(order), 32 * size):
        run = order[start : start + 32 * size]
        run = run[np.argsort(sizes[run], kind="stable")]
        batches += [run[first : first + size] for first in range(0, len(run), size)]
    return [batches[number] for number in draw.permutation(len(batches))]


def padded(
    batch: Sequence[NDArray[np.int64]], filler: int, device: "torch.device"
) -> "tuple[torch.Tensor, torch.Tensor]":
    """Ids with ``filler`` behind the shorter ones, and their mask: int64, (inputs, longest)."""
    import torch

    longest = max((len(one) for one in batch), default=0)
    ids = np.full((len(batch), longest), filler, dtype=np.int64)
    mask = np.zeros((len(batch), longest), dtype=np.int64)
    for row, one in enumerate(batch):
        ids[row, : len(one)] = one
        mask[row, : len(one)] = 1
    return torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device)


def in_order(
    lengths: Sequence[int] | NDArray[np.integer[Any]],
    compute: Callable[[NDArray[np.int64]], Sequence[Any] | NDArray[Any]],
    *,
    tokens: int | None = None,
    device: "torch.device | None" = None,
) -> list[Any]:
    """The results of items, computed in batches of like length and put back in the items' order.

    Args:
        lengths: Tokens of each item.
        compute: Gives the results of the items with some numbers.
        tokens: Padded tokens in a batch; figures depend on batches in their last digits.
    """
    found: list[Any] = [None] * len(lengths)
    for numbers in token_batches(lengths, tokens, device):
        try:
            results = compute(numbers)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            texts = "1 text" if len(numbers) == 1 else f"{len(numbers):,} texts"
            raise MachineError(
                f"not enough memory for a batch of {texts}.",
                hint="Take smaller batches for all of the work (batch_tokens, where the "
                "command has it), fewer --workers, or a machine with more memory.",
            ) from error
        for number, result in zip(numbers.tolist(), results, strict=True):
            found[number] = result
    return found


def batch_rule(budget: int | None) -> dict[str, int]:
    """What batches are cut by, for fingerprints: padded tokens by the type of device."""
    return {"cpu": budget or CPU_TOKENS, "device": budget or DEVICE_TOKENS}
