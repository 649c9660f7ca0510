"""The objects of a JSON file, one after another: of an array, or one per line."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adducir.core.errors import InputError
from adducir.core.files import read_pieces
from adducir.core.json_lines import json_error, refuse_unusable

_BLANK = re.compile(r"[ \t\r\n]*")
_CUT_OFF = 32
"""An error so near to the end of what has been read may be that the rest is not there yet."""


def read_objects(path: Path, *, wrapped: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each object of a file, plain or compressed, with the 1-based line where it begins.

    The file holds one array of objects (as HotpotQA's and ELI5-Category's own files), or objects
    with white space between them (JSONL). In memory is the object that is being read, and some
    hundred kilobytes around it.

    Args:
        path: The file.
        wrapped: The array is the only member of an object, as in args.me's own files.

    Raises:
        InputError: It cannot be read, is no such JSON, or holds something else than objects.
    """
    text = JsonText(path)
    wrapped = wrapped and text.next_is("{")
    if wrapped:
        text.skip(1)
        text.at_end()
        text.decode()
        text.skip(int(text.next_is(":")))
    is_array = text.next_is("[")
    if is_array:
        text.skip(1)
    while not text.at_end():
        if is_array and text.next_is("]"):
            text.skip(1)
            if wrapped and text.at_end():
                break
            text.skip(int(wrapped and text.next_is("}")))
            if not text.at_end():
                raise InputError(
                    "something follows the end of the array.", path=path, line=text.line
                )
            return
        line = text.line
        value = text.decode()
        if not isinstance(value, dict):
            raise InputError(
                f"a JSON object is wanted, not a {type(value).__name__}.", path=path, line=line
            )
        yield line, value
        if is_array:
            _to_next(text)
    if is_array:
        raise InputError(
            "the array does not end: the file is cut off.",
            path=path,
            line=text.line,
            hint="Copy or download it again.",
        )


def is_json(head: str) -> bool:
    """Whether a text begins like one JSON object or an array of values, and not like prose.

    ``[Illustration]``, ``[1]`` and ``{Note}`` open books; ``[{``, ``["``, ``[[`` and ``{"`` JSON.
    """
    start = head.lstrip("\ufeff \t\r\n")
    if start[:1] not in ("{", "["):
        return False
    inner = start[1:].lstrip(" \t\r\n")[:1]
    return inner in ('"', "}") if start[0] == "{" else inner in ("{", "[", '"')


def _to_next(text: "JsonText") -> None:
    """Skip the comma between two objects of an array; stop before its ``]``."""
    if text.next_is(","):
        text.skip(1)
        if not text.next_is("]"):
            return
    elif text.at_end() or text.next_is("]"):
        return
    raise InputError(
        "a comma or the end of the array is wanted here.", path=text.path, line=text.line
    )


class JsonText:
    """What of a file is not decoded yet, read on as it is needed.

    Attributes:
        path: The file.
        line: The 1-based line that the next value begins in.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 1
        self._pieces = read_pieces(path)
        self._text = ""
        self._place = 0
        self._column = 0  # characters of the current line before what is in memory
        self._decode = json.JSONDecoder().raw_decode

    def at_end(self) -> bool:
        """Go behind white space; whether nothing is left."""
        while True:
            match = _BLANK.match(self._text, self._place)
            self._advance(match.end() if match else self._place)
            if self._place < len(self._text):
                return False
            if not self._read_on():
                return True

    def next_is(self, letter: str) -> bool:
        """Whether this is the next character that is not white space."""
        return not self.at_end() and self._text[self._place] == letter

    def skip(self, count: int) -> None:
        """Go behind some characters."""
        self._advance(self._place + count)

    def decode(self) -> Any:
        """The next value.

        Raises:
            InputError: It is no JSON.
        """
        while True:
            try:
                value, end = self._decode(self._text, self._place)
            except json.JSONDecodeError as error:
                cut_off = error.pos + _CUT_OFF >= len(self._text)
                if not (cut_off or error.msg.startswith("Unterminated")) or not self._read_on():
                    raise self._error(error.msg, error.pos) from None
            except (RecursionError, ValueError) as error:
                raise json_error(error, self.path, self.line) from None
            else:
                refuse_unusable(value, self._text, self.path, self.line, self._place, end)
                self._advance(end)
                return value

    def _advance(self, place: int) -> None:
        breaks = self._text.count("\n", self._place, place)
        if breaks:
            self.line += breaks
        self._place = place

    def _read_on(self) -> bool:
        """Read as much again as is in memory, so that a long value is not scanned too often."""
        kept, done = self._text[self._place :], self._text[: self._place]
        broken = done.rfind("\n")
        self._column = self._column + len(done) if broken < 0 else len(done) - broken - 1
        more: list[str] = []
        wanted = max(1, len(kept))
        while wanted > 0 and (piece := next(self._pieces, "")):
            more.append(piece)
            wanted -= len(piece)
        self._text, self._place = "".join((kept, *more)), 0
        return bool(more)

    def _error(self, what: str, place: int) -> InputError:
        breaks = self._text.count("\n", self._place, place)
        start = self._text.rfind("\n", 0, place) + 1
        column = place - start + 1 + (0 if start else self._column)
        return InputError(
            f"this is not JSON: {what} (character {column}).",
            path=self.path,
            line=self.line + breaks,
        )
