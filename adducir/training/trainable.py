"""What a kind of model provides for training: recipe, data, network, loss, model card.

The constructor of a :class:`Trainable` opens a recipe's sources without reading data; ``settings``
and ``inputs`` determine the weights, so that the model's fingerprint is known before anything
exists. Other packages add kinds through entry points ``adducir.training``.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from adducir.core import setting
from adducir.core.artifacts import OUT_OF_DATE, UNKNOWN, is_current, out_of_date
from adducir.core.config import RecipeFile, load, validate
from adducir.core.errors import AdducirError, InputError, in_files, speaking
from adducir.core.files import study_folder
from adducir.core.fingerprint import canonical
from adducir.core.manifests import MANIFEST, artifact_fingerprint, read_manifest
from adducir.core.planning import planning
from adducir.core.progress import progress
from adducir.core.registry import Family
from adducir.models.folders import left_out, look, network_of
from adducir.models.loading import load_tokenizer
from adducir.models.machine import seed_of
from adducir.models.sources import RECIPES
from adducir.models.work import shuffled_batches, token_batches
from adducir.training.example_recipe import examples_line
from adducir.training.leaks import TrainedOn
from adducir.training.recipe import ModelRecipe, kind_of
from adducir.version import __version__

if TYPE_CHECKING:
    import torch
    from datasets import Dataset

    from adducir.training.data import TrainingData
    from adducir.training.examples import ExampleSource

R = TypeVar("R", bound=ModelRecipe)


class Trainable(ABC, Generic[R]):
    """A trainable model, with a recipe."""

    recipe_type: ClassVar[type[ModelRecipe]]
    artifact: ClassVar[str]  # the trained model's kind in manifests
    version: ClassVar[int] = 4  # raised when the same recipe yields other weights
    columns: ClassVar[tuple[str, ...] | None] = None  # read by the loss; None for all
    unit: str = "examples"  # the unit of rows in progress
    card: ClassVar[str] = ""  # what it is and how to use it; {name} is the model's folder
    base: Any = None  # the source of the pretrained model, if any
    kept: Collection[str] = ()  # parts of the base, besides its network, to be trained further
    examples: "ExampleSource | None" = None  # of a kind that learns from examples
    epoch: int | None = None  # of the batch being collated; None for validation
    done: float = 1.0  # the share of the steps before the one being computed; 1 for validation

    def __init__(self, recipe: R, folder: Path) -> None:
        self.recipe, self.folder = recipe, folder  # the study's, where relative paths start
        self.origin: Mapping[str, str] = {}  # the kind's package, if not ours
        self.before: tuple[Trainable[Any], Path] | None = None  # what trains the base, and where

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The parts of the recipe that determine the weights, without sources' names."""

    @property
    @abstractmethod
    def inputs(self) -> Mapping[str, str]:
        """The fingerprints of the training data, by name."""

    def trained_on(self, kept: frozenset[int] = frozenset()) -> TrainedOn:
        """What it learns from, to be compared with what it is tested on.

        ``kept``: the numbers of its queries, if it is trained already.
        """
        if self.examples is None:
            return TrainedOn(kept, key="data.without")
        recipe: Any = self.recipe
        return self.examples.trained_on(recipe.held_out, kept)

    @property
    def model_settings(self) -> Any:
        """Settings stored beside the weights by ``save(folder)``."""
        return self.recipe

    @property
    def canonical(self) -> dict[str, Any]:
        """What determines the weights besides inputs: settings, and the kind's package."""
        return {**self.settings, **({"kind of": dict(self.origin)} if self.origin else {})}

    @cached_property
    def fingerprint(self) -> str:
        return artifact_fingerprint(self.artifact, self.canonical, self.inputs, self.version)

    def is_current(self, output: Path) -> bool:
        return is_current(output, self.fingerprint)

    def base_statement(self) -> str:
        """What it starts from, and what of that is left out, in a line."""
        if self.base is None:
            return "none"
        return f"{self.base.name} ({look(self.base).title}){left_out(self.base, self.kept)}"

    @abstractmethod
    def dataset(self, folder: Path) -> "TrainingData":
        """The rows, which may be stored in a folder; see :func:`adducir.training.data.stored`."""

    @abstractmethod
    def model(self) -> "torch.nn.Module":
        """The initial network, on the CPU; the same at each call."""

    @abstractmethod
    def collate(self, rows: Sequence[Mapping[str, Any]]) -> "dict[str, torch.Tensor]":
        """A batch of rows as tensors, whose first dimension is the number of rows."""

    @abstractmethod
    def loss(self, model: "torch.nn.Module", batch: "dict[str, torch.Tensor]") -> "torch.Tensor":
        """The mean loss of a batch, with gradient."""

    def save(self, model: Any, folder: Path) -> None:
        """Write weights (safetensors), tokenizer and settings."""
        model.save_pretrained(folder)
        load_tokenizer(network_of(self.base)).save_pretrained(folder)
        self.model_settings.save(folder)

    def summary(self, data: "TrainingData") -> str:
        """A line about the training data."""
        described = f"{examples_line(data.counts)}; " if self.examples else ""
        held_out = f"{len(data.validation):,} held out"
        return f"{described}{len(data.train):,} {self.unit} to train on, {held_out}"

    def batches(self, data: "Dataset", epoch: int | None) -> list[NDArray[np.int64]]:
        """Row numbers per step, of similar ``length`` by default; None: for validation."""
        lengths = np.asarray(data.with_format("numpy")["length"][:], dtype=np.int64)
        if epoch is None:
            return token_batches(lengths)
        recipe = self.recipe.training
        return shuffled_batches(lengths, recipe.batch_size, seed_of(recipe.seed, "epoch", epoch))

    def measure(self, model: "torch.nn.Module", data: "TrainingData") -> Mapping[str, Any]:
        """Further counts measured on the trained model."""
        return {}

    def report(self, counts: Mapping[str, Any]) -> Sequence[str]:
        """Lines for the user about what was measured on the trained model."""
        return ()

    def write_card(self, folder: Path, name: str, data: "TrainingData") -> None:
        """Write ``README.md``: what it is, and on what and how it was trained."""
        base = json.dumps(self.recipe.base, ensure_ascii=False)
        head = f"---\nlibrary_name: transformers\nbase_model: {base}\n---"
        stated = self.recipe.model_dump(mode="json", exclude_unset=True)
        recipe = json.dumps(stated, indent=2, ensure_ascii=False)
        text = f"{head}\n\n# {name}\n\n{self.card}\n\n## Training\n\nTrained from {base} by "
        text += f"Adducir {__version__}; {self.summary(data)}. Losses are in `training.json`, "
        text += "sources' digests in `manifest.json`. The recipe, without defaults:\n\n"
        text = f"{text}```json\n{recipe}\n```\n".replace("{name}", name)
        (folder / "README.md").write_text(text, encoding="utf-8")


