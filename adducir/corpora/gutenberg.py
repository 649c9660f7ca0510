"""Plain-text books, and what Project Gutenberg prints around them.

A file of Project Gutenberg's opens with a header, closes with the licence, and has the book
between a ``*** START OF`` and an ``*** END OF`` line (both may wrap). Files from before 2003 end
their header with ``*END*THE SMALL PRINT!`` and have "End of ... Project Gutenberg Etext" in place
of the END line. Just inside these lines stand the producers' credits and notes, and once more "End
of the Project Gutenberg EBook of ...": neither is the book's.
"""

import re
from pathlib import Path

from adducir.core.errors import InputError

# Every repeat below is possessive or bounded: on a file of nothing but blanks, or of one such line
# again and again, any other takes time in proportion to its square or worse.
_START = re.compile(
    r"^[^\S\n]*+\*\*\*[^\S\n]*+START OF\b.*(?:\n.+){0,5}?\*\*\*[^\S\n]*+$", re.MULTILINE
)
_OLD_START = re.compile(r"^.*\*END\*? ?THE SMALL PRINT.*+(?:\n.++)*", re.MULTILINE)
_END = re.compile(r"^[^\S\n]*+\*\*\*[^\S\n]*+END OF\b", re.MULTILINE)
_OLD_END = re.compile(
    r"^[^\S\n]*+\**+[^\S\n]*+end of (?:th(?:e|is) )?(?:\w+ )?project gutenberg",
    re.MULTILINE | re.IGNORECASE,
)
_CREDITS = re.compile(
    r"""(?:
        \[?(?:produced|prepared|transcribed|scanned|digitized|html\ version|updated\ by
        |special\ thanks|credits?:|release\ date:|transcriber['’]?s?['’]?\ note|e-?text
        |this\ e-?(?:text|book)\ was|note:\ project\ gutenberg)
        |.*(?:distributed\ proofread|pgdp\.net|gutenberg\.org|ebook\ was\ produced)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_TITLE = re.compile(r"^Title:[ \t]*(\S.*)$", re.MULTILINE)
_HEADER = 5000
_INK = re.compile(r"\S")
_BLANK_LINE = re.compile(r"\n[^\S\n]*+\n")
_LICENCE = re.compile(
    r"project gutenberg(?:-tm|™|\(tm\))?\s+(?:license|electronic work)", re.IGNORECASE
)


def body_bounds(text: str, path: Path | None = None) -> tuple[int, int]:
    """The first and past-the-last character of the book itself.

    A text without Project Gutenberg's lines is a book as it is.

    Raises:
        InputError: The licence would stay within the book, because a line that should part them
            is missing.
    """
    opening = _START.search(text) or _OLD_START.search(text)
    start = opening.end() if opening else 0
    endings = [found.start() for found in (_END.search(text, start),) if found]
    old = _OLD_END.search(text, start)
    if old is not None:
        endings.append(old.start())
    end = min(endings, default=len(text))
    start = _behind_credits(text, start, end)
    if _LICENCE.search(text, start, end):
        raise InputError(
            "this is a book of Project Gutenberg's, but the licence cannot be determined from "
            "the book.",
            path=path,
            hint="Restore the lines '*** START OF ... ***' and '*** END OF ... ***', or cut the "
            "licence out by hand.",
        )
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def _behind_credits(text: str, start: int, end: int) -> int:
    """Where the book begins behind the credits, which are paragraphs with a blank line after."""
    while True:
        first = _INK.search(text, start, end)
        if first is None or _CREDITS.match(text, first.start(), end) is None:
            return start
        blank = _BLANK_LINE.search(text, first.start(), end)
        if blank is None:
            return start
        start = blank.end()


def title_of(text: str) -> str | None:
    """The title in Project Gutenberg's header; None where there is none."""
    title = _TITLE.search(text[:_HEADER])
    return title[1].strip() if title else None


def body(text: str, path: Path | None = None) -> str:
    """The book itself; see :func:`body_bounds`."""
    start, end = body_bounds(text, path)
    return text[start:end]
