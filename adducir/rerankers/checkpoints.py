"""What a checkpoint says of itself; its weights are not read."""

from typing import Any

from adducir.core.errors import InputError, MachineError
from adducir.core.json_lines import json_object
from adducir.models.sources import CONFIGURATION, ModelSource


def config_of(source: ModelSource) -> dict[str, Any]:
    """What stands in a model's ``config.json``."""
    return json_object(source.local() / "config.json")


def has_architecture(source: ModelSource, *endings: str) -> bool:
    """Whether a model is of a class whose name ends so, such as ``ForSequenceClassification``."""
    names = config_of(source).get("architectures")
    return isinstance(names, list) and any(str(name).endswith(endings) for name in names)


def refuse_other_classes(source: ModelSource, endings: tuple[str, ...]) -> None:
    """Refuse a model of another class than those whose names end so.

    One whose configuration is not available passes: fetching or loading it reports what is wrong.
    """
    try:
        path = (source.folder or source.fetched(CONFIGURATION)) / CONFIGURATION[0]
    except MachineError:
        return
    names = json_object(path).get("architectures") if endings else None
    if isinstance(names, list) and not any(str(name).endswith(endings) for name in names):
        raise InputError(
            f"{source.name} is a {', '.join(map(str, names))}; needed is a model whose class ends "
            f"in {' or '.join(endings)}.",
            path=path,
            hint="Name a model of that kind, or another `model:` in the reranker's recipe.",
        )
