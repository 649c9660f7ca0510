"""How a trained reranker reads texts: kept beside its weights, in ``reranker.json``."""

from pathlib import Path
from typing import Any

from adducir.models.settings import read_settings, write_settings
from adducir.rerankers.recipe import RerankerRecipe

SETTINGS_FILE = "reranker.json"

_TRAINING = frozenset(
    {"kind", "base", "tokenizer", "description", "examples", "held_out", "labels", "training"}
)


def save_settings(folder: Path, recipe: RerankerRecipe) -> None:
    """Write what a model's use needs to know of its recipe."""
    details = recipe.model_dump(mode="json", exclude=set(_TRAINING))
    write_settings(folder / SETTINGS_FILE, details)


def load_settings(folder: Path) -> dict[str, Any]:
    """Read what :func:`save_settings` wrote.

    Raises:
        InputError: It is damaged.
    """
    return read_settings(folder / SETTINGS_FILE)
