"""JSON from users: lines, whole files, and values of large files in bounded memory.

Every reader of JSON passes through here, so that what cannot be used later is refused with file and
line: values nested so deeply that a function over them would run out of stack, numbers of thousands
of digits, halves of surrogate pairs, which no UTF-8 file can hold. (ijson would be shorter, but it
gives no lines, reads half of a surrogate pair as a question mark, and refuses integers beyond 64
bits.)
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from adducir.core.errors import InputError
from adducir.core.files import MOST_SETTINGS, read_lines, read_pieces, read_text
from adducir.core.streams import BrokenStream

WHOLE = "Every line must hold one whole JSON object."
_DEEPEST = 100  # as in recipes
_HALVES = re.compile(r"\\u[dD][89a-fA-F]")
_BLANK = re.compile(r"[ \t\r\n]*")
_CUT_OFF = 32  # an error so near to the end of what was read may be that the rest is missing
_decode = json.JSONDecoder().raw_decode


def json_values(path: Path, hint: str = WHOLE) -> Iterator[tuple[int, Any]]:
    """The value of each line that is not blank, with its 1-based number."""
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
    """The value of one line; without ``line`` of a whole file, which may hold ``NaN``."""
    try:
        value = json.loads(text) if line is None else orjson.loads(text)
    except (ValueError, RecursionError) as error:
        raise _json_error(error, path, line, hint) from None
    _refuse_unusable(value, text, path, line)
    return value


def json_document(path: Path) -> Any:
    """The one value of a file of settings, which is small."""
    return json_value(read_text(path, MOST_SETTINGS), path)


def json_object(path: Path) -> dict[str, Any]:
    """The one object of a file of settings."""
    found = json_document(path)
    if not isinstance(found, dict):
        raise InputError("this is not a JSON object.", path=path)
    return found


def _json_error(
    error: ValueError | RecursionError, path: Path, line: int | None, hint: str | None = None
) -> InputError:
    if isinstance(error, RecursionError) or "depth limit" in str(error):
        return InputError(f"values are nested more than {_DEEPEST} deep.", path=path, line=line)
    if isinstance(error, json.JSONDecodeError):  # orjson's is one
        what = f"this is not JSON: {error.msg} (character {error.colno})."
        return InputError(what, path=path, line=line or error.lineno, hint=hint)
    # Python's own int() refuses more digits than sys.get_int_max_str_digits().
    return InputError("a number in it has thousands of digits.", path=path, line=line)


def _refuse_unusable(value: Any, text: str, path: Path, line: int | None) -> None:
    # Most texts show at once that nothing can be wrong.
    if text.count("[") + text.count("{") > _DEEPEST and _is_deep(value, _DEEPEST):
        raise _json_error(RecursionError(), path, line)
    if _HALVES.search(text):
        try:
            orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
        except TypeError as error:
            if "surrogates" in str(error):  # else a number beyond 64 bits, which can be used
                what = "a text in it holds half of a surrogate pair (\\ud800 to \\udfff alone)."
                hint = "Correct the text where it comes from."
                raise InputError(what, path=path, line=line, hint=hint) from None


def _is_deep(value: Any, most: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return not most or any(_is_deep(one, most - 1) for one in inner)


def read_objects(path: Path, *, wrapped: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each object of a file with the 1-based line where it begins.

    The file holds one array of objects (as HotpotQA's and ELI5-Category's own files), or objects
    with white space between them (JSONL). ``wrapped``: the array is the only member of an object,
    as in args.me's own files.
    """
    text = _Text(path)
    wrapped = wrapped and text.take("{")
    if wrapped:
        text.value()
        text.want(":")
    is_array = text.take("[")
    done = is_array and text.take("]")
    while not done and (text.peek() or is_array):
        line, value = text.line, text.value()
        if not isinstance(value, dict):
            what = f"a JSON object is wanted, not a {type(value).__name__}."
            raise InputError(what, path=path, line=line)
        yield line, value
        done = is_array and not text.take(",")
        if done:
            text.want("]")
    if wrapped:
        text.want("}")
    text.end()


class Entry(NamedTuple):
    """One value of a table: the 1-based line it begins in, its column and row."""

    line: int
    column: str
    row: str
    value: Any


