"""JSON values of a large file, one after another, in bounded memory.

Read are arrays of objects, objects one after another (JSONL), and tables written column by column,
``{"query": {"0": "what is ...", "1": ...}, "query_id": {"0": 9652, ...}, ...}``, as pandas writes
them; MS MARCO's question answering files are of this form, 5 GB on one line. In memory is the value
that is being read, and some hundred kilobytes around it. (ijson would be shorter, but it gives no
lines, reads half of a surrogate pair as a question mark, and refuses whole numbers beyond 64 bits.)
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from adducir.core.errors import InputError
from adducir.core.files import read_pieces
from adducir.core.json_lines import json_error, refuse_unusable
from adducir.core.streams import BrokenStream

_BLANK = re.compile(r"[ \t\r\n]*")
_CUT_OFF = 32
"""An error so near to the end of what has been read may be that the rest is not there yet."""
_decode = json.JSONDecoder().raw_decode


def read_objects(path: Path, *, wrapped: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each object of a file, plain or compressed, with the 1-based line where it begins.

    The file holds one array of objects (as HotpotQA's and ELI5-Category's own files), or objects
    with white space between them (JSONL).

    Args:
        path: The file.
        wrapped: The array is the only member of an object, as in args.me's own files.

    Raises:
        InputError: It cannot be read, is not such JSON, or holds something else than objects.
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
    """Whether a file begins with an object whose first value is an object.

    Raises:
        InputError: It cannot be read, or is not JSON up to there.
    """
    text = _Text(path)
    if not text.take("{") or text.peek() != '"':
        return False
    text.value()
    return text.take(":") and text.peek() == "{"


def read_columns(path: Path) -> Iterator[Entry]:
    """Yield every value of a table, column after column, plain or compressed.

    Raises:
        InputError: It cannot be read, or is not of this form.
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
                raise json_error(error, self.path, self.line) from None
            else:
                if end < len(self._text) or not self._read_on():  # 12 may be the beginning of 123
                    refuse_unusable(value, self._text[self._at : end], self.path, self.line)
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
