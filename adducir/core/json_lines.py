"""JSON from users: lines, whole files, and large files value by value in bounded memory.

All user JSON is read here, so that errors name file and line. (ijson would be shorter, but does not
report lines.)
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adducir.core.errors import InputError
from adducir.core.files import BrokenStream, read_lines, read_pieces, read_text
from adducir.core.texts import repeated

WHOLE = "Every line must hold one whole JSON object."
_BLANK = re.compile(r"[ \t\r\n]*")
_CUT_OFF = 32  # an error this close to the end may mean that the rest is missing
_TWO_63 = 2.0**63
_DEEPER = frozenset({float, dict, list})
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def json_values(path: Path, hint: str = WHOLE) -> Iterator[tuple[int, Any]]:
    """The value of each non-blank line with its 1-based number."""
    for number, line in read_lines(path):
        if line and not line.isspace():
            yield number, json_value(line, path, number, hint)


def json_objects(path: Path, hint: str = WHOLE) -> Iterator[tuple[int, dict[str, Any]]]:
    """The same, for a file whose values must be objects."""
    for number, value in json_values(path, hint):
        if type(value) is not dict:
            raise InputError("this is not a JSON object.", path=path, line=number, hint=hint)
        yield number, value


def json_value(text: str, path: Path, line: int | None = None, hint: str | None = None) -> Any:
    import orjson

    try:
        value = orjson.loads(text)
    except json.JSONDecodeError as error:
        what = f"this is not JSON: {error.msg} (character {error.colno})."
        raise InputError(what, path=path, line=line or error.lineno, hint=hint) from None
    return json.loads(text) if _is_rounded(value) else value


def _is_rounded(value: Any) -> bool:
    """Whether orjson may have made a float of an integer of more than 64 bits."""
    kind = type(value)
    if kind is float:
        return bool(abs(value) >= _TWO_63)
    if kind is dict:
        return any(type(one) in _DEEPER and _is_rounded(one) for one in value.values())
    return kind is list and any(type(one) in _DEEPER and _is_rounded(one) for one in value)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


def json_document(path: Path) -> Any:
    return json_value(read_text(path), path)


def json_unique(text: str, path: Path) -> Any:
    """The value of a whole file, no object of which may repeat a key."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            twice = repeated(key for key, _ in pairs)
            raise InputError(f"the key {twice[0]!r} is repeated.", path=path)
        return found

    json_value(text, path)  # whose errors name the line
    try:
        return json.loads(text, object_pairs_hook=unique)
    except RecursionError as error:
        raise InputError(f"this is not usable JSON: {error}.", path=path) from error


def json_object(path: Path) -> dict[str, Any]:
    found = json_document(path)
    if not isinstance(found, dict):
        raise InputError("this is not a JSON object.", path=path)
    return found


def read_objects(path: Path, *, wrapped: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each object of a file with the 1-based line where it begins.

    The file holds one array of objects (HotpotQA, ELI5-Category) or objects separated by white
    space (JSONL). ``wrapped``: the array is the only member of an object (args.me).
    """
    text = JsonText(path)
    wrapped = wrapped and text.take("{")
    if wrapped:
        text.value()
        text.want(":")
    is_array = text.take("[")
    done = is_array and text.take("]")
    while not done and (text.peek() or is_array):
        line, value = text.line, text.value()
        if not isinstance(value, dict):
            raise InputError("this is not a JSON object.", path=path, line=line)
        yield line, value
        done = is_array and not text.take(",")
        if done:
            text.want("]")
    if wrapped:
        text.want("}")
    text.end()


def is_json(head: str) -> bool:
    """Whether a text begins like a JSON object or array rather than prose.

    Books begin ``[Illustration]``, ``[1]`` or ``{Note}``; JSON ``[{``, ``["``, ``[[`` or ``{"``.
    """
    return re.match(r"[\ufeff \t\r\n]*(\[[ \t\r\n]*[{\[\"]|\{[ \t\r\n]*[\"}])", head) is not None


_decode = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode


class JsonText:
    """The undecoded rest of a file, read as needed; ``line`` is the current one."""

    def __init__(self, path: Path) -> None:
        self.path, self.line = path, 1
        self._pieces = read_pieces(path)
        self._text, self._at = "", 0

    def peek(self) -> str:
        while True:
            found = _BLANK.match(self._text, self._at)
            self._advance(found.end() if found else self._at)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read_on():
                return ""

    def take(self, mark: str) -> bool:
        found = self.peek() == mark
        self._at += found
        return found

    def want(self, mark: str) -> None:
        if not self.take(mark):
            where = "here" if self.peek() else "where the file is cut off"
            raise self._error(f"{mark!r} is missing {where}.")

    def end(self) -> None:
        if self.peek():
            raise self._error("something follows the end.")

    def names(self) -> Iterator[str]:
        """The keys of the object that begins here; the caller reads each value."""
        self.want("{")
        more = not self.take("}")
        while more:
            if self.peek() != '"':
                raise self._error("a name in quotation marks is missing.")
            key = str(self.value())
            self.want(":")
            self.peek()  # to the value, for its line
            yield key
            more = self.take(",")
            if not more:
                self.want("}")

    def value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = _decode(self._text, self._at)
                if _HALF.search(self._text, self._at, end):
                    json_value(self._text[self._at : end], self.path)  # refuses half characters
            except json.JSONDecodeError as error:
                near = error.pos + _CUT_OFF >= len(self._text)
                if not (near or error.msg.startswith("Unterminated")) or not self._read_on():
                    self._advance(error.pos)
                    raise self._error(f"this is not JSON: {error.msg}.") from None
            except (RecursionError, ValueError) as error:  # thousands of brackets or digits
                raise self._error(f"this is not usable JSON: {error}.") from None
            else:
                if end < len(self._text) or not self._read_on():  # 12 may be the start of 123
                    self._advance(end)
                    return value

    def _error(self, what: str) -> InputError:
        return InputError(what, path=self.path, line=self.line)

    def _advance(self, place: int) -> None:
        self.line += self._text.count("\n", self._at, place)
        self._at = place

    def _read_on(self) -> bool:
        """Double what is in memory, so that a long value is not scanned too often."""
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
