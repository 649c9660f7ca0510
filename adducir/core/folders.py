"""A study's folders: where relative paths of its recipes start, where artifacts and caches go."""

import os
from pathlib import Path

FOLDERS = ("indexes", "deepct", "encoders", "rerankers", "experiments", "runs")
"""The folders of a study that hold recipes or artifacts."""


def study_folder(recipe: Path) -> Path:
    """The study that a recipe belongs to: relative paths in it start there.

    It is the folder that holds ``experiments/``, ``deepct/`` or whichever folder the recipe lies
    in, or else the recipe's own folder. Links are not followed: a recipe that is linked into a
    study belongs to that study.
    """
    folder = Path(os.path.normpath(recipe.absolute())).parent
    return folder.parent if folder.name in FOLDERS else folder


def results_folder(recipe: Path) -> Path:
    """Where the tables of an experiment file go: ``experiments/demo`` of the study."""
    return study_folder(recipe) / "experiments" / recipe.stem


def name_in_study(recipe: Path) -> str:
    """A recipe's path from the folder of its study, such as ``experiments/demo.yaml``."""
    whole = Path(os.path.normpath(recipe.absolute()))
    return whole.relative_to(study_folder(recipe)).as_posix()


def cache_folder() -> Path | None:
    """The user's folder for what can be made again, in ``$XDG_CACHE_HOME`` or ``~/.cache``.

    None where there is no home, or nothing can be written there.
    """
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adducir"
        cache.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return cache if os.access(cache, os.W_OK) else None
