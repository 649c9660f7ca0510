"""How a trained reranker reads texts: kept beside its weights, in ``reranker.json``."""

import json
from pathlib import Path
from typing import Any

from adducir.rerankers.recipe import RerankerRecipe
from adducir.study.errors import InputError
from adducir.study.files import read_text

SETTINGS_FILE = "reranker.json"

_TRAINING = frozenset(
    {"kind", "base", "tokenizer", "description", "examples", "held_out", "labels", "training"}
)


def save_settings(folder: Path, recipe: RerankerRecipe) -> None:
    """Write what a model's use needs to know of its recipe."""
    told = recipe.model_dump(mode="json", exclude=set(_TRAINING))
    text = json.dumps(told, indent=2, sort_keys=True)
    (folder / SETTINGS_FILE).write_text(f"{text}\n", encoding="utf-8")


def load_settings(folder: Path) -> dict[str, Any]:
    """Read what :func:`save_settings` wrote.

    Raises:
        InputError: It is damaged.
    """
    path = folder / SETTINGS_FILE
    try:
        found = json.loads(read_text(path))
    except ValueError as error:
        raise InputError("this is not JSON.", path=path) from error
    if not isinstance(found, dict):
        raise InputError("this is not what Adducir wrote.", path=path)
    return found
