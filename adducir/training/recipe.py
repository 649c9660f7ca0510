"""What the recipes of all models that are trained have in common."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, ValidationInfo, field_validator

from adducir.core.config import Document
from adducir.core.errors import InputError
from adducir.core.recipe import Recipe
from adducir.core.registry import Family
from adducir.corpora.sources import expanded
from adducir.models.machine import Precision
from adducir.models.sources import MINILM, ModelSource, model_source

K = TypeVar("K")
Several = str | tuple[str, ...]
Rate = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0)]


def listed(value: Several) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


class GroupPart(Recipe):
    """Parameters that are trained with rates of their own.

    Attributes:
        match: Patterns of their names, as of files: ``*.embeddings.*``, ``classifier.*``.
        learning_rate: By default that of the rest.
        weight_decay: By default that of the rest.
    """

    match: Several
    learning_rate: Rate | None = None
    weight_decay: Share | None = None


class TrainingRecipe(Recipe):
    """How a model is trained.

    Attributes:
        epochs: Passes over the training data, at most.
        batch_size: Examples a step.
        learning_rate: Of AdamW, at its highest.
        warmup: The share of the steps during which the rate rises from 0, which the last step never
            is one of; then it falls to 0.
        weight_decay: Of all parameters but biases and layer norms.
        parameter_groups: Parameters with rates of their own; the first pattern that fits
            determines.
        freeze: Patterns of the names of parameters that are not trained.
        clip: The norm that the gradient is cut to; None for none.
        gradient_accumulation: Batches whose gradients are averaged for one step: it then learns
            from so many times ``batch_size`` examples.
        gradient_checkpointing: Whether layers are computed once more in the backward pass, which
            takes less memory; the gradient is the same.
        validations: How often in an epoch the validation loss is computed.
        patience: Validations without improvement after which training stops; None for never.
        precision: ``bfloat16`` computes (not stores) the layers in half precision, which is
            several times faster where the machine has units for it.
        threads: Of torch, on the CPU; they determine the weights' last digits.
        seed: Of the order of examples, of dropout and of new weights.
    """

    epochs: Annotated[int, Field(ge=1)] = 3
    batch_size: Annotated[int, Field(ge=1)] = 16
    learning_rate: Rate = 2e-5
    warmup: Annotated[float, Field(ge=0, lt=1)] = 0.1
    weight_decay: Share = 0.01
    parameter_groups: tuple[GroupPart, ...] = ()
    freeze: Several = ()
    clip: Annotated[float, Field(gt=0)] | None = 1.0
    gradient_accumulation: Annotated[int, Field(ge=1)] = 1
    gradient_checkpointing: bool = False
    validations: Annotated[int, Field(ge=1)] = 1
    patience: Annotated[int, Field(ge=1)] | None = 2
    precision: Precision = "float32"
    threads: Annotated[int, Field(ge=1)] = 1
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0


class ModelRecipe(Recipe):
    """The keys of every model that is trained.

    Attributes:
        description: For readers.
        base: The pretrained model that training starts from.
        tokenizer: The model whose tokenizer it takes, if it has none of its own.
        training: How.
    """

    description: str = ""
    base: str = MINILM
    tokenizer: str | None = None
    training: TrainingRecipe = TrainingRecipe()

    @field_validator("*", mode="before")
    @classmethod
    def _stated(cls, value: Any, info: ValidationInfo) -> Any:
        kind = cls.model_fields[str(info.field_name)].annotation
        if value is None and isinstance(kind, type) and issubclass(kind, Recipe):
            raise ValueError("is empty; write its keys below it, or leave it out")
        return value

    def source(self, folder: Path) -> ModelSource:
        tokenizer = self.tokenizer and expanded(self.tokenizer)
        return model_source(expanded(self.base), folder, tokenizer)

    def fingerprinted(self, exclude: Mapping[str, Any]) -> dict[str, Any]:
        """The keys that determine the weights; ``exclude`` has those that only name sources."""
        named = {"description": True, "base": True, "tokenizer": True}
        return self.model_dump(mode="json", exclude={**named, **exclude})


def kind_of(document: Document, family: Family[K], *keys: str) -> type[K]:
    """The kind of a family that the file of a recipe names, with the first of the keys it has."""
    key = next((key for key in keys if key in document.data), keys[0])
    name = document.data.get(key)
    if name not in [*family]:
        what = f"the recipe has no `{key}`" if name is None else f"unknown {family.what} {name!r}"
        raise InputError(
            f"{what}.",
            path=document.path,
            line=document.line_of((key,)) if key in document.data else None,
            hint=f"Set `{key}` to one of: {', '.join(family)}.",
        )
    return family.kind(str(name))
