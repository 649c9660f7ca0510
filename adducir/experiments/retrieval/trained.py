"""Models that a retrieval experiment trains from their recipes, one for each seed."""

from pathlib import Path
from typing import Any

from adducir.core.errors import InputError
from adducir.core.progress import SILENT, Progress
from adducir.corpora.references import file_path
from adducir.models.sources import RECIPES
from adducir.training.kinds import open_training
from adducir.training.plan import TrainingPlan


def is_recipe(name: str, folder: Path) -> bool:
    """Whether a model's name is the file of its recipe."""
    return file_path(name, folder).suffix in RECIPES


def open_recipe(
    path: Path, seed: int | None = None, progress: Progress = SILENT
) -> tuple[TrainingPlan[Any], Path]:
    """Open the recipe of a model; nothing is trained.

    Args:
        path: The recipe.
        seed: Of the training, in place of the recipe's own, which None leaves.
        progress: Notified of what ir_datasets downloads.

    Returns:
        What trains it, and its folder: ``deepct/X`` of ``deepct/X.yaml``, or ``deepct/X.seed3``.

    Raises:
        InputError: The recipe has errors, or another one's model has the same folder.
        MachineError: A source of the recipe cannot be downloaded.
    """
    folder = path.with_suffix("")
    if seed is None:
        return open_training(path, progress=progress), folder
    folder = folder.with_name(f"{folder.name}.seed{seed}")
    for ending in RECIPES:
        other = folder.with_name(f"{folder.name}{ending}")
        if other.exists():
            raise InputError(
                f"its model of seed {seed} would have the folder of the model of {other.name}.",
                path=path,
                hint="Give one of the recipes another name.",
            )
    return open_training(path, (f"training.seed={seed}",), progress=progress), folder
