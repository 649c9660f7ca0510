"""The JSON files of a model's folder."""

import json
from pathlib import Path
from typing import Any

from adducir.study.errors import InputError
from adducir.study.files import read_text


def read_object(path: Path) -> dict[str, Any]:
    """The object in a file.

    Raises:
        InputError: The file cannot be read, is no JSON, or holds something else.
    """
    found = read_json(path)
    if not isinstance(found, dict):
        raise InputError("this is no JSON object.", path=path)
    return found


def read_json(path: Path) -> Any:
    """The value in a file.

    Raises:
        InputError: The file cannot be read, or is no JSON.
    """
    try:
        return json.loads(read_text(path))
    except RecursionError as error:
        raise InputError("its values are nested too deeply.", path=path) from error
    except ValueError as error:
        raise InputError(f"this is not JSON: {str(error)[:200]}.", path=path) from error
