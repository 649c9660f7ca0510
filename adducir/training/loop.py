"""One training loop for all models: AdamW, linear warm-up and decay, early stopping, resumption.

Which dropout a step draws depends on the seed and the step's number alone, and which batches an
epoch has on the seed and the epoch's; so a training that was killed and goes on ends with the
weights that it would have had. Sums are taken in another order with another number of threads, and
weights drift apart by that; so the number is the recipe's, like the seed.

It trains the phases of hindsight, whose parts take turns; all other models are trained by
:mod:`adducir.training.run`.
"""

import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from adducir.core.errors import InputError, MachineError
from adducir.core.progress import progress
from adducir.models.machine import computing_in, seed_of, using_threads
from adducir.training.card import kept_epoch
from adducir.training.checkpoints import (
    load_snapshot,
    load_weights,
    put_weights,
    save_snapshot,
    save_weights,
    weights_of,
)
from adducir.training.parameters import adamw, checkpointing, freeze
from adducir.training.recipe import TrainingRecipe, listed

if TYPE_CHECKING:
    import torch

SNAPSHOT_EVERY = 60.0
"""Seconds between two snapshots: what a kill can lose."""

_RECENT = 20


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
        kept = {"steps": self.steps, "best_step": self.best_step}
        return {**kept, "validation_loss": self.best_loss}

    def save(self, folder: Path) -> None:
        """Write it into a model's folder, as ``training.json``."""
        text = json.dumps(asdict(self), indent=2)
        (folder / "training.json").write_text(f"{text}\n", encoding="utf-8")


class Trainee(Protocol):
    """What the loop trains.

    Attributes:
        model: The network, on its device.
        unit: What an example is called in the progress.
        validates: Whether there is anything to validate with.
    """

    model: "torch.nn.Module"
    unit: str

    @property
    def validates(self) -> bool:
        """See the class."""

    def batches(self, epoch: int) -> Sequence[Any]:
        """The batches of an epoch (from 0), the same whenever asked, as many in each epoch.

        Each can be cut by slicing, and its ``len()`` is in examples.
        """

    def losses(self, batch: Any) -> "tuple[torch.Tensor, int]":
        """The sum of a batch's losses, with gradient, and how many losses these are."""

    def validate(self) -> float | None:
        """The validation loss, of which less is better; None where there is nothing to validate."""


def train(task: Trainee, recipe: TrainingRecipe, *, parts: Path | None = None) -> History:
    """Train a model in place; it ends with the weights of the lowest validation loss.

    Without validation data, and for one that was never validated, it ends with the last weights.

    Args:
        task: The model, with data and loss.
        recipe: How.
        parts: A folder for snapshots; a training that stands there goes on.

    Raises:
        InputError: It is to stop early, and nothing is held out.
        MachineError: The loss is not a number, or a snapshot cannot be written.
    """
    if recipe.patience is not None and not task.validates:
        raise InputError(
            f"nothing is held out, so `training.patience: {recipe.patience}` cannot stop the "
            "training early.",
            hint="Name validation files, hold out a larger share (or use another seed of the "
            "division), or train all epochs by `patience: null` in the recipe's `training`.",
        )
    with using_threads(recipe.threads):
        freeze(task.model, listed(recipe.freeze))
        with checkpointing(task.model, recipe.gradient_checkpointing):
            return _Training(task, recipe, parts).run()


