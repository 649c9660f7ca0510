"""One phase of the training, for the training loop: a loss over passages sampled in each epoch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from adducir.models.machine import seed_of
from adducir.studies.grounded_generation.hindsight.closed import ClosedSets
from adducir.studies.grounded_generation.hindsight.losses import (
    PARTS,
    READS,
    TRAINS,
    LossName,
    loss_of,
)
from adducir.studies.grounded_generation.hindsight.model import Data, Hindsight
from adducir.studies.grounded_generation.hindsight.recipe import PhaseRecipe
from adducir.studies.grounded_generation.hindsight.samplers import SampleRecipe, sample
from adducir.training.loop import History, train
from adducir.training.recipe import TrainingRecipe, listed

Numbers = NDArray[np.int64]

_PAIRS = 128
"""Pairs of context and passage that a network computes at a time in a validation."""


@dataclass(frozen=True)
class Batch:
    """Examples of a step.

    Attributes:
        contexts: (B,) numbers of contexts.
        passages: (B, k) numbers of their sampled passages.
    """

    contexts: Numbers
    passages: Numbers

    def __len__(self) -> int:
        return len(self.contexts)

    def __getitem__(self, some: slice) -> "Batch":
        return Batch(self.contexts[some], self.passages[some])


class Phase:
    """What the training loop trains; see :class:`adducir.training.loop.Trainee`.

    Args:
        model: Retriever, guide and generator.
        data: What they read.
        training: The closed sets of the contexts to learn from.
        held_out: Those of the contexts for validation.
        recipe: Loss, samples, schedule.
        passages: How many passages there are.
    """

    unit = "examples"

    def __init__(
        self,
        model: Hindsight,
        data: Data,
        training: ClosedSets,
        held_out: ClosedSets,
        recipe: PhaseRecipe,
        passages: int,
    ) -> None:
        self.model: torch.nn.Module = model
        self._parts, self.data, self.recipe = model, data, recipe
        self.training, self.held_out, self.passages = training, held_out, passages
        self._validation = _sampled(held_out, recipe.validation, passages, recipe.training.seed, 0)

    def batches(self, epoch: int) -> Sequence[Batch]:
        """The steps of an epoch: examples in random order, each with new passages."""
        settings = self.recipe.training
        whole = _sampled(self.training, self.recipe.sample, self.passages, settings.seed, epoch + 1)
        order = np.random.default_rng(seed_of(settings.seed, "epoch", epoch)).permutation(
            len(whole)
        )
        whole = Batch(whole.contexts[order], whole.passages[order])
        size = settings.batch_size
        return [whole[first : first + size] for first in range(0, len(whole), size)]

    def losses(self, batch: Batch) -> tuple[torch.Tensor, int]:
        """The sum of a batch's losses, with gradient, and how many losses these are."""
        return self._loss(self.recipe.loss, batch).sum(), len(batch)

    def _loss(self, name: LossName, batch: Batch) -> torch.Tensor:
        recipe = self.recipe
        found = self._parts.compute(self.data, batch.contexts, batch.passages, READS[name])
        if found.guide is not None and "guide" not in TRAINS[name]:
            # With the retriever's score added the guide has a gradient, frozen as it is.
            found = replace(found, guide=found.guide.detach())
        return loss_of(name, found, kl_weight=recipe.kl_weight, forward_kl=recipe.forward_kl)

    @property
    def validates(self) -> bool:
        """Whether there are validation contexts."""
        return len(self._validation) > 0

    def validate(self) -> float | None:
        """The mean loss of the validation contexts."""
        return self._mean(self.recipe.loss) if self.validates else None

    def _mean(self, name: LossName) -> float:
        total = sum(float(self._loss(name, batch).sum()) for batch in self._pieces())
        return total / len(self._validation)

    def _pieces(self) -> list[Batch]:
        whole, model = self._validation, self._parts
        pairs = model.generator.pairs if model.retriever.network is None else _PAIRS
        size = max(1, min(pairs, model.generator.pairs) // whole.passages.shape[1])
        return [whole[first : first + size] for first in range(0, len(whole), size)]

    def measure(self) -> Mapping[str, float]:
        """The parts of the bound on the validation contexts, with the weights as they are."""
        if not len(self._validation):
            return {}
        with torch.inference_mode():
            return {name: self._mean(name) for name in READS}


def train_phase(phase: Phase, *, parts: Path | None = None) -> History:
    """Train a phase in place; what its loss does not train stays as it is.

    Args:
        phase: The phase.
        parts: A folder for snapshots; a training that stands there goes on.

    Raises:
        InputError: Everything is frozen, or a pattern fits no parameter.
        MachineError: The loss is not a number, or a snapshot cannot be written.
    """
    return train(phase, frozen_for(phase.recipe), parts=parts)


def frozen_for(recipe: PhaseRecipe) -> TrainingRecipe:
    """A phase's schedule, with the parts frozen that its loss does not train."""
    others = (f"{part}.*" for part in PARTS if part not in TRAINS[recipe.loss])
    frozen = (*listed(recipe.training.freeze), *others)
    return recipe.training.model_copy(update={"freeze": frozen})


def _sampled(
    closed: ClosedSets, recipe: SampleRecipe, passages: int, seed: int, epoch: int
) -> Batch:
    """All contexts of closed sets with their sampled passages."""
    if not len(closed.contexts):
        return Batch(closed.contexts, np.zeros((0, 1), dtype=np.int64))
    rows = [
        sample(recipe, closed.of(row), passages, seed_of(seed, "sample", epoch, int(context)))
        for row, context in enumerate(closed.contexts)
    ]
    return Batch(closed.contexts, np.stack(rows))
