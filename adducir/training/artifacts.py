"""From a plan to a trained model: an artifact that is a model's folder.

On several processes the first one holds the lock, makes the examples, and writes; the others wait
for it, and train with it.
"""

import json
import shutil
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adducir.core.artifacts import (
    Manifest,
    artifact_fingerprint,
    build,
    parts_folder,
    read_manifest,
)
from adducir.core.errors import InputError, MachineError, UsageError
from adducir.core.executors import HERE, Execution
from adducir.core.progress import progress
from adducir.models.artifacts import model_versions
from adducir.models.machine import choose_device, using_threads
from adducir.training.card import model_card
from adducir.training.loop import train
from adducir.training.plan import TrainingPlan
from adducir.training.processes import Processes, device_here, joined, shown
from adducir.training.task import TrainingTask

if TYPE_CHECKING:
    import torch

EXAMPLES = "examples"
_COUNTS = "counts.json"
_EXAMPLES_VERSION = 3
_DIGITS = 16
_TRAIN, _DONE, _FAILED = "train", "done", "failed"


def train_model(
    plan: TrainingPlan[Any],
    output: Path,
    *,
    device: str = "auto",
    examples: Path | None = None,
    prepared: Path | None = None,
    execution: Execution = HERE,
    rebuild: bool = False,
) -> Manifest:
    """Train the model of a plan, unless ``output`` holds it already.

    A training that was killed goes on from its last snapshot, with the examples that it had made.
    Where a launcher such as torchrun started this process as one of several, all of them must call
    this, and train one model together (:mod:`adducir.training.processes`).

    Args:
        plan: From :func:`adducir.training.kinds.open_training`.
        output: The model's folder.
        device: See :func:`adducir.models.machine.choose_device`.
        examples: A folder where examples are kept, each under its fingerprint, for other trainings
            that learn from the same ones; by default they are removed when the model is there.
        rebuild: Train even if the model is up to date.

    Raises:
        InputError: The data or the base cannot be read, or do not fit the recipe; or the base is
            not trained as its recipe says.
        UsageError: The loss does not bear gradient accumulation, or a process lacks a GPU.
        MachineError: The other processes cannot be reached, or one of them stopped.
        ArtifactError: ``output`` holds something that is not ours to replace.
    """
    if plan.before is not None and not plan.before[0].is_current(plan.before[1]):
        raise InputError(
            "the base is not trained as its recipe says.",
            path=plan.before[1],
            hint=f"Train it first: adducir train {plan.before[1].with_suffix('.yaml')}",
        )
    from adducir.training.trainable import Trainable

    if isinstance(plan, Trainable):
        from adducir.training.run import train_model as train_by_trainer

        return train_by_trainer(plan, output, device=device, rebuild=rebuild)  # type: ignore[return-value]
    here = device_here(choose_device(device))
    with joined(here) as processes:
        _refuse_others(plan, processes)
        if processes.is_first:
            places = _Places(plan, examples, prepared, device, execution)
            return _lead(plan, output, processes, here, places, rebuild)
        return _follow(plan, output, processes, here)


def _lead(
    plan: TrainingPlan[Any],
    output: Path,
    processes: Processes,
    device: "torch.device",
    places: "_Places",
    rebuild: bool,
) -> Manifest:
    """Train as the first process, or the only one."""
    training = False
    key = artifact_fingerprint(plan.artifact, plan.canonical, plan.inputs, plan.version)

    def make(folder: Path) -> dict[str, Any]:
        nonlocal training
        parts = parts_folder(output, key)
        task = _task(plan, device)
        place, counts = places.written(task, parts)
        training = True
        processes.broadcast((_TRAIN, f"{parts}", f"{place.resolve()}"))
        with processes.agreeing():
            task.read(place)
        return _make(plan, task, counts, folder, parts, output.name)

    try:
        with using_threads(plan.recipe.training.threads):
            manifest = build(
                output,
                kind=plan.artifact,
                recipe=plan.canonical,
                inputs=plan.inputs,
                builder_version=plan.version,
                make=make,
                rebuild=rebuild,
                versions=model_versions(),
            )
    except BaseException as error:
        # Once they train, they notice by themselves; a message would meet another exchange.
        if not training:
            processes.broadcast((_FAILED, shown(error), ""))
        raise
    processes.broadcast((_DONE, "", ""))
    return manifest


