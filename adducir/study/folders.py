"""A study's folders: where relative paths of its recipes start, and where products go."""

import os
from pathlib import Path

ROOMS = ("indexes", "deepct", "encoders", "rerankers", "experiments", "runs")
"""The folders of a study that hold recipes or products."""


def study_folder(recipe: Path) -> Path:
    """The study that a recipe belongs to: relative paths in it start there.

    It is the folder that holds ``experiments/``, ``deepct/`` or whichever room the recipe lies in,
    or else the recipe's own folder. Links are not followed: a recipe that is linked into a study
    belongs to that study.
    """
    folder = Path(os.path.normpath(recipe.absolute())).parent
    return folder.parent if folder.name in ROOMS else folder
