"""JSON that is written column by column: one object of objects, as pandas writes tables.

``{"query": {"0": "what is ...", "1": ...}, "query_id": {"0": 9652, ...}, ...}``: each column has a
value for each row. MS MARCO's question answering files are of this form, 5 GB on one line.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from adducir.core.errors import InputError
from adducir.core.json_objects import JsonText


class Entry(NamedTuple):
    """One value of a table: the 1-based line it begins in, its column and row."""

    line: int
    column: str
    row: str
    value: Any


def is_columns(path: Path) -> bool:
    """Whether a file begins with an object whose first value is an object.

    Raises:
        InputError: It cannot be read, or is no JSON up to there.
    """
    text = JsonText(path)
    if not text.next_is("{"):
        return False
    text.skip(1)
    if not text.next_is('"'):
        return False
    text.decode()
    if not text.next_is(":"):
        return False
    text.skip(1)
    return text.next_is("{")


def read_columns(path: Path) -> Iterator[Entry]:
    """Yield every value of a table, column after column, plain or compressed.

    In memory is the value that is being read, and some hundred kilobytes around it.

    Raises:
        InputError: It cannot be read, or is not of this form.
    """
    text = JsonText(path)
    for column in _keys(text):
        for row in _keys(text):
            line = text.line
            yield Entry(line, column, row, text.decode())
    if not text.at_end():
        raise InputError("something follows the end of the table.", path=path, line=text.line)


def _keys(text: JsonText) -> Iterator[str]:
    """The keys of the object that begins here; whoever takes one reads its value."""
    _expect(text, "{")
    if text.next_is("}"):
        text.skip(1)
        return
    while True:
        if not text.next_is('"'):
            what = "a name in quotation marks is wanted here."
            raise InputError(what, path=text.path, line=text.line)
        key = str(text.decode())
        _expect(text, ":")
        text.at_end()  # to the value, for its line
        yield key
        if text.next_is("}"):
            text.skip(1)
            return
        _expect(text, ",")


def _expect(text: JsonText, mark: str) -> None:
    if not text.next_is(mark):
        what = "the file is cut off" if text.at_end() else "it is not"
        raise InputError(
            f"{mark!r} is wanted here, and {what}.",
            path=text.path,
            line=text.line,
            hint="A table is one object of objects: a column each, with a value for each row.",
        )
    text.skip(1)
