"""What learners of examples share whose losses add up: the batches, and the mean of the losses."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from adducir.models.batches import shuffled_batches, token_batches
from adducir.models.machine import device_of, seed_of

if TYPE_CHECKING:
    import torch


class Examples(Protocol):
    """Examples as a network reads them.

    Attributes:
        lengths: Tokens of each.
    """

    lengths: list[int]


Lesson = TypeVar("Lesson", bound=Examples)


class ExampleLearner(ABC, Generic[Lesson]):
    """Training examples, held-out examples, and batches of them by number.

    Args:
        model: The network.
        lesson: The training examples.
        held_out: The held-out ones; there may be none.
        batch_size: Examples a step.
        seed: Of their order.
        tokens: Padded tokens of held-out examples that are computed at a time.
    """

    def __init__(
        self,
        model: "torch.nn.Module",
        lesson: Lesson,
        held_out: Lesson,
        *,
        batch_size: int,
        seed: int,
        tokens: int | None = None,
    ) -> None:
        self.model = model
        self._lesson, self._held_out = lesson, held_out
        self._batch_size, self._seed, self._tokens = batch_size, seed, tokens

    def batches(self, epoch: int) -> Sequence[NDArray[np.int64]]:
        """The numbers of the examples of each step."""
        seed = seed_of(self._seed, "epoch", epoch)
        return shuffled_batches(self._lesson.lengths, self._batch_size, seed)

    def size(self, batch: NDArray[np.int64]) -> int:
        """How many examples a batch has."""
        return len(batch)

    def loss(self, batch: NDArray[np.int64]) -> "torch.Tensor":
        """The mean of a batch's losses."""
        total, count = self._losses(self._lesson, batch)
        return total / max(count, 1)

    def validate(self) -> float | None:
        """The mean of all held-out losses."""
        if not self._held_out.lengths:
            return None
        loss, losses = 0.0, 0
        for batch in token_batches(self._held_out.lengths, self._tokens, device_of(self.model)):
            total, count = self._losses(self._held_out, batch)
            loss, losses = loss + float(total), losses + count
        return loss / max(losses, 1)

    @abstractmethod
    def _losses(self, lesson: Lesson, batch: NDArray[np.int64]) -> "tuple[torch.Tensor, int]":
        """The sum of the losses of some examples, and how many losses these are."""
