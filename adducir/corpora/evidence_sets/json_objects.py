"""The objects of a JSON file, one after another: of an array, or one a line."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adducir.study.errors import InputError
from adducir.study.files import read_text

_BLANK = re.compile(r"[ \t\r\n]*")


def read_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each object of a file, plain or gzip, with the 1-based line where it begins.

    The file holds one array of objects (HotpotQA's own files, of up to 600 MB), or objects with
    white space between them (JSONL). Its text is held in memory, the objects are not.

    Raises:
        InputError: It cannot be read, is no such JSON, or holds something else than objects.
    """
    text = read_text(path)
    decode = json.JSONDecoder().raw_decode
    place = _after_blanks(text, 0)
    is_array = text.startswith("[", place)
    line, counted = 1, 0
    if is_array:
        place = _after_blanks(text, place + 1)
    while place < len(text):
        if is_array and text[place] == "]":
            _refuse_rest(text, place + 1, path)
            return
        line += text.count("\n", counted, place)
        counted = place
        try:
            value, end = decode(text, place)
        except json.JSONDecodeError as error:
            raise InputError(
                f"this is not JSON: {error.msg} (character {error.colno}).",
                path=path,
                line=error.lineno,
            ) from None
        if not isinstance(value, dict):
            raise InputError(
                f"a JSON object is wanted, not a {type(value).__name__}.", path=path, line=line
            )
        yield line, value
        place = _next(text, end, path) if is_array else _after_blanks(text, end)
    if is_array:
        raise InputError(
            "the array does not end: the file is cut off.",
            path=path,
            line=text.count("\n") + 1,
            mend="Copy or download it again.",
        )


def _after_blanks(text: str, place: int) -> int:
    match = _BLANK.match(text, place)
    return match.end() if match else place


def _next(text: str, end: int, path: Path) -> int:
    """Where the array's next object begins, or its ``]`` stands."""
    place = _after_blanks(text, end)
    if text.startswith(",", place):
        place = _after_blanks(text, place + 1)
        if not text.startswith("]", place):
            return place
    elif place == len(text) or text[place] == "]":
        return place
    raise InputError(
        "a comma or the end of the array is wanted here.",
        path=path,
        line=text.count("\n", 0, place) + 1,
    )


def _refuse_rest(text: str, place: int, path: Path) -> None:
    place = _after_blanks(text, place)
    if place < len(text):
        raise InputError(
            "something follows the end of the array.",
            path=path,
            line=text.count("\n", 0, place) + 1,
        )
