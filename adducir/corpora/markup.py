"""SGML markup in documents and topics: elements, entities, comments."""

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

# Adjacent repeats are possessive (*+); otherwise a long unclosed tag takes quadratic time.
_TAG = re.compile(r"<(/?)([A-Za-z][\w.:-]*+)[^<>]*+>")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]*);")


class Element(NamedTuple):
    """An outermost element: its name in lower case and its content, including tags."""

    name: str
    content: str
    start: int
    end: int


def elements(body: str, *, unclosed: bool = False) -> Iterator[Element]:
    """The outermost elements of some SGML; ``unclosed`` ones may end at the next tag."""
    tags, last_close = list(_TAG.finditer(body)), dict[str, int]()
    for tag in tags:
        if tag[1]:
            last_close[tag[2].lower()] = tag.start()
    opened, inside = "", None
    for number, tag in enumerate(tags, 1):
        name = tag[2].lower()
        if inside is not None:
            if tag[1] and name == opened:
                yield Element(name, body[inside.end() : tag.start()], inside.start(), tag.end())
                inside = None
        elif not tag[1] and last_close.get(name, -1) > tag.start():
            opened, inside = name, tag
        elif unclosed and not tag[1] and not tag[0].endswith("/>"):
            end = tags[number].start() if number < len(tags) else len(body)
            yield Element(name, body[tag.end() : end], tag.start(), end)


def without_comments(body: str) -> str:
    """The text without ``<!-- -->``; newlines in comments stay, so that line numbers hold."""
    kept: list[str] = []
    position = 0
    while (start := body.find("<!--", position)) >= 0:
        end = body.find("-->", start + 4)
        if end < 0:  # later ones are not closed either
            break
        kept += [body[position:start], "\n" * body.count("\n", start, end)]
        position = end + 3
    return "".join([*kept, body[position:]])


def with_plain_text(body: str) -> str:
    """The SGML with its CDATA sections as escaped text."""
    end = body.rfind("]]>") + 3  # a search for more ends would take quadratic time
    return _CDATA.sub(lambda match: html.escape(match[1]), body[:end]) + body[end:]


def plain(content: str) -> str:
    """The text of some SGML: tags become blanks, HTML's entities become characters."""
    text = _TAG.sub(" ", content) if "<" in content else content
    if "&" in text:
        text = _ENTITY.sub(lambda match: html.unescape(match[0]), text)
    return text.strip()


def collapse(text: str) -> str:
    """The text on one line: every run of white space becomes one blank."""
    return " ".join(text.split())
