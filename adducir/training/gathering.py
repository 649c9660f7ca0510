"""Vectors of all processes in each of them, with the gradient that flows back.

In-batch negatives are the items of the whole batch, of which each process computes a share
(section 3.2 of CLIP, Radford et al., 2021, has it so; DPR gathers over GPUs without the gradient).
Every process's loss depends on every item, so that an item's gradient is the sum over processes.
"""

from typing import Any

import torch
import torch.distributed as dist

from adducir.training.processes import current, explained


def gathered(own: torch.Tensor) -> tuple[torch.Tensor, int]:
    """The rows of all processes, by rank, and the number of the first of this process's.

    Every process must call this the same number of times, also one without rows, and must take
    part in the backward pass.

    Args:
        own: (n, ...) the rows of this process; n may differ between processes, and be 0, where the
            other sizes do not matter.
    """
    processes = current()
    if processes.count == 1:
        return own, 0
    sizes = processes.all_of((tuple(own.shape), own.dtype))
    rows = [shape[0] for shape, _ in sizes]
    some = next(((shape[1:], dtype) for shape, dtype in sizes if shape[0]), None)
    if some is None:
        return own, 0
    if not len(own):
        own = torch.zeros((0, *some[0]), dtype=some[1], device=own.device, requires_grad=True)
    found: torch.Tensor = _Gather.apply(own, rows, processes.rank)  # type: ignore[no-untyped-call]
    return found, sum(rows[: processes.rank])


class _Gather(torch.autograd.Function):
    """Rows of all processes; back goes the sum of all processes' gradients."""

    @staticmethod
    def forward(ctx: Any, own: torch.Tensor, rows: list[int], rank: int) -> torch.Tensor:
        """All rows. What is sent is padded to the most that a process has."""
        ctx.place = sum(rows[:rank]), rows[rank]
        padded = own.new_zeros((max(rows), *own.shape[1:]))
        padded[: len(own)] = own
        parts = [torch.empty_like(padded) for _ in rows]
        with explained():
            dist.all_gather(parts, padded)
        return torch.cat([part[:count] for part, count in zip(parts, rows, strict=True)])

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        """This process's rows of the summed gradient."""
        whole = grads[0].contiguous().clone()
        with explained():
            dist.all_reduce(whole)
        first, count = ctx.place
        return whole[first : first + count], None, None
