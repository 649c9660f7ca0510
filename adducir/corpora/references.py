"""From what a recipe writes to what is opened: variables and relative paths."""

import os
import re
from pathlib import Path

from adducir.core.errors import InputError
from adducir.corpora.sources import PREFIX, resolve


def expanded(source: str) -> str:
    """The source with each ``${NAME}`` replaced by that environment variable."""

    def value(match: re.Match[str]) -> str:
        if found := os.environ.get(match[1]):
            return found
        raise InputError(
            f"the environment variable {match[1]} is not set.",
            path=source,
            hint=f"Set it to the folder it stands for: export {match[1]}=/path/to/folder",
            absent=True,
        )

    return re.sub(r"\$\{(\w+)\}", value, source)


def source_path(source: str, folder: Path) -> str:
    """The source with its variables replaced; a relative path starts at ``folder``, an id stays."""
    full = expanded(source)
    if not full.strip() or full.startswith((PREFIX, "~")) or Path(full).is_absolute():
        return full
    path = folder / full
    if path.exists():
        return str(path)
    hint = f"Relative paths start at the study's folder, {folder}."
    try:
        is_elsewhere = isinstance(resolve(full), Path)
    except InputError as error:
        raise InputError(error.what, path=path, hint=hint, absent=error.absent) from error
    if is_elsewhere:
        what = "there is no such file or folder; one of that name is in the current folder."
        raise InputError(what, path=path, hint=hint)
    return full


def file_path(source: str, folder: Path) -> Path:
    return folder / Path(expanded(source)).expanduser()
