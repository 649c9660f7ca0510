"""JSON from users: lines, whole files, and large files value by value in bounded memory.

All user JSON is read here, so that errors name file and line. (ijson would be shorter, but does not
report lines.) Lines, arrays and whole files follow orjson's dialect: NaN, infinity and half of a
surrogate pair are refused. Integers beyond 64 bits, which orjson rounds, are exact.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from adducir.core.errors import InputError
from adducir.core.files import BrokenStream, read_lines, read_pieces, read_text
from adducir.core.texts import repeated

WHOLE = "Every line must hold one whole JSON object."
_BLANK = re.compile(r"[ \t\r\n]*")
_CUT_OFF = 32  # an error this close to the end may mean that the rest is missing
_LARGEST = 2.0**63
_DEEP = frozenset((float, dict, list))
_decode = json.JSONDecoder().raw_decode


def json_values(path: Path, hint: str = WHOLE) -> Iterator[tuple[int, Any]]:
    """The value of each non-blank line with its 1-based number."""
    from orjson import loads  # not at start-up, where nothing is read

    for number, line in read_lines(path):
        try:
            value = loads(line)
        except json.JSONDecodeError:
            if line and not line.isspace():
                json_value(line, path, number, hint)  # says what is wrong
            continue
        yield number, _exact(line, path, number) if _has_large(value) else value


def json_objects(path: Path, hint: str = WHOLE) -> Iterator[tuple[int, dict[str, Any]]]:
    """The same, for a file whose values must be objects."""
    for number, value in json_values(path, hint):
        if type(value) is not dict:
            raise InputError("this is not a JSON object.", path=path, line=number, hint=hint)
        yield number, value


def json_value(text: str, path: Path, line: int | None = None, hint: str | None = None) -> Any:
    try:
        value = _loads(text)
    except json.JSONDecodeError as error:
        message = f"this is not JSON: {error.msg} (character {error.colno})."
        raise InputError(message, path=path, line=line or error.lineno, hint=hint) from None
    return _exact(text, path, line) if _has_large(value) else value


def _loads(text: str) -> Any:
    from orjson import loads

    return loads(text)


def _has_large(value: Any) -> bool:
    """Whether a float anywhere in a value may have been an integer beyond 64 bits."""
    values = value
    if type(value) is dict:
        values = value.values()
    elif type(value) is not list:
        values = (value,)
    elif value and type(value[0]) is float and set(map(type, value)) == {float}:  # a vector
        return max(max(value), -min(value)) >= _LARGEST
    if _DEEP.isdisjoint(map(type, values)):  # the usual case is cheap
        return False
    for part in values:
        kind = type(part)
        if kind is float:
            if not -_LARGEST < part < _LARGEST:
                return True
        elif (kind is dict or kind is list) and part and _has_large(part):
            return True
    return False


def _exact(text: str, path: Path, line: int | None) -> Any:
    """The value with its integers beyond 64 bits, which orjson rounds."""
    try:
        return json.loads(text)
    except ValueError as error:  # thousands of digits
        raise InputError(f"this is not usable JSON: {error}.", path=path, line=line) from None


def json_document(path: Path) -> Any:
    return json_value(read_text(path), path)


def json_unique(text: str, path: Path) -> Any:
    """The value of a whole file, no object of which may repeat a key."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(mapping := dict(pairs)) < len(pairs):
            twice = repeated(key for key, _ in pairs)
            raise InputError(f"the key {twice[0]!r} is repeated.", path=path)
        return mapping

    json_value(text, path)  # whose errors name the line
    try:
        return json.loads(text, object_pairs_hook=unique)
    except RecursionError as error:
        raise InputError(f"this is not usable JSON: {error}.", path=path) from error


def json_object(path: Path) -> dict[str, Any]:
    value = json_document(path)
    if not isinstance(value, dict):
        raise InputError("this is not a JSON object.", path=path)
    return value


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


class JsonText:
    """The undecoded rest of a file, read as needed; ``line`` is the current one.

    The end of an object is guessed: the records of a file usually have equally many braces, and
    what is valid JSON up to a closing brace is complete. Else Python's slower decoder finds it.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.line = path, 1
        self._pieces = read_pieces(path)
        self._text, self._at = "", 0
        self._before = self._braces = 0

    def peek(self) -> str:
        if self._at < len(self._text) and self._text[self._at] not in " \t\r\n":
            return self._text[self._at]
        while True:
            blank = _BLANK.match(self._text, self._at)
            self._advance(blank.end() if blank else self._at)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read_on():
                return ""

    def take(self, mark: str) -> bool:
        is_next = self.peek() == mark
        self._at += is_next
        return is_next

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
        end = self._at
        for _ in range(self._braces):  # as many as the objects before had
            end = self._text.find("}", end) + 1 or len(self._text)
        if self._braces:
            with suppress(ValueError):
                value = _loads(self._text[self._at : end])
                if not _has_large(value):
                    self._advance(end)
                    return value
        while True:
            try:
                _, end = _decode(self._text, self._at)
            except json.JSONDecodeError as error:
                near = error.pos + _CUT_OFF >= len(self._text)
                if not (near or error.msg.startswith("Unterminated")) or not self._read_on():
                    # What is cut off ends on its last line, not on the empty one after it.
                    is_cut = not self._text[error.pos :].strip()
                    self._advance(len(self._text.rstrip()) if is_cut else error.pos)
                    raise self._error(f"this is not JSON: {error.msg}.") from None
            except (RecursionError, ValueError) as error:  # thousands of brackets or digits
                raise self._error(f"this is not usable JSON: {error}.") from None
            else:
                if end < len(self._text) or not self._read_on():  # 12 may be the start of 123
                    text = self._text[self._at : end]
                    value, braces = self._checked(text), text.count("}")
                    # Numbers could go on, so that only an object shows its end.
                    self._braces = braces if braces == self._before and text[0] == "{" else 0
                    self._before = braces
                    self._advance(end)
                    return value

    def _checked(self, text: str) -> Any:
        try:
            value = _loads(text)
        except json.JSONDecodeError as error:
            self._advance(self._at + error.pos)
            raise self._error(f"this is not JSON: {error.msg}.") from None
        return _exact(text, self.path, self.line) if _has_large(value) else value

    def _error(self, message: str) -> InputError:
        return InputError(message, path=self.path, line=self.line)

    def _advance(self, place: int) -> None:
        self.line += self._text.count("\n", self._at, place)
        self._at = place

    def _read_on(self) -> bool:
        """Double what is in memory, so that a long value is not scanned too often."""
        parts = [self._text[self._at :]]
        missing = max(1, len(parts[0]))
        try:
            while missing > 0 and (piece := next(self._pieces, "")):
                parts.append(piece)
                missing -= len(piece)
        except BrokenStream as broken:
            raise broken.after(self.line - 1 + "".join(parts).count("\n")) from broken
        more = len(parts) > 1
        if more:
            self._text, self._at = "".join(parts), 0
        return more
