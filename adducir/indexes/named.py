"""Every lexical model by the name that commands and recipes call it."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from adducir.indexes.candidates.variants import (
    ATIRE,
    BM25L,
    BM25Plus,
    Impact,
    Okapi,
    Variant,
)
from adducir.indexes.models import BM25, QLD, Model

AnyModel = Model | Variant

MODELS: Mapping[str, type[AnyModel]] = {
    model.name: model for model in (BM25, QLD, Okapi, ATIRE, BM25L, BM25Plus, Impact)
}
VARIANTS = frozenset(model.name for model in (Okapi, ATIRE, BM25L, BM25Plus, Impact))
"""Those that only a memory index searches with."""


def parameters_of(model: type[AnyModel]) -> tuple[str, ...]:
    """The names of a model's numbers.

    BM25+'s ``everywhere`` is none: it changes no ranking.
    """
    return tuple(field.name for field in fields(model) if field.type is float)


def model_named(name: str, parameters: Mapping[str, float]) -> AnyModel:
    """A model with these parameters and its own defaults for the rest.

    Raises:
        UsageError: A value is out of range.
    """
    numbers: dict[str, Any] = dict(parameters)
    return MODELS[name](**numbers)


def models_with(parameter: str) -> tuple[str, ...]:
    """The names of the models that have a parameter."""
    return tuple(name for name, model in MODELS.items() if parameter in parameters_of(model))
