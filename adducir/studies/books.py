"""Plain-text books, and Project Gutenberg's text around them.

The book is between ``*** START OF`` and ``*** END OF`` (both may wrap). Files from before 2003
have ``*END*THE SMALL PRINT!`` and "End of ... Project Gutenberg Etext" instead. Just inside are the
producers' credits, and another "End of the Project Gutenberg EBook of ...".
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from adducir.core.errors import InputError
from adducir.core.files import COMPRESSED, plain_name, read_text
from adducir.core.json_lines import is_json
from adducir.core.progress import progress
from adducir.corpora.local import files_below, skipped_note

TEXT_ENDINGS = tuple(f".txt{packed}" for packed in ("", *COMPRESSED))

_MARKUP = re.compile(r"<(?:[?!]|/?[a-z][\w:.-]*(?:\s[^<>]*)?/?>)", re.IGNORECASE)
_LOOK = 4096
_ROWS = 3

# Every repeat below is possessive or bounded: on a file of only blanks, or of one such line
# repeated, any other takes quadratic time or worse.
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


def files_in(paths: Iterable[Path], endings: Sequence[str]) -> Iterator[tuple[Path, Path]]:
    """Files, each with the folder given; in a folder by their endings, reporting others."""
    for path in paths:
        if not path.is_dir():
            yield path.parent, path
            continue
        files = sorted(files_below(path))
        books = [file for file in files if file.name.endswith(tuple(endings))]
        plain = " or ".join(dict.fromkeys(map(plain_name, endings)))
        if not books:
            raise InputError(f"this folder does not contain a {plain} file.", path=path)
        if others := [file for file in files if not file.name.endswith(tuple(endings))]:
            progress().note(skipped_note(path, others, f"not {plain}"))
        yield from ((path, file) for file in books)


def read_plain(path: Path) -> str:
    """The text of a book file; JSON, markup and tables are rejected."""
    text = read_text(path)
    head = text[:_LOOK].lstrip("\ufeff \t\r\n")
    tabs = [line.count("\t") for line in head.split("\n")[:-1] if line.strip()][:_ROWS]
    format_name = None
    if is_json(head):
        format_name = "JSON"
    elif _MARKUP.match(head):
        format_name = "markup (HTML, XML or SGML)"
    elif len(tabs) == _ROWS and tabs[0] > 0 and len(set(tabs)) == 1:
        format_name = "a table with tabs"
    if format_name is not None:
        raise InputError(
            f"this should be the plain text of a book, not {format_name}.",
            path=path,
            line=1,
            hint="Extract the text first, or name the format of its records.",
        )
    return text


def stem_of(path: Path) -> str:
    """A file's name without ``.txt`` and compression suffixes."""
    return plain_name(path.name).removesuffix(".txt")


def title_of(text: str) -> str | None:
    title = _TITLE.search(text[:_HEADER])
    return title[1].strip() if title else None


def body(text: str, path: Path | None = None) -> str:
    start, end = body_bounds(text, path)
    return text[start:end]


def body_bounds(text: str, path: Path | None = None) -> tuple[int, int]:
    """The start and end offsets of the book; an InputError if a licence remains."""
    opening = _START.search(text) or _OLD_START.search(text)
    start = opening.end() if opening else 0
    endings = (_END.search(text, start), _OLD_END.search(text, start))
    end = min((ending.start() for ending in endings if ending), default=len(text))
    # Credits are paragraphs with a blank line after them.
    while (first := _INK.search(text, start, end)) and _CREDITS.match(text, first.start(), end):
        blank = _BLANK_LINE.search(text, first.start(), end)
        if blank is None:
            break
        start = blank.end()
    if _LICENCE.search(text, start, end):
        raise InputError(
            "this is a Project Gutenberg book, but the end of its licence cannot be found.",
            path=path,
            hint="Restore the lines '*** START OF ... ***' and '*** END OF ... ***', or remove the "
            "licence by hand.",
        )
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
