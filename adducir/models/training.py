"""One training loop for all models: AdamW, linear warm-up and decay, early stopping, resumption.

Which dropout a step draws depends on the seed and the step's number alone, and which batches an
epoch has on the seed and the epoch's; so a training that was killed and goes on ends with the
weights that it would have had. Sums are taken in another order with another number of threads, and
weights drift apart by that; so the number is the recipe's, like the seed.
"""

import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Protocol, TypeVar

from pydantic import Field

from adducir.models.checkpoints import (
    load_snapshot,
    load_weights,
    put_weights,
    save_snapshot,
    save_weights,
    weights_of,
)
from adducir.models.machine import Precision, seed_of, using_threads
from adducir.models.precision import computing_in
from adducir.study.errors import MachineError
from adducir.study.progress import SILENT, Progress
from adducir.study.recipe import Recipe

if TYPE_CHECKING:
    import torch

Batch = TypeVar("Batch")

SNAPSHOT_EVERY = 60.0
"""Seconds between two snapshots: what a kill can lose."""

_RECENT = 20


class TrainingRecipe(Recipe):
    """How a model is trained.

    Attributes:
        epochs: Passes over the training data, at most.
        batch_size: Examples a step.
        learning_rate: Of AdamW, at its highest.
        warmup: The share of the steps during which the rate rises from 0; then it falls to 0.
        weight_decay: Of all parameters but biases and layer norms.
        clip: The norm that the gradient is cut to; None for none.
        validations: How often in an epoch the validation loss is computed.
        patience: Validations without improvement after which training stops; None for never.
        precision: ``bfloat16`` computes (not stores) the layers in half precision, which is
            several times faster where the machine has units for it.
        threads: Of torch, on the CPU; they decide the weights' last digits.
        seed: Of the order of examples, of dropout and of new weights.
    """

    epochs: Annotated[int, Field(ge=1)] = 3
    batch_size: Annotated[int, Field(ge=1)] = 16
    learning_rate: Annotated[float, Field(gt=0)] = 2e-5
    warmup: Annotated[float, Field(ge=0, lt=1)] = 0.1
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    clip: Annotated[float, Field(gt=0)] | None = 1.0
    validations: Annotated[int, Field(ge=1)] = 1
    patience: Annotated[int, Field(ge=1)] | None = 2
    precision: Precision = "float32"
    threads: Annotated[int, Field(ge=1)] = 1
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0


class Learner(Protocol[Batch]):
    """What is trained, on what, and by which loss."""

    model: "torch.nn.Module"

    def batches(self, epoch: int) -> Sequence[Batch]:
        """The batches of an epoch (from 0), the same whenever asked, as many in each epoch."""

    def size(self, batch: Batch) -> int:
        """How many examples a batch has."""

    def loss(self, batch: Batch) -> "torch.Tensor":
        """The mean loss of a batch, with gradient."""

    def validate(self) -> float | None:
        """The validation loss, of which less is better; None where there is nothing to validate."""


@dataclass
class History:
    """How a training went.

    Attributes:
        steps: Steps done.
        validations: One entry each: ``step``, ``epoch`` (with its fraction), ``training_loss``
            (mean since the last entry), ``validation_loss`` (or None), ``seconds``.
        best_step: The step whose weights were kept.
        best_loss: Their validation loss.
        seconds: Time spent, that before a kill included.
        stopped_early: Whether patience ended it.
    """

    steps: int = 0
    validations: list[dict[str, Any]] = field(default_factory=list)
    best_step: int = 0
    best_loss: float | None = None
    seconds: float = 0.0
    stopped_early: bool = False

    def record(self) -> dict[str, Any]:
        """The counts of a trained model's manifest."""
        return {
            "steps": self.steps,
            "best_step": self.best_step,
            "validation_loss": self.best_loss,
        }

    def save(self, folder: Path) -> None:
        """Write the whole course into a model's folder."""
        text = json.dumps(asdict(self), indent=2)
        (folder / "training.json").write_text(f"{text}\n", encoding="utf-8")


def train(
    learner: Learner[Any],
    recipe: TrainingRecipe,
    *,
    parts: Path | None = None,
    unit: str = "examples",
    progress: Progress = SILENT,
) -> History:
    """Train a model in place; it ends with the weights of the lowest validation loss.

    Without validation data, and for one that was never validated, it ends with the last weights.

    Args:
        learner: The model, on its device, with data and loss.
        recipe: How.
        parts: A folder for snapshots; a training that stands there goes on.
        unit: What an example is called in the progress.
        progress: Told of each step, and the losses of each validation.

    Raises:
        MachineError: The loss is not a number, or a snapshot cannot be written.
    """
    with using_threads(recipe.threads):
        return _Training(learner, recipe, parts, unit, progress).run()


