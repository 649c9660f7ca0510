"""transformers' Trainer: AdamW, linear warm-up and decay, weights of the lowest validation loss.

Several GPUs train with ``torchrun``: each process has its own batches, gradients are averaged, the
first process writes.
"""

import atexit
import json
import math
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader
from transformers import (
    EarlyStoppingCallback,
    PreTrainedModel,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.trainer_callback import PrinterCallback, TrainerState

from adducir.core.errors import InputError, MachineError
from adducir.core.progress import progress
from adducir.core.recipe import as_tuple
from adducir.models.artifacts import save_weights
from adducir.models.loading import quiet
from adducir.models.machine import computing_in, seed_of
from adducir.training.recipe import GroupPart, TrainingRecipe
from adducir.training.trainable import kept_epoch

CHECKPOINT_SECONDS = 120.0
"""Seconds between checkpoints: the most that a kill can lose."""
_WAIT = 30 * 24 * 3600
"""Seconds that processes wait for the first one, which may prepare data for hours."""


def rank() -> int:
    """This process's rank under a launcher such as torchrun; 0 without one."""
    return int(os.environ.get("RANK", "0"))


def _processes() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


def fit(
    objective: Any,
    model: torch.nn.Module,
    train: Any,
    validation: Any,
    recipe: TrainingRecipe,
    checkpoints: Path,
    device: torch.device,
) -> dict[str, Any]:
    """Train a network in place; it ends with its best weights, in evaluation mode.

    ``objective`` has a :class:`.Trainable`'s ``unit``, ``batches``, ``collate`` and ``loss``; a
    training in the folder ``checkpoints`` resumes. Returns the content of ``training.json``.
    """
    if recipe.patience is not None and not len(validation):
        raise InputError(
            f"nothing is held out, so `training.patience: {recipe.patience}` cannot stop the "
            "training early.",
            hint="Hold out a larger share, or set `patience: null` below `training`.",
        )
    freeze(model, as_tuple(recipe.freeze))
    arguments = arguments_of(recipe, checkpoints, device)
    callbacks: list[TrainerCallback] = [_Watch(recipe.validations, len(train))]
    if not len(validation):
        arguments.eval_strategy = "no"
        arguments.load_best_model_at_end = False
    elif recipe.patience is not None:
        callbacks.append(EarlyStoppingCallback(recipe.patience))
    data = {"train_dataset": train, "eval_dataset": validation}
    trainer = _Trainer(objective, recipe, model, arguments, callbacks=callbacks, **data)
    began = time.monotonic()
    label = f"training for {recipe.epochs} epoch{'s' * (recipe.epochs != 1)}"
    if recipe.gradient_checkpointing:
        checkpoint_layers(model)
    last = last_checkpoint(checkpoints)
    with quiet(), progress().doing(label, recipe.epochs * len(train), objective.unit):
        if last and recipe.patience and _had_stopped(last, recipe.patience):
            trainer.load_stopped(last)
        else:
            trainer.train(resume_from_checkpoint=last)
    model.eval()
    history = _history(trainer.state, time.monotonic() - began)
    progress().note(f"kept the weights of epoch {kept_epoch(history)}")
    return history


def arguments_of(
    recipe: TrainingRecipe, checkpoints: Path, device: torch.device
) -> TrainingArguments:
    if device.type == "cuda" and device.index is not None:
        torch.cuda.set_device(device)
    arguments = TrainingArguments(
        output_dir=str(checkpoints),
        use_cpu=device.type == "cpu",
        ddp_timeout=_WAIT,
        num_train_epochs=recipe.epochs,
        per_device_train_batch_size=recipe.batch_size,
        per_device_eval_batch_size=1,  # the losses are one per row
        gradient_accumulation_steps=recipe.gradient_accumulation,
        learning_rate=recipe.learning_rate,
        warmup_steps=recipe.warmup,
        weight_decay=recipe.weight_decay,
        max_grad_norm=recipe.clip or 0.0,
        lr_scheduler_type="linear",
        seed=seed_of(recipe.seed, "training") % (1 << 32),
        eval_strategy="epoch",
        save_strategy="epoch",
        logging_strategy="epoch",
        logging_nan_inf_filter=False,
        load_best_model_at_end=True,
        metric_for_best_model="loss",
        greater_is_better=False,
        save_total_limit=2,
        restore_callback_states_from_checkpoint=True,
        remove_unused_columns=False,
        dataloader_pin_memory=device.type == "cuda",
        disable_tqdm=True,
        report_to="none",
    )
    # Several visible GPUs without torchrun: use one, not DataParallel over all.
    arguments._n_gpu = min(arguments.n_gpu, 1)
    return arguments


def checkpoints_in(work: Path) -> Path:
    """Their folder; another number of processes cannot resume them."""
    return work / (f"checkpoints-of-{_processes()}" if _processes() > 1 else "checkpoints")


def first_says(is_built: bool, recipe: TrainingRecipe, device: torch.device) -> bool:
    """Whether the first process, which holds the model's lock, is about to train it."""
    if _processes() == 1:
        return is_built
    is_connected = torch.distributed.is_initialized()
    arguments = arguments_of(recipe, Path(), device)  # connects the processes
    if not is_connected:  # else a process that ends at once is aborted
        atexit.register(torch.distributed.destroy_process_group)
    said = torch.tensor(float(is_built), device=arguments.device)
    torch.distributed.broadcast(said, 0)
    return bool(said)


def freeze(model: torch.nn.Module, patterns: Sequence[str]) -> None:
    named = dict(model.named_parameters())
    for name in _fitting(patterns, named, "freeze"):
        named[name].requires_grad_(False)
    if not any(parameter.requires_grad for parameter in named.values()):
        message = "all parameters are frozen, so nothing can be trained."
        raise InputError(message, hint="Remove a pattern from `training.freeze`.")


def adamw(model: torch.nn.Module, recipe: TrainingRecipe) -> torch.optim.AdamW:
    """AdamW over trained parameters, without decay for biases and layer norms (one dimension)."""
    named = dict(model.named_parameters())
    unassigned = {name: parameter for name, parameter in named.items() if parameter.requires_grad}
    groups = list[dict[str, Any]]()
    for part in (*recipe.parameter_groups, GroupPart(match="*")):
        fitting = _fitting(as_tuple(part.match), named, "parameter_groups")
        chosen = [unassigned.pop(name) for name in [*unassigned] if name in fitting]
        rate = recipe.learning_rate if part.learning_rate is None else part.learning_rate
        decay = recipe.weight_decay if part.weight_decay is None else part.weight_decay
        for is_flat in (False, True):
            parameters = [parameter for parameter in chosen if (parameter.ndim <= 1) == is_flat]
            if parameters:
                options = {"weight_decay": 0.0 if is_flat else decay, "lr": rate}
                groups.append({"params": parameters, **options})
    return torch.optim.AdamW(groups, lr=recipe.learning_rate)


def _fitting(patterns: Sequence[str], names: Any, key: str) -> set[str]:
    fitting = [{name for name in names if fnmatchcase(name, pattern)} for pattern in patterns]
    for pattern, matches in zip(patterns, fitting, strict=True):
        if not matches:
            raise InputError(
                f"{pattern!r} (`training.{key}`) does not match any parameter of this model.",
                hint=f"Its {len(names)} parameters are named {', '.join([*names][:3])} and so on.",
            )
    return set[str]().union(*fitting)


def checkpoint_layers(model: torch.nn.Module) -> None:
    """Let a model's layers store only their input, and recompute the rest in the backward pass."""
    networks = (module for module in model.modules() if isinstance(module, PreTrainedModel))
    able: list[Any] = [network for network in networks if network.supports_gradient_checkpointing]
    if not able:
        message = f"a {type(model).__name__} does not support gradient checkpointing."
        raise InputError(message, hint="Leave `training.gradient_checkpointing` out.")
    for network in able:
        network.gradient_checkpointing_enable({"use_reentrant": False})


class _Batches(list[list[int]]):
    """An epoch's batches of row numbers; on resuming, the Trainer reaches only these."""

    def __init__(self, objective: Any, rows: Any) -> None:
        self._objective, self._cut = objective, partial(objective.batches, rows)

    def __iter__(self) -> Iterator[list[int]]:
        for batch in super().__iter__():
            self._objective.epoch = self._epoch  # validation may come between two batches
            yield batch

    def set_epoch(self, epoch: int | None) -> None:
        self._epoch = epoch
        batches = [batch.tolist() for batch in self._cut(epoch)]
        if epoch is not None:  # all processes take the same number of steps
            even = range(-(-len(batches) // _processes()) * _processes())
            batches = [batches[number % len(batches)] for number in even][rank() :: _processes()]
        self[:] = batches


class _Loader(DataLoader[Any]):
    """Batches of rows from a kind; accelerate would split them again for several processes."""

    def __init__(self, objective: Any, rows: Any, epoch: int | None) -> None:
        batches = _Batches(objective, rows)
        self.set_epoch = batches.set_epoch
        self.set_epoch(epoch)
        super().__init__(rows, batch_sampler=batches, collate_fn=objective.collate)


class _Trainer(Trainer):
    objective: Any
    recipe: TrainingRecipe

    def __init__(
        self, objective: Any, recipe: TrainingRecipe, *arguments: Any, **more: Any
    ) -> None:
        self.objective, self.recipe = objective, recipe
        super().__init__(*arguments, **more)
        self.model_accepts_loss_kwargs = False  # losses are means, divided by the accumulation
        self.remove_callback(PrinterCallback)

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        trained: Any = self.model
        self.optimizer: Any = adamw(trained, self.recipe)
        return self.optimizer

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        # The first warm-up step has rate 0: if it were also the last, nothing would be learned.
        warmup = self.args.get_warmup_steps(num_training_steps)
        self.args.warmup_steps = min(warmup, num_training_steps - 1)
        return super().create_scheduler(num_training_steps, optimizer)

    def get_train_dataloader(self) -> DataLoader[Any]:
        return _Loader(self.objective, self.train_dataset, 0)

    def get_eval_dataloader(self, eval_dataset: Any = None) -> DataLoader[Any]:
        return _Loader(self.objective, self.eval_dataset, None)

    def training_step(self, model: torch.nn.Module, *inputs: Any, **more: Any) -> torch.Tensor:
        # The backward pass is inside, because it must recompute in the same precision.
        self.objective.done = self.state.global_step / self.state.max_steps
        with computing_in(self.recipe.precision, model):
            loss = super().training_step(model, *inputs, **more)
        if _processes() > 1 and self.accelerator.sync_gradients:
            # Not DistributedDataParallel: a loss may run several forward and backward passes.
            for parameter in model.parameters():
                if parameter.grad is not None:
                    torch.distributed.all_reduce(parameter.grad)
                    parameter.grad /= _processes()
        return loss

    def compute_loss(self, model: torch.nn.Module, inputs: Any, *_: Any, **__: Any) -> Any:
        return self.objective.loss(self.accelerator.unwrap_model(model), inputs)

    def prediction_step(self, model: torch.nn.Module, inputs: Any, *_: Any, **__: Any) -> Any:
        self.objective.done = 1.0
        with torch.no_grad(), computing_in(self.recipe.precision, model):
            network = self.accelerator.unwrap_model(model)
            loss = self.objective.loss(network, self._prepare_inputs(inputs))
            return loss.repeat(len(next(iter(inputs.values())))), None, None

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        folder = Path(str(output_dir))
        folder.mkdir(parents=True, exist_ok=True)
        save_weights(folder / "model.safetensors", self.accelerator.unwrap_model(self.model))

    def _save_rng_state(self, output_dir: str) -> None:
        super()._save_rng_state(output_dir)
        # The trainer's state comes next and last: it says that every process wrote its part.
        self.accelerator.wait_for_everyone()

    def load_stopped(self, checkpoint: str) -> None:
        """End as the process that stopped early would have."""
        self.state = TrainerState.load_from_json(f"{checkpoint}/trainer_state.json")
        _find_best(self.args, self.state)
        self._load_best_model()

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        """None: the file stores shared weights once, so their other names are missing."""


class _Watch(TrainerCallback):
    """Reports progress, validates within epochs, and saves checkpoints regularly."""

    def __init__(self, validations: int, examples: int) -> None:
        self._validations, self._examples = validations, examples
        self._saved = time.monotonic()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._saved, done = time.monotonic(), state.global_step
        _find_best(args, state)
        progress().resume(round(self._per_step(args, state) * done))
        if done:
            progress().note(f"training resumes after step {done:,}")

    def _per_step(self, args: Any, state: Any) -> float:
        return float(self._examples * args.num_train_epochs / state.max_steps)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        per_step, step = self._per_step(args, state), state.global_step
        progress().advance(round(per_step * step) - round(per_step * (step - 1)))
        per_epoch = round(state.max_steps / args.num_train_epochs)
        within = {round(n * per_epoch / self._validations) for n in range(1, self._validations)}
        if step % per_epoch in within - {0} and args.eval_strategy != "no":
            control.should_log = control.should_evaluate = control.should_save = True
        # By the first process's clock. An epoch's last checkpoint is written only after validation.
        due = torch.tensor(float(time.monotonic() - self._saved >= CHECKPOINT_SECONDS))
        if _processes() > 1 and step % per_epoch:
            due = due.to(args.device)
            torch.distributed.broadcast(due, 0)
        if step % per_epoch and due:
            control.should_save = True

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._saved = time.monotonic()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        logs = logs or {}
        if not math.isfinite(logs.get("loss", 0.0)):
            raise MachineError(
                f"the loss is not a number at step {state.global_step:,}.",
                hint="Lower `training.learning_rate`, or train in float32.",
            )
        for key, name in (("loss", "training"), ("eval_loss", "validation")):
            if key in logs:
                progress().note(f"epoch {state.epoch:g}: {name} loss {logs[key]:.5f}")


def _is_whole(checkpoint: Path) -> bool:
    parts = [f"rng_state_{n}.pth" for n in range(_processes()) if _processes() > 1]
    with suppress(FileNotFoundError, ValueError):  # cut, or being removed by the first process
        json.loads((checkpoint / "trainer_state.json").read_bytes())
        return all((checkpoint / name).is_file() for name in parts)
    return False


def _find_best(args: TrainingArguments, state: TrainerState) -> None:
    """The best checkpoint's path, where a study may have been moved to."""
    if state.best_global_step:
        state.best_model_checkpoint = f"{args.output_dir}/checkpoint-{state.best_global_step}"


def _had_stopped(checkpoint: str, patience: int) -> bool:
    state = TrainerState.load_from_json(f"{checkpoint}/trainer_state.json")
    kept: Any = state.stateful_callbacks.get("EarlyStoppingCallback", {})
    return bool(kept.get("attributes", {}).get("early_stopping_patience_counter", 0) >= patience)


def last_checkpoint(folder: Path) -> str | None:
    """The newest checkpoint that all processes wrote whole; others are removed."""
    checkpoints = sorted(
        folder.glob("checkpoint-*"), key=lambda path: int(path.name.partition("-")[2])
    )
    whole = [path for path in checkpoints if _is_whole(path)]
    for path in checkpoints:
        if path not in whole and not rank():
            shutil.rmtree(path)
    return str(whole[-1]) if whole else None


def _history(state: Any, seconds: float) -> dict[str, Any]:
    entries: dict[int, dict[str, Any]] = {}
    for log in state.log_history:
        entry = entries.setdefault(
            log["step"], {"step": log["step"], "epoch": log["epoch"], "validation_loss": None}
        )
        names = {"training_loss": "loss", "validation_loss": "eval_loss"}
        entry |= {name: log[key] for name, key in names.items() if key in log}
    return {
        "steps": state.global_step,
        "validations": [entry for entry in entries.values() if "training_loss" in entry],
        "best_step": state.best_global_step or state.global_step,
        "best_loss": state.best_metric,
        "seconds": round(seconds, 1),
        "stopped_early": state.global_step < state.max_steps,
        "processes": _processes(),
    }
