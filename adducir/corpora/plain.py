"""Plain texts of books: what is no plain text is refused, so that nobody extracts from raw JSON."""

import re
from pathlib import Path

from adducir.core.errors import InputError
from adducir.core.files import read_text
from adducir.core.json_lines import is_json
from adducir.core.streams import COMPRESSED, plain_name

TEXT_ENDINGS = tuple(f".txt{packed}" for packed in ("", *COMPRESSED))
"""The endings of plain texts."""

_MARKUP = re.compile(r"<(?:[?!]|/?[a-z][\w:.-]*(?:\s[^<>]*)?/?>)", re.IGNORECASE)
_LOOK = 4096
_ROWS = 3


def read_plain(path: Path) -> str:
    """The text of a book's file.

    Raises:
        InputError: The file cannot be read, or it holds JSON, markup or a table.
    """
    text = read_text(path)
    what = structure_of(text)
    if what is not None:
        raise InputError(
            f"this is {what} and not the plain text of a book.",
            path=path,
            line=1,
            hint="Take the text out of it first, or name the format of its records.",
        )
    return text


def structure_of(text: str) -> str | None:
    """What a text is where it is no plain text: JSON, markup, or a table with tabs."""
    head = text[:_LOOK].lstrip("\ufeff \t\r\n")
    if is_json(head):
        return "JSON"
    if _MARKUP.match(head):
        return "markup (HTML, XML or SGML)"
    tabs = [line.count("\t") for line in head.split("\n")[:-1] if line.strip()][:_ROWS]
    is_table = len(tabs) == _ROWS and tabs[0] > 0 and len(set(tabs)) == 1
    return "a table with tabs" if is_table else None


def stem_of(path: Path) -> str:
    """The name of a file without ``.txt`` and the ending of its compression."""
    return plain_name(path.name).removesuffix(".txt")
