"""Where a term weighter lies: the folder of its recipe's name."""

from pathlib import Path

from adducir.core.errors import InputError

RECIPES = (".yaml", ".yml")


def model_folder(path: Path) -> Path:
    """The folder of a model that is named by its recipe (``deepct/X.yaml``) or by itself.

    Raises:
        InputError: The recipe's model is not there.
    """
    if path.suffix not in RECIPES:
        return path
    folder = path.with_suffix("")
    if not folder.is_dir():
        raise InputError(
            "the model of this recipe is not trained.",
            path=path,
            hint=f"Train it: adducir train {path}",
        )
    return folder
