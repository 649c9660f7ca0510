"""What artifacts of models record: versions of libraries, and settings in JSON beside weights."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from pydantic import ValidationError

from adducir.core.artifacts import refuse_damaged
from adducir.core.errors import InputError
from adducir.core.json_lines import json_object
from adducir.core.recipe import Recipe, told
from adducir.core.texts import shortened

Kind = TypeVar("Kind", bound=Recipe)


def model_versions() -> dict[str, str]:
    """The versions of the libraries that decide a model's figures."""
    import torch
    import transformers

    return {"torch": torch.__version__, "transformers": transformers.__version__}


class ModelSettings(Recipe):
    """Settings of a kind of model, which its use needs to know."""

    file: ClassVar[str]
    what: ClassVar[str]  # what a folder without the file is not: "no encoder", say

    def save(self, folder: Path) -> None:
        write_settings(folder / self.file, self.model_dump(mode="json"))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the settings of a model that was trained here."""
        refuse_damaged(folder)
        if not (folder / cls.file).is_file():
            raise InputError(
                f"this is {cls.what}: it holds no {cls.file}.",
                path=folder,
                hint="Name a folder that `adducir train` made from a recipe of that kind.",
            )
        return as_settings(folder / cls.file, read_settings(folder / cls.file), cls)


def write_settings(path: Path, settings: Mapping[str, Any]) -> None:
    """Write settings (of a recipe its ``model_dump(mode="json")``)."""
    text = json.dumps(settings, indent=2, sort_keys=True)
    path.write_text(f"{text}\n", encoding="utf-8")


def read_settings(path: Path) -> dict[str, Any]:
    refuse_damaged(path.parent)
    return json_object(path)


def as_settings(path: Path, found: Mapping[str, Any], kind: type[Kind]) -> Kind:
    """Plain values of a file as the object that they were."""
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        what = f"this is not what Adducir wrote: {shortened(told(error), 300)}."
        raise InputError(what, path=path) from error
