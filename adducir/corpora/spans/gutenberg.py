"""Plain-text books, and what Project Gutenberg prints around them.

A file of Project Gutenberg's opens with a header, closes with the licence, and has the book
between a ``*** START OF`` and an ``*** END OF`` line (both may wrap). Files from before 2003 end
their header with ``*END*THE SMALL PRINT!`` and have "End of ... Project Gutenberg Etext" in place
of the END line. Just inside these lines stand the producers' credits and notes, and once more "End
of the Project Gutenberg EBook of ...": neither is the book's.
"""

import re
from pathlib import Path

from adducir.study.errors import InputError

_START = re.compile(r"^[^\S\n]*\*\*\*[^\S\n]*START OF\b.*(?:\n.+)*?\*\*\*[^\S\n]*$", re.MULTILINE)
_OLD_START = re.compile(r"^.*\*END\*? ?THE SMALL PRINT.*(?:\n.+)*", re.MULTILINE)
_END = re.compile(r"^[^\S\n]*\*\*\*[^\S\n]*END OF\b", re.MULTILINE)
_OLD_END = re.compile(
    r"^[^\S\n]*\**[^\S\n]*end of (?:th(?:e|is) )?(?:\w+ )?project gutenberg",
    re.MULTILINE | re.IGNORECASE,
)
_CREDITS = re.compile(
    r"""\s*(?:
        \[?(?:produced|prepared|transcribed|scanned|digitized|html\ version|updated\ by
        |special\ thanks|credits?:|release\ date:|transcriber['’]?s?['’]?\ note|e-?text
        |this\ e-?(?:text|book)\ was|note:\ project\ gutenberg)
        |.*(?:distributed\ proofread|pgdp\.net|gutenberg\.org|ebook\ was\ produced)
    )\b.*(?:\n.*\S.*)*\n\s*\n""",
    re.IGNORECASE | re.VERBOSE,
)
_LICENCE = re.compile(
    r"project gutenberg(?:-tm|™|\(tm\))?\s+(?:license|electronic work)", re.IGNORECASE
)


def body_bounds(text: str, path: Path | None = None) -> tuple[int, int]:
    """The first and past-the-last character of the book itself.

    A text without Project Gutenberg's lines is a book as it is.

    Args:
        text: The whole file.
        path: Where it comes from, to be named in faults.

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
    while (credit := _CREDITS.match(text, start, end)) is not None:
        start = credit.end()
    if _LICENCE.search(text, start, end):
        raise InputError(
            "this is a book of Project Gutenberg's, but the licence cannot be told from the book.",
            path=path,
            mend="Restore the lines '*** START OF ... ***' and '*** END OF ... ***', or cut the "
            "licence out by hand.",
        )
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def body(text: str, path: Path | None = None) -> str:
    """The book itself; see :func:`body_bounds`."""
    start, end = body_bounds(text, path)
    return text[start:end]
