"""JSON lines, with file and line where they are none."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from adducir.study.errors import InputError
from adducir.study.files import read_lines

WHOLE = "Every line must hold one whole JSON object."


def json_values(path: Path, mend: str = WHOLE) -> Iterator[tuple[int, Any]]:
    """Yield the value of each line that is not blank, with its 1-based number.

    Raises:
        InputError: The file cannot be read, or a line is no JSON.
    """
    for number, line in read_lines(path):
        if line.strip():
            yield number, json_value(line, path, number, mend)


def json_value(text: str, path: Path, line: int, mend: str = WHOLE) -> Any:
    """The value of one line.

    Raises:
        InputError: It is no JSON.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        what = f"this is not JSON: {error.msg} (character {error.pos + 1})."
        raise InputError(what, path=path, line=line, mend=mend) from None
