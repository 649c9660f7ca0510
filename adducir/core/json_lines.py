"""JSON from users: of lines and of whole files, with file and line where it is none.

Every reader of JSON passes through here, so that what cannot be used later is refused at once and
in the same words: values nested so deeply that a function over them would run out of stack, numbers
of thousands of digits, halves of surrogate pairs, which no file in UTF-8 can hold.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from adducir.core.errors import InputError
from adducir.core.files import MOST_SETTINGS, read_lines, read_text

WHOLE = "Every line must hold one whole JSON object."
DEEPEST = 100
"""Lists and objects may stand so deep inside one another, as in recipes."""
_HALVES = re.compile(r"\\u[dD][89a-fA-F]")


def json_values(path: Path, hint: str = WHOLE) -> Iterator[tuple[int, Any]]:
    """Yield the value of each line that is not blank, with its 1-based number.

    Raises:
        InputError: The file cannot be read, or a line is not JSON.
    """
    for number, line in read_lines(path):
        if line and not line.isspace():
            yield number, json_value(line, path, number, hint)


def json_objects(path: Path, hint: str = WHOLE) -> Iterator[tuple[int, dict[str, Any]]]:
    """The same, of a file whose values must be objects."""
    for number, value in json_values(path, hint):
        if type(value) is not dict:
            what = f"this is not a JSON object but a {type(value).__name__}."
            raise InputError(what, path=path, line=number, hint=hint)
        yield number, value


def json_value(text: str, path: Path, line: int | None = None, hint: str | None = None) -> Any:
    """The value of one line; without its number of a whole file, with ``NaN`` as Python writes it.

    Raises:
        InputError: It is not JSON; with the line.
    """
    try:
        value = json.loads(text) if line is None else orjson.loads(text)
    except (ValueError, RecursionError) as error:
        raise json_error(error, path, line, hint) from None
    refuse_unusable(value, text, path, line)
    return value


def json_document(path: Path) -> Any:
    """The one value of a file of settings, which is small.

    Raises:
        InputError: The file cannot be read, is too large for settings, or is not JSON.
    """
    return json_value(read_text(path, MOST_SETTINGS), path)


def json_object(path: Path) -> dict[str, Any]:
    """The one object of a file of settings.

    Raises:
        InputError: As :func:`json_document`, or it is another value.
    """
    found = json_document(path)
    if not isinstance(found, dict):
        raise InputError("this is not a JSON object.", path=path)
    return found


def json_error(
    error: ValueError | RecursionError,
    path: Path,
    line: int | None = None,
    hint: str | None = None,
) -> InputError:
    """The error for what a JSON parser complains of; without ``line`` the parser reports it."""
    if isinstance(error, RecursionError) or "depth limit" in str(error):
        return _too_deep(path, line)
    if isinstance(error, json.JSONDecodeError):  # orjson's is one
        what = f"this is not JSON: {error.msg} (character {error.colno})."
        return InputError(what, path=path, line=line or error.lineno, hint=hint)
    # Python's own int() refuses more digits than sys.get_int_max_str_digits().
    return InputError("a number in it has thousands of digits.", path=path, line=line)


def refuse_unusable(value: Any, text: str, path: Path, line: int | None = None) -> None:
    """Refuse a value that can be parsed but not used; ``text`` is what it was read from.

    Raises:
        InputError: It is nested too deeply, or holds half of a surrogate pair.
    """
    # Most texts show at once that nothing can be wrong.
    if text.count("[") + text.count("{") > DEEPEST and _is_deep(value, DEEPEST):
        raise _too_deep(path, line)
    if _HALVES.search(text):
        try:
            orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
        except TypeError as error:
            if "surrogates" in str(error):  # else a number beyond 64 bits, which can be used
                what = "a text in it holds half of a surrogate pair (\\ud800 to \\udfff alone)."
                hint = "Correct the text where it comes from."
                raise InputError(what, path=path, line=line, hint=hint) from None


def _is_deep(value: Any, most: int) -> bool:
    """Whether lists and objects stand more than ``most`` deep inside one another."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return not most or any(_is_deep(one, most - 1) for one in inner)


def _too_deep(path: Path, line: int | None) -> InputError:
    return InputError(f"values are nested more than {DEEPEST} deep.", path=path, line=line)