def is_columns(path: Path) -> bool:
    """Whether a file begins with an object whose first value is an object."""
    text = _Text(path)
    if not text.take("{") or text.peek() != '"':
        return False
    text.value()
    return text.take(":") and text.peek() == "{"


def read_columns(path: Path) -> Iterator[Entry]:
    """Every value of a table that is written column by column, as pandas writes them.

    ``{"query": {"0": "what is ...", "1": ...}, "query_id": {"0": 9652, ...}, ...}``: MS MARCO's
    question answering files are of this form, 5 GB on one line.
    """
    text = _Text(path)
    for column in text.names():
        for row in text.names():
            yield Entry(text.line, column, row, text.value())
    text.end()


def is_json(head: str) -> bool:
    """Whether a text begins like one JSON object or an array of values, and not like prose.

    ``[Illustration]``, ``[1]`` and ``{Note}`` open books; ``[{``, ``["``, ``[[`` and ``{"`` JSON.
    """
    start = head.lstrip("\ufeff \t\r\n")
    inner = start[1:].lstrip(" \t\r\n")[:1]
    return inner != "" and inner in {"{": '"}', "[": '{["'}.get(start[:1], "")


class _Text:
    """What of a file is not decoded yet, read on as it is needed; ``line`` is that of the place."""

    def __init__(self, path: Path) -> None:
        self.path, self.line = path, 1
        self._pieces = read_pieces(path)
        self._text, self._at = "", 0

    def peek(self) -> str:
        """Go behind white space; the character there, nothing at the end."""
        while True:
            found = _BLANK.match(self._text, self._at)
            self._advance(found.end() if found else self._at)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read_on():
                return ""

    def take(self, mark: str) -> bool:
        """Go behind a mark, if that comes next."""
        found = self.peek() == mark
        self._at += found
        return found

    def want(self, mark: str) -> None:
        """Go behind a mark; an InputError if that does not come next."""
        if not self.take(mark):
            where = "here" if self.peek() else "where the file is cut off"
            raise InputError(f"{mark!r} is missing {where}.", path=self.path, line=self.line)

    def end(self) -> None:
        """An InputError if anything follows."""
        if self.peek():
            raise InputError("something follows the end.", path=self.path, line=self.line)

    def names(self) -> Iterator[str]:
        """The keys of the object that begins here; whoever takes one reads its value."""
        self.want("{")
        more = not self.take("}")
        while more:
            if self.peek() != '"':
                what = "a name in quotation marks is missing."
                raise InputError(what, path=self.path, line=self.line)
            key = str(self.value())
            self.want(":")
            self.peek()  # to the value, for its line
            yield key
            more = self.take(",")
            if not more:
                self.want("}")

    def value(self) -> Any:
        """The next value; an InputError if it is not JSON."""
        self.peek()
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except json.JSONDecodeError as error:
                near = error.pos + _CUT_OFF >= len(self._text)
                if not (near or error.msg.startswith("Unterminated")) or not self._read_on():
                    self._advance(error.pos)
                    raise InputError(
                        f"this is not JSON: {error.msg}.", path=self.path, line=self.line
                    ) from None
            except (RecursionError, ValueError) as error:
                raise _json_error(error, self.path, self.line) from None
            else:
                if end < len(self._text) or not self._read_on():  # 12 may be the beginning of 123
                    _refuse_unusable(value, self._text[self._at : end], self.path, self.line)
                    self._advance(end)
                    return value

    def _advance(self, place: int) -> None:
        self.line += self._text.count("\n", self._at, place)
        self._at = place

    def _read_on(self) -> bool:
        """Read as much again as is in memory, so that a long value is not scanned too often."""
        parts = [self._text[self._at :]]
        wanted = max(1, len(parts[0]))
        try:
            while wanted > 0 and (piece := next(self._pieces, "")):
                parts.append(piece)
                wanted -= len(piece)
        except BrokenStream as broken:
            raise broken.after(self.line - 1 + "".join(parts).count("\n")) from broken
        more = len(parts) > 1
        if more:
            self._text, self._at = "".join(parts), 0
        return more