class _Training(Generic[Batch]):
    """One training under way."""

    def __init__(
        self,
        learner: Learner[Batch],
        recipe: TrainingRecipe,
        parts: Path | None,
        unit: str,
        progress: Progress,
    ) -> None:
        self.learner, self.recipe, self.unit, self.progress = learner, recipe, unit, progress
        self.snapshot = None if parts is None else parts / "training.safetensors"
        self.parts = parts
        self.history = History()
        self.losses: list[float] = []
        self.first = learner.batches(0)
        self.per_epoch = len(self.first)
        self.optimiser = _optimiser(learner.model, recipe)
        self.total = recipe.epochs * self.per_epoch
        self.without_gain = 0
        self.kept: dict[str, torch.Tensor] | None = None

    def run(self) -> History:
        """Train to the end, from where a killed training stood."""
        self._resume()
        examples = sum(self.learner.size(batch) for batch in self.first)
        self.progress.start("training", self.recipe.epochs * examples, self.unit)
        self.began = self.saved = time.monotonic()
        self.before = self.history.seconds
        try:
            self.progress.advance(self.history.steps * examples // max(1, self.per_epoch))
            for epoch in range(self.recipe.epochs):
                if self._is_over(epoch) or not self._epoch(epoch):
                    continue
        finally:
            self.progress.finish()
        self.history.seconds = self._seconds()
        self._take_best()
        return self.history

    def _is_over(self, epoch: int) -> bool:
        done = self.history.steps >= (epoch + 1) * self.per_epoch
        return done or self.history.stopped_early

    def _epoch(self, epoch: int) -> bool:
        """The steps of an epoch that are not done; whether training goes on."""
        batches = self.first if epoch == 0 else self.learner.batches(epoch)
        for batch in batches[self.history.steps - epoch * self.per_epoch :]:
            self._step(batch)
            if self._validates():
                self._validate()
                if self.history.stopped_early:
                    self._save()
                    return False
            if time.monotonic() - self.saved >= SNAPSHOT_EVERY:
                self._save()
        return True

    def _step(self, batch: Batch) -> None:
        import torch

        step = self.history.steps
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.learning_rate * _share_of_rate(
                step, self.total, self.recipe.warmup
            )
        self.learner.model.train()
        torch.manual_seed(seed_of(self.recipe.seed, "step", step))
        with computing_in(self.recipe.precision, self.learner.model):
            loss = self.learner.loss(batch)
            value = float(loss.detach())
            if not math.isfinite(value):
                raise MachineError(
                    f"the training loss is {value} at step {step + 1}.",
                    mend="Lower the learning rate, or set `clip`.",
                )
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
        if self.recipe.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.learner.model.parameters(), self.recipe.clip)
        self.optimiser.step()
        self.losses.append(value)
        self.history.steps += 1
        self.progress.detail(
            f"loss {sum(self.losses[-_RECENT:]) / len(self.losses[-_RECENT:]):.5f}"
        )
        self.progress.advance(self.learner.size(batch))

    def _validates(self) -> bool:
        """Whether a step was the last of its part of an epoch."""
        done, count = (self.history.steps - 1) % self.per_epoch + 1, self.recipe.validations
        parts = done * count // self.per_epoch
        return parts > (done - 1) * count // self.per_epoch

    def _validate(self) -> None:
        import torch

        self.learner.model.eval()
        with torch.inference_mode(), computing_in(self.recipe.precision, self.learner.model):
            value = self.learner.validate()
        history = self.history
        entry = {
            "step": history.steps,
            "epoch": round(history.steps / self.per_epoch, 3),
            "training_loss": sum(self.losses) / max(1, len(self.losses)),
            "validation_loss": value,
            "seconds": round(self._seconds(), 1),
        }
        history.validations.append(entry)
        self.losses.clear()
        self._tell(entry)
        if value is None:
            return
        if history.best_loss is None or value < history.best_loss:
            history.best_loss, history.best_step, self.without_gain = value, history.steps, 0
            self._keep()
        else:
            self.without_gain += 1
            patience = self.recipe.patience
            history.stopped_early = patience is not None and self.without_gain >= patience

    def _tell(self, entry: dict[str, Any]) -> None:
        text = f"epoch {entry['epoch']:g}: training loss {entry['training_loss']:.5f}"
        if entry["validation_loss"] is not None:
            text += f", validation loss {entry['validation_loss']:.5f}"
        self.progress.note(text)

    def _keep(self) -> None:
        """Keep the weights, the best so far."""
        path = self._best_file()
        if path is None:
            self.kept = weights_of(self.learner.model)
        else:
            save_weights(path, self.learner.model)

    def _best_file(self) -> Path | None:
        """The file for the best weights; its name has their step.

        So, after a kill, a snapshot never meets weights that are better than it knows of.
        """
        name = f"best-{self.history.best_step}.safetensors"
        return None if self.parts is None else self.parts / name

    def _take_best(self) -> None:
        if self.history.best_loss is not None and self.history.best_step < self.history.steps:
            path = self._best_file()
            if path is not None:
                load_weights(path, self.learner.model)
            elif self.kept is not None:
                put_weights(self.learner.model, self.kept)
        elif self.history.best_loss is None:
            self.history.best_step = self.history.steps
        self.learner.model.eval()

    def _save(self) -> None:
        if self.snapshot is not None:
            self.history.seconds = self._seconds()
            state = {
                "history": asdict(self.history),
                "losses": self.losses,
                "without_gain": self.without_gain,
            }
            save_snapshot(self.snapshot, self.learner.model, self.optimiser, state)
            for path in self.snapshot.parent.glob("best-*.safetensors"):
                if path != self._best_file():
                    path.unlink()
        self.saved = time.monotonic()

    def _resume(self) -> None:
        if self.snapshot is None or not self.snapshot.exists():
            return
        state = load_snapshot(self.snapshot, self.learner.model, self.optimiser)
        self.history = History(**state["history"])
        self.losses, self.without_gain = state["losses"], state["without_gain"]
        self.progress.note(f"training goes on after step {self.history.steps:,} of {self.total:,}")

    def _seconds(self) -> float:
        return self.before + time.monotonic() - self.began


def _optimiser(model: "torch.nn.Module", recipe: TrainingRecipe) -> "torch.optim.AdamW":
    """AdamW that does not decay biases and layer norms (all parameters of one dimension)."""
    import torch

    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim > 1], "weight_decay": recipe.weight_decay},
        {"params": [p for p in trained if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=recipe.learning_rate)


def _share_of_rate(step: int, total: int, warmup: float) -> float:
    """The share of the highest learning rate at a step (from 0)."""
    rising = warmup * total
    if step < rising:
        return (step + 1) / max(1.0, rising)
    return max(0.0, (total - step) / max(1.0, total - rising))
