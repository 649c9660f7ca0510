"""One phase of training: a loss over k passages, resampled in each epoch.

With p = softmax of the retriever's scores over the sampled passages, q = softmax of the guide's,
and l = log P(y|x,z) of the generator:

- ``marginal``: -log sum_z p_z exp(l_z) (RAG-Sequence; equation 1 of Hindsight).
- ``elbo``: -(sum_z q_z l_z - KL(q || p)) (equation 2).
- ``reconstruction``: -sum_z q_z l_z, the generator's part of it with a frozen guide.
- ``kl``: KL(q || p), the retriever's part of it with a frozen guide.

The sampled passages are taken as given: no gradient flows through their choice.
"""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from adducir.core.recipe import as_tuple
from adducir.models.machine import device_of, seed_of, using_threads
from adducir.studies.grounded_generation.hindsight.closed import ClosedSets
from adducir.studies.grounded_generation.hindsight.model import Computed, Data, Hindsight, Numbers
from adducir.studies.grounded_generation.hindsight.recipe import (
    PARTS,
    READS,
    TRAINS,
    LossName,
    PhaseRecipe,
    SampleRecipe,
)
from adducir.training.trainer import fit

_PAIRS = 128  # of context and passage, per batch in validation


def loss_of(name: LossName, computed: Computed) -> torch.Tensor:
    """(B,) losses, from the parts that the loss :data:`READS`."""
    if name == "marginal":
        log_p = computed["retriever"].log_softmax(dim=-1)
        return -(log_p + computed["generator"]).logsumexp(dim=-1)
    if name == "reconstruction":
        q = computed["guide"].log_softmax(dim=-1).exp()
        return -(q * computed["generator"]).sum(dim=-1)
    log_q = computed["guide"].log_softmax(dim=-1)
    distance = (log_q.exp() * (log_q - computed["retriever"].log_softmax(dim=-1))).sum(dim=-1)
    return distance if name == "kl" else loss_of("reconstruction", computed) + distance


@dataclass(frozen=True)
class SampledExamples:
    """Row ``epoch * len(self) + place`` is a context with its (k,) passages for that epoch."""

    closed: ClosedSets
    recipe: SampleRecipe
    seed: int

    def __len__(self) -> int:
        return len(self.closed.contexts)

    def __getitem__(self, number: int) -> tuple[int, Numbers]:
        epoch, row = divmod(number, len(self))
        context = int(self.closed.contexts[row])
        seed = seed_of(self.seed, "sample", epoch, context)
        return context, self.closed.sample(row, self.recipe, seed)


@dataclass(eq=False)
class Phase:
    """What a phase trains, over the closed sets of training and held-out contexts."""

    model: Hindsight
    data: Data
    training: InitVar[ClosedSets]
    held_out: InitVar[ClosedSets]
    recipe: PhaseRecipe
    unit: ClassVar[str] = "examples"

    def __post_init__(self, training: ClosedSets, held_out: ClosedSets) -> None:
        seed = self.recipe.training.seed
        self.train = SampledExamples(training, self.recipe.sample, seed)
        self.validation = SampledExamples(held_out, self.recipe.validation, seed)

    def batches(self, data: SampledExamples, epoch: int | None) -> list[Numbers]:
        """Training examples in random order; validation examples in batches."""
        count, settings = len(data), self.recipe.training
        if epoch is not None:
            draw = np.random.default_rng(seed_of(settings.seed, "epoch", epoch))
            rows, size = (epoch + 1) * count + draw.permutation(count), settings.batch_size
        else:
            pairs = self.model.generator.pairs
            pairs = pairs if self.model.retriever.network is None else min(_PAIRS, pairs)
            rows, size = np.arange(count), max(1, pairs // data.recipe.k)
        return [rows[first : first + size] for first in range(0, count, size)]

    def collate(self, rows: Sequence[tuple[int, Numbers]]) -> dict[str, torch.Tensor]:
        contexts, passages = zip(*rows, strict=True)
        return {
            "contexts": torch.tensor(contexts),
            "passages": torch.from_numpy(np.stack(passages)),
        }

    def loss(self, model: torch.nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        for part in {*PARTS} - TRAINS[self.recipe.loss]:
            getattr(self.model, part).eval()  # no dropout in what is frozen
        return self._losses(self.recipe.loss, batch).mean()

    def _losses(self, name: LossName, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        contexts, passages = (batch[key].cpu().numpy() for key in ("contexts", "passages"))
        return loss_of(name, self.model.compute(self.data, contexts, passages, READS[name]))

    def measure(self) -> dict[str, float]:
        """The terms of the bound on the validation contexts, with the current weights."""
        batches = [
            self.collate([self.validation[number] for number in numbers.tolist()])
            for numbers in self.batches(self.validation, None)
        ]
        with torch.inference_mode():
            return {
                name: sum(float(self._losses(name, batch).sum()) for batch in batches)
                / len(self.validation)
                for name in (READS if batches else ())
            }

    def fit(self, checkpoints: Path) -> dict[str, Any]:
        """Train in place; parts that the loss does not train are unchanged."""
        others = (f"{part}.*" for part in PARTS if part not in TRAINS[self.recipe.loss])
        frozen = (*as_tuple(self.recipe.training.freeze), *others)
        recipe, model = self.recipe.training.model_copy(update={"freeze": frozen}), self.model
        with using_threads(recipe.threads):
            rows = self.train, self.validation
            return fit(self, model, *rows, recipe, checkpoints, device_of(model))
