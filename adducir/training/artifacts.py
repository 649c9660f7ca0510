"""From a plan to a trained model: an artifact that is a model's folder."""

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from adducir.core.artifacts import Manifest, build
from adducir.core.checking import checked
from adducir.core.errors import UsageError
from adducir.core.progress import SILENT, Progress
from adducir.models.artifacts import build_by_parts
from adducir.models.machine import choose_device
from adducir.training.card import model_card
from adducir.training.loop import train
from adducir.training.plan import TrainingPlan
from adducir.training.task import TrainingTask

EXAMPLES = "examples"
_COUNTS = "counts.json"
_EXAMPLES_VERSION = 1


@checked
def train_model(
    plan: TrainingPlan[Any],
    output: Path,
    *,
    device: str = "auto",
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> Manifest:
    """Train the model of a plan, unless ``output`` holds it already.

    A training that was killed goes on from its last snapshot, with the examples that it had made.

    Args:
        plan: From :func:`adducir.training.kinds.open_training`.
        output: The model's folder.
        device: See :func:`adducir.models.machine.choose_device`.
        rebuild: Train even if the model is up to date.
        progress: Notified of examples, steps and losses.

    Raises:
        InputError: The data or the base cannot be read, or do not fit the recipe.
        UsageError: The loss does not bear gradient accumulation.
        ArtifactError: ``output`` holds something that is not ours to replace.
    """

    def make(folder: Path, parts: Path) -> dict[str, Any]:
        return _make(plan, folder, parts, output.name, device, progress)

    return build_by_parts(
        output,
        make,
        kind=plan.artifact,
        recipe=plan.canonical,
        inputs=plan.inputs,
        builder_version=plan.version,
        threads=plan.recipe.training.threads,
        sources=plan.sources,
        rebuild=rebuild,
        progress=progress,
    )


def _make(
    plan: TrainingPlan[Any], folder: Path, parts: Path, name: str, device: str, progress: Progress
) -> dict[str, Any]:
    task = plan.task(choose_device(device), progress)
    if plan.recipe.training.gradient_accumulation > 1 and not task.adds_up:
        raise UsageError(
            "the pieces of a batch have fewer negatives than the batch, so that their losses do "
            "not add up to its loss.",
            hint="Set `batches.at_once`, which computes a batch in pieces and keeps its negatives, "
            "in place of `training.gradient_accumulation`.",
        )
    counts = _examples(task, parts / EXAMPLES, plan.fingerprint, progress)
    with closing(task):
        progress.note(task.summary(counts))
        history = train(task, plan.recipe.training, parts=parts, progress=progress)
        counts |= task.measure(progress)
    task.save(folder)
    history.save(folder)
    text = model_card(name, task.card(counts), counts, history)
    (folder / "README.md").write_text(text, encoding="utf-8")
    return counts | history.record()


def _examples(
    task: TrainingTask, folder: Path, fingerprint: str, progress: Progress
) -> dict[str, Any]:
    """Write the examples unless a killed training has, and open them; returns the counts."""

    def make(place: Path) -> Mapping[str, Any]:
        counts = task.write(place, progress)
        # In their order, which the manifest does not keep.
        (place / _COUNTS).write_text(json.dumps(counts), encoding="utf-8")
        return {}

    build(
        folder,
        kind="training-examples",
        recipe={},
        inputs={"model": fingerprint},
        builder_version=_EXAMPLES_VERSION,
        make=make,
        progress=progress,
    )
    task.read(folder)
    counts: dict[str, Any] = json.loads((folder / _COUNTS).read_text(encoding="utf-8"))
    return counts
