"""What all trained models' recipes share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, ValidationInfo, field_validator

from adducir.core.config import RecipeFile
from adducir.core.errors import InputError
from adducir.core.recipe import Recipe, Several
from adducir.core.registry import Family
from adducir.corpora.sources import expanded
from adducir.models.machine import Precision
from adducir.models.sources import MINILM, ModelSource, model_source

K = TypeVar("K")
Rate = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0)]


class GroupPart(Recipe):
    """Parameters with separate learning rates; by default those of the rest."""

    match: Several  # glob patterns of their names: classifier.*
    learning_rate: Rate | None = None
    weight_decay: Share | None = None


class TrainingRecipe(Recipe):
    """How a model is trained; see docs/training.md for its keys."""

    epochs: Annotated[int, Field(ge=1)] = 3  # maximum
    batch_size: Annotated[int, Field(ge=1)] = 16
    learning_rate: Rate = 2e-5  # AdamW's peak
    warmup: Annotated[float, Field(ge=0, lt=1)] = 0.1  # share of the steps, never the last
    weight_decay: Share = 0.01  # not for biases and layer norms
    parameter_groups: tuple[GroupPart, ...] = ()  # the first match applies
    freeze: Several = ()  # patterns of parameters' names
    clip: Annotated[float, Field(gt=0)] | None = 1.0  # the gradient's norm
    gradient_accumulation: Annotated[int, Field(ge=1)] = 1  # batches per step
    gradient_checkpointing: bool = False  # less memory, same gradient
    validations: Annotated[int, Field(ge=1)] = 1  # per epoch
    patience: Annotated[int, Field(ge=1)] | None = 2  # validations; None: never stops
    precision: Precision = "float32"  # of the layers; weights are float32
    threads: Annotated[int, Field(ge=1)] = 1  # affect the last digits
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0  # for order, dropout, new weights


class LoraPart(Recipe):
    """Train low-rank changes of matrices instead of all weights (Hu et al., 2022), and merge them.

    Heads and poolers are trained as usual.
    """

    r: Annotated[int, Field(ge=1)] = 16  # the rank
    alpha: Annotated[int, Field(ge=1)] = 32  # the change is scaled by alpha / r
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    targets: Several = "all-linear"  # names of the layers, such as q_proj and v_proj


class ModelRecipe(Recipe):
    """The keys of every trained model."""

    description: str = ""  # for readers
    base: str = MINILM
    tokenizer: str | None = None  # another model's, if the base lacks one
    lora: LoraPart | None = None  # None: all weights are trained
    training: TrainingRecipe = TrainingRecipe()

    @field_validator("*", mode="before")
    @classmethod
    def _stated(cls, value: Any, info: ValidationInfo) -> Any:
        kind = cls.model_fields[str(info.field_name)].annotation
        if value is None and isinstance(kind, type) and issubclass(kind, Recipe):
            raise ValueError("is empty; write its keys below it, or omit it")
        return value

    def source(self, folder: Path) -> ModelSource:
        tokenizer = self.tokenizer and expanded(self.tokenizer)
        return model_source(expanded(self.base), folder, tokenizer)

    def fingerprinted(self, exclude: Mapping[str, Any]) -> dict[str, Any]:
        """The keys that determine the weights; ``exclude`` are those that only name sources."""
        named = {"description": True, "base": True, "tokenizer": True}
        unset = {} if self.lora else {"lora": True}
        return self.model_dump(mode="json", exclude={**named, **unset, **exclude})


def kind_of(document: RecipeFile, family: Family[K], *keys: str) -> type[K]:
    """The kind of a family that a recipe's file names, with the first of the keys present."""
    key = next((key for key in keys if key in document.data), keys[0])
    name = document.data.get(key)
    if name not in [*family]:
        message = f"the recipe lacks `{key}`" if name is None else f"unknown {family.what} {name!r}"
        raise InputError(
            f"{message}.",
            path=document.path,
            line=document.line_of((key,)) if key in document.data else None,
            hint=f"Set `{key}` to one of: {', '.join(family)}.",
        )
    return family.kind(str(name))