def _follow(
    plan: TrainingPlan[Any], output: Path, processes: Processes, device: "torch.device"
) -> Manifest:
    """Train as one of the other processes: with the first one, from what it wrote."""
    what, value, examples = processes.broadcast(("", "", ""))
    if what == _TRAIN:
        with using_threads(plan.recipe.training.threads):
            with processes.agreeing():
                task = _task(plan, device)
                task.read(_shared(Path(examples)))
            with closing(task):
                train(task, plan.recipe.training, parts=Path(value))
        what, value, _ = processes.broadcast(("", "", ""))
    if what == _FAILED:
        processes.refuse([value])
    return read_manifest(output)


def _refuse_others(plan: TrainingPlan[Any], processes: Processes) -> None:
    """Refuse to train one model of several recipes.

    Raises:
        UsageError: The processes were given different ones, or other data.
    """
    if len({*processes.all_of(plan.fingerprint)}) > 1:
        raise UsageError(
            "the processes of this training were given different recipes or data.",
            hint="Give all of them the same command, and the same files under the same names.",
        )


def _shared(folder: Path) -> Path:
    """A folder that the first process wrote.

    Raises:
        MachineError: It is not seen from here.
    """
    if not folder.is_dir():
        raise MachineError(
            f"{folder}, which the first process wrote, is not seen by another.",
            hint="Train on several machines in a folder that they share.",
        )
    return folder


def _task(plan: TrainingPlan[Any], device: "torch.device") -> TrainingTask:
    task = plan.task(device)
    if plan.recipe.training.gradient_accumulation > 1 and not task.adds_up:
        raise UsageError(
            "the pieces of a batch have fewer negatives than the batch, so that their losses do "
            "not add up to its loss.",
            hint="Set `batches.at_once`, which computes a batch in pieces and keeps its negatives, "
            "in place of `training.gradient_accumulation`.",
        )
    return task


def _make(
    plan: TrainingPlan[Any],
    task: TrainingTask,
    counts: dict[str, Any],
    folder: Path,
    parts: Path,
    name: str,
) -> dict[str, Any]:
    with closing(task):
        progress().note(task.summary(counts))
        history = train(task, plan.recipe.training, parts=parts)
        counts |= task.measure()
    task.save(folder)
    history.save(folder)
    text = model_card(name, task.card(counts), counts, vars(history))
    (folder / "README.md").write_text(text, encoding="utf-8")
    return counts | history.record()


@dataclass(frozen=True)
class _Places:
    """Where examples lie and what they are made of; see :func:`train_model`."""

    plan: TrainingPlan[Any]
    examples: Path | None
    prepared: Path | None
    device: str
    execution: Execution

    def written(self, task: TrainingTask, parts: Path) -> tuple[Path, dict[str, Any]]:
        """The examples, written unless they are there already, and their counts.

        Args:
            parts: A folder for what is not to be kept.
        """
        name = self.plan.examples_fingerprint
        place = parts / EXAMPLES if self.examples is None else self.examples / name[:_DIGITS]

        def make(folder: Path) -> Mapping[str, Any]:
            counts = self._write(task, folder, parts)
            # In their order, which the manifest does not keep.
            (folder / _COUNTS).write_text(json.dumps(counts), encoding="utf-8")
            return {}

        build(
            place,
            kind="training-examples",
            recipe={},
            inputs={"examples": name},
            builder_version=_EXAMPLES_VERSION,
            make=make,
        )
        counts: dict[str, Any] = json.loads((place / _COUNTS).read_text(encoding="utf-8"))
        return place, counts

    def _write(self, task: TrainingTask, folder: Path, parts: Path) -> Mapping[str, Any]:
        preparation = task.preparation
        if preparation is None:
            return task.write(folder)
        kept = self.prepared or (self.examples and preparation.place_in(self.examples))
        task.prepared = kept or parts / "prepared"
        preparation.make(task.prepared, device=self.device, execution=self.execution)
        counts = task.write(folder)
        if kept is None:
            shutil.rmtree(task.prepared, ignore_errors=True)
        return counts
