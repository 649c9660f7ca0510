"""Training on several processes, of one machine or of many: synchronous data parallelism.

``torchrun`` (torch's elastic launcher) starts the processes; each has a copy of the model, and
computes its share of every batch. Losses and gradients are added up over the processes and divided
by the number of losses in the whole batch, so that a step is that of one process, to rounding, also
where processes have losses of different numbers (words of passages), or none: a batch need not
divide evenly. Torch's DistributedDataParallel (Li et al., 2020) divides by the number of processes
instead, and must know of every parameter that has no gradient.

The first process alone writes. All others read the examples and the snapshots that it wrote, so
that machines must share the folder of the model.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from adducir.core.errors import AdducirError, MachineError, UsageError

if TYPE_CHECKING:
    import torch

_BUCKET = 1 << 23
"""Numbers of the gradient that are added up at a time."""
_LONGEST = timedelta(days=30)
"""How long a process waits for the others: the first may prepare examples for hours. One that ends
is noticed at once, by its connection or by the launcher."""
_SET = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")

T = TypeVar("T")


@dataclass(frozen=True)
class Processes:
    """The processes of a training, as seen from one of them.

    Attributes:
        rank: Which one this is, from 0.
        count: How many there are.
    """

    rank: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the one that writes."""
        return self.rank == 0

    def share(self, batch: Any) -> Any:
        """This process's part of a batch: parts follow one another, and differ by one at most."""
        if self.count == 1:
            return batch
        first, end = (len(batch) * rank // self.count for rank in (self.rank, self.rank + 1))
        return batch[first:end]

    def every(self, items: Sequence[T]) -> Sequence[T]:
        """Those of some items that this process takes: every ``count``-th."""
        return items[self.rank :: self.count]

    def broadcast(self, value: T) -> T:
        """What the first process gives; the others' values are ignored."""
        if self.count == 1:
            return value
        import torch.distributed as dist

        held = [value]
        with explained():
            dist.broadcast_object_list(held, src=0)
        return held[0]

    def all_of(self, value: T) -> list[T]:
        """What every process gives, by rank."""
        if self.count == 1:
            return [value]
        import torch.distributed as dist

        found: list[Any] = [None] * self.count
        with explained():
            dist.all_gather_object(found, value)
        return found

    def summed(self, *values: float) -> list[float]:
        """The sums of some numbers over all processes, the same in each."""
        if self.count == 1:
            return [*values]
        import torch
        import torch.distributed as dist

        held = torch.tensor(values, dtype=torch.float64)
        with explained():
            dist.all_reduce(held)
        return [float(one) for one in held]

    def add_up(self, model: "torch.nn.Module", total: float, losses: int) -> tuple[float, int]:
        """Add up gradients, losses and their number over all processes.

        A parameter that has a gradient in no process is left without one.

        Returns:
            The sum of all losses, and how many these are.
        """
        if self.count == 1:
            return total, losses
        trained = [one for one in model.parameters() if one.requires_grad]
        total, count, *found = self.summed(
            total, losses, *(one.grad is not None for one in trained)
        )
        _add_up_gradients([one for one, any_has in zip(trained, found, strict=True) if any_has])
        return total, int(count)

    @contextmanager
    def agreeing(self) -> Iterator[None]:
        """Run a block in every process; where it fails in one, it fails in all.

        Raises:
            AdducirError: What the block raised here; or, where it went well here, a
                :class:`MachineError` with what another process raised.
        """
        try:
            yield
        except Exception as error:
            self.all_of(shown(error))
            raise
        self.refuse(self.all_of(None))

    def refuse(self, errors: Sequence[str | None]) -> None:
        """Raise what other processes report, if they report anything.

        Raises:
            MachineError: One has an error.
        """
        for rank, error in enumerate(errors):
            if error is not None:
                raise PeerStoppedError(f"process {rank} of {self.count} stopped: {error}")


class PeerStoppedError(MachineError):
    """Another process of the training stopped, and says why; this one cannot go on."""


ALONE = Processes()


def current() -> Processes:
    """The processes that have joined; one where nothing was joined."""
    import torch.distributed as dist

    if not (dist.is_available() and dist.is_initialized()):
        return ALONE
    return Processes(dist.get_rank(), dist.get_world_size())


def is_launched() -> bool:
    """Whether a launcher such as torchrun started this process as one of several."""
    return all(name in os.environ for name in _SET) and os.environ["WORLD_SIZE"] != "1"


def is_first_launched() -> bool:
    """Whether no launcher started this process, or as the first of its processes."""
    return not is_launched() or os.environ["RANK"] == "0"


@contextmanager
def joined(device: "torch.device") -> Iterator[Processes]:
    """Join the other processes that a launcher started, for the block; or be alone.

    Gloo connects processors, NCCL connects GPUs. A group that the caller made is taken as it is; it
    must have gloo for tensors on processors.

    Args:
        device: Where this process computes.

    Raises:
        MachineError: The others cannot be reached.
    """
    import torch.distributed as dist

    if not is_launched() or dist.is_initialized():
        yield current()
        return
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    try:
        dist.init_process_group(backend, timeout=_LONGEST)
    except (RuntimeError, ValueError) as error:
        raise MachineError(
            f"the processes of this training cannot reach one another: {error}",
            hint="Run this again; or, where you start the processes yourself, use torchrun, which "
            "sets RANK, WORLD_SIZE, MASTER_ADDR and the rest.",
        ) from error
    try:
        yield current()
    except BaseException:
        # NCCL would wait for those that wait for this one; the launcher ends them.
        if device.type != "cuda":
            dist.destroy_process_group()
        raise
    dist.destroy_process_group()


def device_here(device: "torch.device") -> "torch.device":
    """The device of this process: of several GPUs each process has its own.

    Raises:
        UsageError: There are more processes on this machine than GPUs.
    """
    import torch

    if f"{device}" != "cuda" or not is_launched():
        return device
    place, there = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
    if place >= there:
        raise UsageError(
            f"process {place} of this machine has no GPU: there are {there}.",
            hint="Start as many processes as there are GPUs, or take `--device cpu`.",
        )
    torch.cuda.set_device(place)
    return torch.device("cuda", place)


def shown(error: BaseException) -> str:
    """An error in a paragraph, for other processes."""
    if isinstance(error, AdducirError):
        return error.paragraph()
    return f"{type(error).__name__}: {error}"


def _add_up_gradients(parameters: "Sequence[torch.nn.Parameter]") -> None:
    """Put the sum over all processes in the place of each gradient, some at a time."""
    import torch
    import torch.distributed as dist

    for bucket in _buckets(parameters):
        grads = [torch.zeros_like(one) if one.grad is None else one.grad for one in bucket]
        flat = torch.cat([grad.reshape(-1) for grad in grads])
        with explained():
            dist.all_reduce(flat)
        first = 0
        for one in bucket:
            one.grad = flat[first : first + one.numel()].view_as(one).clone()
            first += one.numel()


def _buckets(parameters: "Sequence[torch.nn.Parameter]") -> "list[list[torch.nn.Parameter]]":
    """Parameters of one type and device, about so many numbers together."""
    buckets: list[list[torch.nn.Parameter]] = []
    held = 0
    kind: tuple[Any, Any] | None = None
    for one in parameters:
        if held >= _BUCKET or kind != (one.dtype, one.device):
            held, kind = 0, (one.dtype, one.device)
            buckets.append([])
        buckets[-1].append(one)
        held += one.numel()
    return buckets


@contextmanager
def explained() -> Iterator[None]:
    """Say what a broken connection means."""
    try:
        yield
    except RuntimeError as error:
        raise PeerStoppedError(
            "another process of this training stopped.",
            hint="Its own message says why, unless it was killed. Start the training again: it "
            "goes on from its last snapshot.",
        ) from error