def kept_epoch(record: Mapping[str, Any]) -> str:
    """The epoch whose weights were kept: ``1 of 3, stopped early``; empty if unknown."""
    epochs = {entry["step"]: entry["epoch"] for entry in record.get("validations", ())}
    if record.get("best_step") not in epochs:
        return ""
    stop = ", stopped early" if record.get("stopped_early") else ""
    return f"{epochs[record['best_step']]:g} of {max(epochs.values()):g}{stop}"


KINDS: Family[Trainable[Any]] = Family(
    "training",
    Trainable,
    {
        "deepct": "adducir.deepct.training:DeepCT",
        "dual-encoder": "adducir.encoders.training:EncoderTraining",
        "cross-encoder": "adducir.rerankers.training:CrossEncoderTraining",
        "monobert": "adducir.rerankers.training:MonoBERTTraining",
        "colbert": "adducir.rerankers.late_training:ColBERTTraining",
        "splade": "adducir.encoders.sparse_training:SpladeTraining",
    },
    what="kind of model",
)


@speaking(in_files)
def open_training(
    recipe: Path | RecipeFile, changes: Sequence[str] = (), *, folder: Path | None = None
) -> Trainable[Any]:
    """Open a recipe and its sources, without reading documents or loading models.

    ``changes`` are like ``training.epochs=2``; ``folder`` defaults to the file's study.
    """
    document = recipe if isinstance(recipe, RecipeFile) else load(recipe)
    kind = kind_of(document, KINDS, "kind")
    if "lora" in document.data and document.data["lora"] is None:  # who asks for it, means it
        line, hint = document.line_of(("lora",)), "Write its keys below it, such as `r: 16`."
        raise InputError("`lora` is empty.", path=document.path, line=line, hint=hint)
    parsed = validate(document, kind.recipe_type, changes)
    trainable = kind(parsed, folder or study_folder(document.path))
    trainable.origin = KINDS.origin(document.data["kind"])
    return trainable


_comparing: ContextVar[bool] = ContextVar("comparing a model with its recipe", default=False)


def note_older(model: Path) -> None:
    """Note that a trained model differs from what the recipe beside it now states."""
    names = (Path(f"{model}{suffix}") for suffix in RECIPES)
    path = next(filter(Path.is_file, names), None)
    if path is None or not (model / MANIFEST).is_file() or _comparing.get():
        return
    try:
        with setting(_comparing, True), planning():
            plan = open_training(path)
            why = out_of_date(model, plan.artifact, lambda: plan.canonical, plan.fingerprint)
            if why == UNKNOWN:  # a large source that was not read; settings are known
                stated, trained = json.loads(canonical(plan.canonical)), read_manifest(model).recipe
                changed = [key for key in stated if trained.get(key) != stated[key]]
                why = f"{OUT_OF_DATE} {', '.join(changed)}" if changed else None
    except AdducirError as error:
        message = f"whether {path} still states how it was trained is unknown: {error.what}"
        progress().note_once(f"{model}: {message}")
        return
    if why is not None and why.startswith(OUT_OF_DATE):
        message = f"{why} than {path} states; train it again: adducir train {path}"
        progress().note_once(f"{model}: {message}")
