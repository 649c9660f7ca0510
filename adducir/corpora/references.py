"""From what a recipe writes to what is opened: variables and relative paths."""

import os
import re
from pathlib import Path

from adducir.core.errors import InputError
from adducir.corpora.bundled import PREFIX
from adducir.corpora.sources import resolve

_VARIABLE = re.compile(r"\$\{(\w+)\}")


def expanded(source: str) -> str:
    """The source with each ``${NAME}`` replaced by that environment variable.

    Raises:
        InputError: A variable is not set, or is empty.
    """

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if not found:
            state = "not set" if found is None else "empty"
            raise InputError(
                f"the environment variable {match[1]} is {state}.",
                path=source,
                hint=f"Set it to the folder it stands for: export {match[1]}=/path/to/folder",
                absent=True,
            )
        return found

    return _VARIABLE.sub(value, source)


def source_path(source: str, folder: Path) -> str:
    """The source with its variables replaced; a relative path starts at ``folder``.

    What is no file there and does not read like a path is kept as it is: an ir_datasets id.

    Raises:
        InputError: A variable is not set; or the source reads like a path, or is a file in the
            current folder, but there is no such file in ``folder``.
    """
    full = expanded(source)
    if not full.strip() or full.startswith((PREFIX, "~")) or Path(full).is_absolute():
        return full
    path = folder / full
    if path.exists():
        return str(path)
    try:
        is_elsewhere = isinstance(resolve(full), Path)
    except InputError as error:
        raise InputError(
            error.what, path=path, hint=_starts_at(folder), absent=error.absent
        ) from error
    if is_elsewhere:
        raise InputError(
            "there is no such file or folder; one of that name is in the current folder.",
            path=path,
            hint=_starts_at(folder),
        )
    return full


def file_path(source: str, folder: Path) -> Path:
    """The path of a file with its variables replaced, starting at ``folder`` where relative.

    Raises:
        InputError: A variable is not set.
    """
    return folder / Path(expanded(source)).expanduser()


def _starts_at(folder: Path) -> str:
    return f"Relative paths start at the study's folder, {folder}."
