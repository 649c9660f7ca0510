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

    match: Several
    """Patterns of their names, such as classifier.*, where * is any text."""
    learning_rate: Rate | None = None
    """AdamW's peak for them."""
    weight_decay: Share | None = None
    """The weight decay for them."""


class TrainingRecipe(Recipe):
    """How a model is trained; see docs/training.md for its keys."""

    epochs: Annotated[int, Field(ge=1)] = 3
    """Maximum passes over the data."""
    batch_size: Annotated[int, Field(ge=1)] = 16
    """Examples per batch."""
    learning_rate: Rate = 2e-5
    """AdamW's peak."""
    warmup: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """The share of steps in which the rate rises from 0, never the last."""
    weight_decay: Share = 0.01
    """The weight decay of all parameters but biases and layer norms."""
    parameter_groups: tuple[GroupPart, ...] = ()
    """Parameters with separate rates; the first match applies."""
    freeze: Several = ()
    """Patterns of the names of frozen parameters."""
    clip: Annotated[float, Field(gt=0)] | None = 1.0
    """The norm to clip gradients to; None for none."""
    gradient_accumulation: Annotated[int, Field(ge=1)] = 1
    """Batches per step."""
    gradient_checkpointing: bool = False
    """Whether to compute layers again for the gradient, which saves memory."""
    validations: Annotated[int, Field(ge=1)] = 1
    """Validations per epoch."""
    patience: Annotated[int, Field(ge=1)] | None = 2
    """Validations without improvement after which training stops; None for never."""
    precision: Precision = "float32"
    """The precision of the layers; weights are float32."""
    threads: Annotated[int, Field(ge=1)] = 1
    """Torch's threads, which affect the last digits."""
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0
    """The seed of order, dropout and new weights."""


class LoraPart(Recipe):
    """Train low-rank changes of matrices instead of all weights (Hu et al., 2022), and merge them.

    Heads and poolers are trained as usual.
    """

    r: Annotated[int, Field(ge=1)] = 16
    """The rank of the changes."""
    alpha: Annotated[int, Field(ge=1)] = 32
    """The changes are scaled by alpha / r."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """The dropout in front of the changes."""
    targets: Several = "all-linear"
    """Names of the layers, such as q_proj and v_proj."""


class ModelRecipe(Recipe):
    """The keys of every trained model."""

    description: str = ""
    """For readers."""
    base: str = MINILM
    """The model to start from."""
    tokenizer: str | None = None
    """Another model's tokenizer, if the base lacks one."""
    lora: LoraPart | None = None
    """Train low-rank changes only; None for all weights."""
    training: TrainingRecipe = TrainingRecipe()
    """How to train."""

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
