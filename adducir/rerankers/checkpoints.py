"""What a checkpoint says of itself."""

from typing import Any

from adducir.core.json_lines import json_object
from adducir.models.sources import ModelSource


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
