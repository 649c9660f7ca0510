"""What a kind of model brings to a training: network, examples, loss, validation, its words."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adducir.models.batches import shuffled_batches, token_batches
from adducir.models.machine import device_of, seed_of
from adducir.training.card import Card
from adducir.training.preparation import Preparation
from adducir.training.processes import current
from adducir.training.recipe import TrainingRecipe
from adducir.training.store import Array, Numbers, Store

if TYPE_CHECKING:
    import torch

TRAINING, HELD_OUT = "training", "held-out"
"""The parts of the examples."""


class Examples:
    """Some of a store's examples, by their place among these.

    Attributes:
        store: The store.
        numbers: (n,) their numbers in it.
    """

    def __init__(self, store: Store, numbers: Numbers) -> None:
        self.store, self.numbers = store, numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, places: Numbers) -> list[dict[str, Array]]:
        return [self.store.get(number) for number in self.numbers[places]]

    def lengths(self, name: str) -> Numbers:
        """(n,) how long each one's array of a name is."""
        return self.store.lengths(name)[self.numbers]

    def column(self, name: str) -> Array:
        """(n,) each one's number of a name."""
        return self.store.column(name)[self.numbers] if len(self) else np.zeros(0)


class TrainingTask(ABC):
    """A model under training.

    The examples are written to a folder once, and read from there in every step; what becomes of
    them is counted. Losses add up unless :attr:`adds_up` says otherwise: that of a batch is their
    mean.

    Attributes:
        model: The network, on its device.
        recipe: How it is trained.
        training: The examples to learn from.
        held_out: Those for validation; there may be none.
        tokens: Padded tokens of held-out examples that are computed at a time.
        unit: What an example is called in the progress.
        preparation: :attr:`.TrainingPlan.preparation`, for a kind whose examples are made of it.
        prepared: Where that was made, if it has been made.
        adds_up: Whether a batch's loss is that of its pieces; false for in-batch negatives.
    """

    unit: str = "examples"
    adds_up: ClassVar[bool] = True
    model: "torch.nn.Module"
    recipe: TrainingRecipe
    training: Examples
    held_out: Examples
    tokens: int | None = None
    preparation: Preparation | None = None
    prepared: Path | None = None
    _lengths: Numbers | None = None

    @abstractmethod
    def write(self, folder: Path) -> Mapping[str, Any]:
        """Write all examples into an empty folder, with :func:`write_parts`.

        Returns:
            What became of the data, as plain values.
        """

    def given(self, folder: Path) -> AbstractContextManager[Path]:
        """What the examples in a folder are made of: what is prepared; made now if need be."""
        if self.preparation is None:
            raise ValueError("nothing is prepared for this kind")
        return self.preparation.there(self.prepared, folder)

    def read(self, folder: Path) -> None:
        """Open the examples that :meth:`write` wrote."""
        store = Store(folder)
        self.training, self.held_out = (
            Examples(store, np.fromfile(folder / f"{part}.numbers", dtype=np.int64))
            for part in (TRAINING, HELD_OUT)
        )

    def close(self) -> None:
        """Close the examples' files."""
        self.training.store.close()

    def batches(self, epoch: int) -> Sequence[Numbers]:
        """The places of the examples of each step."""
        seed = seed_of(self.recipe.seed, "epoch", epoch)
        if self._lengths is None:
            self._lengths = self.lengths_of(self.training)
        return shuffled_batches(self._lengths, self.recipe.batch_size, seed)

    def lengths_of(self, examples: Examples) -> Numbers:
        """(n,) tokens of each example."""
        return examples.lengths("ids")

    def losses(self, batch: Numbers) -> "tuple[torch.Tensor, int]":
        """The sum of the losses of some training examples, and how many losses these are.

        Args:
            batch: Their places. On several processes it is this process's share of a batch, which
                may be empty; losses that do not add up are computed with the others' shares.
        """
        import torch

        return self.losses_of(self.training[batch]) if len(batch) else (torch.zeros(()), 0)

    @abstractmethod
    def losses_of(self, examples: list[dict[str, Array]]) -> "tuple[torch.Tensor, int]":
        """The sum of the losses of some examples, and how many losses these are."""

    @property
    def validates(self) -> bool:
        """Whether anything is held out."""
        return len(self.held_out) > 0

    def validate(self) -> float | None:
        """The mean of all held-out losses, of which each process computes some."""
        if not len(self.held_out):
            return None
        loss, losses = 0.0, 0
        lengths = self.lengths_of(self.held_out)
        processes = current()
        for batch in processes.every(token_batches(lengths, self.tokens, device_of(self.model))):
            total, count = self.losses_of(self.held_out[batch])
            loss, losses = loss + float(total), losses + count
        loss, whole = processes.summed(loss, losses)
        return loss / max(whole, 1)

    @abstractmethod
    def summary(self, counts: Mapping[str, Any]) -> str:
        """What is trained on, in a line."""

    def measure(self) -> Mapping[str, Any]:
        """What is measured or chosen once the model is trained: further counts."""
        return {}

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write weights (safetensors), tokenizer and settings."""

    @abstractmethod
    def card(self, counts: Mapping[str, Any]) -> Card:
        """What the model card says of this kind of model."""


def write_parts(folder: Path, **parts: Sequence[int] | Numbers) -> None:
    """Write which examples of a store belong to which part, beside the store.

    Args:
        folder: The store's.
        parts: The numbers of the examples of :data:`TRAINING`, :data:`HELD_OUT` and others, in
            their order.
    """
    for name, numbers in parts.items():
        # Not by tofile(), which does not notice a disk that is full at the end.
        path = folder / f"{name.replace('_', '-')}.numbers"
        path.write_bytes(np.asarray(numbers, dtype=np.int64).tobytes())
