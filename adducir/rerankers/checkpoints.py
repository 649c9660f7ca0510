"""What a checkpoint says of itself, and how it is told what kind of reranker it is."""

from pathlib import Path
from typing import Any

from adducir.models.sources import ModelSource
from adducir.study.errors import InputError
from adducir.study.json_lines import json_object


def config_of(source: ModelSource) -> dict[str, Any]:
    """What stands in a model's ``config.json``.

    Raises:
        InputError: It cannot be read.
        MachineError: The model cannot be fetched.
    """
    return json_object(source.local() / "config.json")


def has_architecture(source: ModelSource, ending: str) -> bool:
    """Whether a model is of a class whose name ends so, such as ``ForSequenceClassification``.

    Raises:
        InputError, MachineError: As :func:`config_of`.
    """
    names = config_of(source).get("architectures")
    return isinstance(names, list) and any(str(name).endswith(ending) for name in names)


def kind_of(source: ModelSource) -> str:
    """The kind of reranker that a model without a recipe is.

    Raises:
        InputError: It is none that is known.
        MachineError: It cannot be fetched.
    """
    name = Path(source.name).name.lower()
    if has_architecture(source, "ForSequenceClassification"):
        return "monobert" if "monobert" in name else "cross-encoder"
    if has_architecture(source, "ForConditionalGeneration") or has_architecture(source, "FiD"):
        return "lit5" if "lit5" in name else "monot5"
    if has_architecture(source, "ColBERT"):
        return "colbert"
    raise InputError(
        f"{source.name} does not say what kind of reranker it is.",
        path=source.folder,
        mend=f"Say it: colbert:{source.name}, or maxsim:{source.name} for any encoder.",
    )
