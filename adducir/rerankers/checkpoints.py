"""What a checkpoint says of itself."""

from typing import Any

from adducir.core.errors import InputError, MachineError
from adducir.core.json_lines import json_object
from adducir.models.sources import CONFIGURATION, ModelSource


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


def refuse_other_classes(source: ModelSource, endings: tuple[str, ...]) -> None:
    """Refuse a model of another class than those whose names end so; its weights are not read.

    A model whose configuration is not at hand passes: fetching or loading it reports what is wrong.

    Raises:
        InputError: It states another class, or its configuration cannot be read.
    """
    if not endings:
        return
    try:
        folder = source.folder or source.fetched(CONFIGURATION)
    except MachineError:
        return
    path = folder / CONFIGURATION[0]
    names = json_object(path).get("architectures")
    if isinstance(names, list) and not any(str(name).endswith(endings) for name in names):
        raise InputError(
            f"{source.name} is a {', '.join(map(str, names))}; needed is a model whose class ends "
            f"in {' or '.join(endings)}.",
            path=path,
            hint="Name a model of that kind, or another `model:` in the reranker's recipe.",
        )
