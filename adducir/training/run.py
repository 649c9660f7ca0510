"""Trains a model inside an artifact; a killed training resumes from its last checkpoint."""

import glob
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adducir.core.artifacts import MISSING, build, out_of_date, parts_folder
from adducir.core.errors import AdducirError, InputError, in_files, speaking
from adducir.core.files import scratch_folder
from adducir.core.manifests import Manifest
from adducir.core.progress import progress
from adducir.core.texts import counted
from adducir.models.artifacts import model_versions
from adducir.models.machine import choose_device, using_threads
from adducir.training.leaks import QUERIES
from adducir.training.trainable import Trainable

if TYPE_CHECKING:
    import torch

    from adducir.training.data import TrainingData


@speaking(in_files)
def train_model(
    trainable: Trainable[Any], output: Path, *, device: str = "auto", rebuild: bool = False
) -> Manifest | None:
    """Train a model unless ``output`` is up to date; all torchrun processes must call it."""
    if trainable.before is not None and not trainable.before[0].is_current(trainable.before[1]):
        raise InputError(
            "the base has not been trained with its current recipe.",
            path=trainable.before[1],
            hint=f"Train it first: adducir train {trainable.before[1]}.yaml",
        )
    import torch

    from adducir.training.lora import adapt, merge
    from adducir.training.trainer import (
        arguments_of,
        checkpoints_in,
        first_says,
        fit,
        last_checkpoint,
        rank,
    )

    recipe, chosen = trainable.recipe.training, choose_device(device)
    lora = trainable.recipe.lora

    def trained() -> "tuple[torch.nn.Module, TrainingData, dict[str, Any]]":
        work = parts_folder(output, trainable.fingerprint)
        checkpoints = checkpoints_in(work)
        with arguments_of(recipe, checkpoints, chosen).main_process_first(local=False):
            progress().note(f"base: {trainable.base_statement()}")
            data = trainable.dataset(work / "data")
        progress().note(trainable.summary(data))
        torch.manual_seed(recipe.seed)
        model = trainable.model()
        if lora is not None:
            adapt(model, lora, recipe.seed)
        rows = [
            part.with_format("numpy", columns=trainable.columns)
            for part in (data.train, data.validation)
        ]
        history = fit(trainable, model, rows[0], rows[1], recipe, checkpoints, chosen)
        if lora is not None:
            merge(model)
        return model, data, history

    def make(folder: Path) -> dict[str, Any]:
        first_says(True, recipe, chosen)
        work = parts_folder(output, trainable.fingerprint)
        all_parts = f"{glob.escape(work.name.rpartition('-')[0])}-*"
        if {path.parents[1] for path in work.parent.glob(f"{all_parts}/*/checkpoint-*")} - {work}:
            message = "an interrupted training with other settings is discarded"
            progress().note(f"{message} when this one is complete")
        try:
            model, data, history = trained()
        except KeyboardInterrupt as error:
            last = last_checkpoint(checkpoints_in(work)) or ""
            message = (
                f"resumes after step {int(last.rpartition('-')[2]):,}" if last else "starts again"
            )
            when = "" if last else " before the first checkpoint"
            raise KeyboardInterrupt(f"interrupted{when}; the same command {message}") from error
        counts = data.counts | {
            "training_examples": len(data.train),
            "held_out_examples": len(data.validation),
            "test_examples": len(data.test),
        }
        counts |= trainable.measure(model, data)
        trainable.save(model, folder)
        if "asks" in data.train.column_names:
            asked = [part.with_format("numpy")["asks"][:] for part in (data.train, data.validation)]
            np.save(folder / QUERIES, np.unique(np.concatenate(asked)).astype(np.int64))
        trainable.write_card(folder, output.name, data)
        return counts | record(history, folder)

    with using_threads(recipe.threads):
        if rank():
            while first_says(False, recipe, chosen):  # until the model is there
                trained()
            return None
        built = build(
            output,
            kind=trainable.artifact,
            recipe=trainable.canonical,
            inputs=trainable.inputs,
            builder_version=trainable.version,
            make=make,
            rebuild=rebuild,
            versions=model_versions(),
        )
        first_says(False, recipe, chosen)
        return built


def planned(trainable: Trainable[Any], output: Path) -> Iterator[tuple[str, str]]:
    """What training would do, as verbs and objects; reads the data, and leaves nothing."""
    why = out_of_date(
        output, trainable.artifact, lambda: trainable.canonical, trainable.fingerprint
    )
    if why is None:
        yield "keep", str(output)
    else:
        yield "train", f"{output}{'' if why == MISSING else f': {why}'}"
    try:
        yield "base", trainable.base_statement()
        with scratch_folder() as folder:
            data = trainable.dataset(folder)
            yield "data", trainable.summary(data)
            if len(data.test):
                yield "data", f"{len(data.test):,} {trainable.unit} are kept for testing"
            rows = data.train.with_format("numpy", columns=trainable.columns)
            batches = len(trainable.batches(rows, 0))
    except AdducirError as error:
        if not error.absent:
            raise
        yield "lack", f"not available: {error.paragraph()}".rstrip(".")
        return
    recipe = trainable.recipe.training
    steps = -(-batches // recipe.gradient_accumulation)
    most = "" if recipe.patience is None else "at most "
    yield (
        "steps",
        f"{most}{steps * recipe.epochs:,}: {counted(recipe.epochs, 'epoch')} of {steps:,}",
    )


def record(history: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Write a training's record into a model's folder; returns its manifest's counts."""
    text = json.dumps(history, indent=2)
    (folder / "training.json").write_text(f"{text}\n", encoding="utf-8")
    kept = {"steps": history["steps"], "best_step": history["best_step"]}
    return kept | {"validation_loss": history["best_loss"]}
