"""The little SGML that TREC's documents and topics are written in."""

import html
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

# Repeats that follow one another give nothing back (*+): else a long tag that never closes takes
# time in proportion to its square.
_TAG = re.compile(r"<(/?)([A-Za-z][\w.:-]*+)[^<>]*+>")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]*);")


class Element(NamedTuple):
    """An outermost element: its name in lower case and its content, tags and all."""

    name: str
    content: str
    start: int
    end: int


class LineNumbers:
    """Tells the line of a position in a text."""

    def __init__(self, text: str) -> None:
        self._ends = [match.start() for match in re.finditer("\n", text)]

    def at(self, position: int) -> int:
        """The 1-based line that holds the character at this 0-based position."""
        return bisect_left(self._ends, position) + 1


def outermost(body: str) -> Iterator[Element]:
    """The outermost closed elements of a piece of SGML, in one pass over its tags.

    A tag that is never closed opens nothing, as SGML allows (``<P>``).
    """
    tags = [(tag[1], tag[2].lower(), tag.start(), tag.end()) for tag in _TAG.finditer(body)]
    last_close = {name: start for slash, name, start, _ in tags if slash}
    opened: tuple[str, int, int] | None = None
    for slash, name, start, end in tags:
        if opened is None:
            if not slash and last_close.get(name, -1) > start:
                opened = (name, start, end)
        elif slash and name == opened[0]:
            yield Element(name, body[opened[2] : start], opened[1], end)
            opened = None


def without_comments(body: str) -> str:
    """The text without ``<!-- -->``; the newlines of a comment stay, so that lines count."""
    kept: list[str] = []
    position = 0
    while (start := body.find("<!--", position)) >= 0:
        end = body.find("-->", start + 4)
        if end < 0:  # nor does any later one close
            break
        kept += [body[position:start], "\n" * body.count("\n", start, end)]
        position = end + 3
    return "".join([*kept, body[position:]])


def plain(content: str) -> str:
    """The text of a piece of SGML: tags become blanks, entities become characters."""
    return decode(_TAG.sub(" ", content) if "<" in content else content).strip()


def decode(text: str) -> str:
    """Write out the entities that HTML knows; an ``&`` that begins none stays as it is."""
    if "&" not in text:
        return text
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text)


def collapse(text: str) -> str:
    """The text on one line: every run of white space becomes one blank."""
    return " ".join(text.split())