class _Training:
    """One training under way."""

    def __init__(self, task: Trainee, recipe: TrainingRecipe, parts: Path | None) -> None:
        self.task, self.recipe = task, recipe
        self.snapshot = None if parts is None else parts / "training.safetensors"
        self.parts = parts
        self.history = History()
        self.losses: list[float] = []
        first = task.batches(0)
        self.per_epoch, self.examples = len(first), sum(len(batch) for batch in first)
        self.optimiser = adamw(task.model, recipe)
        self.total = recipe.epochs * self.per_epoch
        self.without_gain = 0
        self.kept: dict[str, torch.Tensor] | None = None

    def run(self) -> History:
        """Train to the end, from where a killed training stood."""
        self._resume()
        progress().start("training", self.recipe.epochs * self.examples, self.task.unit)
        self.began = self.saved = time.monotonic()
        self.before = self.history.seconds
        try:
            progress().resume(self.history.steps * self.examples // max(1, self.per_epoch))
            for epoch in range(self.recipe.epochs):
                if self._is_over(epoch) or not self._epoch(epoch):
                    continue
        finally:
            progress().finish()
        self.history.seconds = self._seconds()
        self._take_best()
        progress().note(f"the weights are of epoch {kept_epoch(vars(self.history))}")
        return self.history

    def _is_over(self, epoch: int) -> bool:
        done = self.history.steps >= (epoch + 1) * self.per_epoch
        return done or self.history.stopped_early

    def _epoch(self, epoch: int) -> bool:
        """The steps of an epoch that are not done; whether training goes on."""
        batches = self.task.batches(epoch)
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

    def _step(self, batch: Any) -> None:
        import torch

        step = self.history.steps
        share = _share_of_rate(step, self.total, self.recipe.warmup)
        for group in self.optimiser.param_groups:
            group["lr"] = group["initial_lr"] * share
        self.task.model.train()
        torch.manual_seed(seed_of(self.recipe.seed, "step", step))
        self.optimiser.zero_grad(set_to_none=True)
        with computing_in(self.recipe.precision, self.task.model):
            value = self._backward(batch)
        if self.recipe.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.task.model.parameters(), self.recipe.clip)
        self.optimiser.step()
        self.losses.append(value)
        self.history.steps += 1
        progress().detail(f"loss {sum(self.losses[-_RECENT:]) / len(self.losses[-_RECENT:]):.5f}")
        progress().advance(len(batch))

    def _backward(self, batch: Any) -> float:
        """Add up the gradient of a batch's mean loss, piece by piece, and return the loss."""
        pieces = _cut(batch, self.recipe.gradient_accumulation)
        total, count = 0.0, 0
        for piece in pieces:
            loss, losses = self.task.losses(piece)
            if len(pieces) == 1:
                loss, losses = loss / max(losses, 1), 1
            total, count = total + float(loss.detach()), count + losses
            if loss.requires_grad:
                loss.backward()  # type: ignore[no-untyped-call]
        if len(pieces) > 1:
            # How many losses a batch has (words, say) is known when all its pieces are computed.
            for parameter in self.task.model.parameters():
                if parameter.grad is not None:
                    parameter.grad /= max(count, 1)
        if not math.isfinite(total):
            raise MachineError(
                f"the training loss is {total} at step {self.history.steps + 1}.",
                hint="Lower the learning rate, or set `clip`.",
            )
        return total / max(count, 1)

    def _validates(self) -> bool:
        """Whether a step was the last of its part of an epoch."""
        done, count = (self.history.steps - 1) % self.per_epoch + 1, self.recipe.validations
        parts = done * count // self.per_epoch
        return parts > (done - 1) * count // self.per_epoch

    def _validate(self) -> None:
        import torch

        self.task.model.eval()
        with torch.inference_mode(), computing_in(self.recipe.precision, self.task.model):
            value = self.task.validate()
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
        self._report(entry)
        if value is None:
            return
        if history.best_loss is None or value < history.best_loss:
            history.best_loss, history.best_step, self.without_gain = value, history.steps, 0
            self._keep()
        else:
            self.without_gain += 1
            patience = self.recipe.patience
            history.stopped_early = patience is not None and self.without_gain >= patience

    def _report(self, entry: dict[str, Any]) -> None:
        text = f"epoch {entry['epoch']:g}: training loss {entry['training_loss']:.5f}"
        if entry["validation_loss"] is not None:
            text += f", validation loss {entry['validation_loss']:.5f}"
        progress().note(text)

    def _keep(self) -> None:
        """Keep the weights, the best so far."""
        path = self._best_file()
        if path is None:
            self.kept = weights_of(self.task.model)
        else:
            save_weights(path, self.task.model)

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
                load_weights(path, self.task.model)
            elif self.kept is not None:
                put_weights(self.task.model, self.kept)
        elif self.history.best_loss is None:
            self.history.best_step = self.history.steps
        self.task.model.eval()

    def _save(self) -> None:
        if self.snapshot is not None:
            self.history.seconds = self._seconds()
            state = {
                "history": asdict(self.history),
                "losses": self.losses,
                "without_gain": self.without_gain,
            }
            save_snapshot(self.snapshot, self.task.model, self.optimiser, state)
            for path in self.snapshot.parent.glob("best-*.safetensors"):
                if path != self._best_file():
                    path.unlink()
        self.saved = time.monotonic()

    def _resume(self) -> None:
        if self.snapshot is None or not self.snapshot.exists():
            return
        state = load_snapshot(self.snapshot, self.task.model, self.optimiser)
        self.history = History(**state["history"])
        self.losses, self.without_gain = state["losses"], state["without_gain"]
        progress().note(f"training goes on after step {self.history.steps:,} of {self.total:,}")

    def _seconds(self) -> float:
        return self.before + time.monotonic() - self.began


def _cut(batch: Any, count: int) -> list[Any]:
    """A batch in so many pieces of nearly one size, or in fewer where it is small."""
    count = max(1, min(count, len(batch)))
    ends = [len(batch) * number // count for number in range(count + 1)]
    return [batch[first:end] for first, end in pairwise(ends)]


def _share_of_rate(step: int, total: int, warmup: float) -> float:
    """The share of the highest learning rate at a step (from 0)."""
    rising = warmup * total
    if step < rising:
        return (step + 1) / max(1.0, rising)
    return max(0.0, (total - step) / max(1.0, total - rising))
