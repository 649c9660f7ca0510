r"""KILT's knowledge source: Wikipedia's pages of 1 August 2019, cut into passages.

A page is a line of ``kilt_knowledgesource.json`` (5.9 million lines, 35 GB)::

    {"wikipedia_id": "4041", "wikipedia_title": "Bucatini", "text": ["Bucatini\n", "Bucatini,
     also known as ...\n", "Section::::Preparation.\n", "BULLET::::- ...\n"], ...}

``text`` is a list of paragraphs. KILT counts them from 0, and paragraph 0 is the title: the
``start_paragraph_id`` of a provenance is a place in this list. A paragraph ``Section::::Name.``
opens a section; what stands before the first is the abstract.

Passages of at most 150 words (what white space parts) keep within a section, as those of the
Hindsight paper do, and go over its paragraphs. A section of more words is cut into as few passages
as possible, each at the end of the sentence (or paragraph) that is nearest to an equal share, or
between words where no sentence ends.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from adducir.core.errors import InputError, UsageError
from adducir.core.files import writing_text
from adducir.core.json_lines import json_values

WORDS = 150
_SECTION = "Section::::"
_BULLET = "BULLET::::"
_WORD = re.compile(r"\S+")
_SENTENCE_END = re.compile(r"""[.!?]["'”’)\]]*$""")


@dataclass(frozen=True, slots=True)
class PagePassage:
    """A passage of a page, and where it stands there.

    Attributes:
        id: Its docno: the page's id, ``-`` and its number on the page, from 1.
        title: Title and section, ``Bucatini > Preparation.``
        text: Its words, with one blank between them.
        wikipedia_id: The page.
        start_paragraph_id: The paragraph it begins in, as KILT counts.
        start_character: Where there.
        end_paragraph_id: The paragraph it ends in.
        end_character: The place behind its last character there.
    """

    id: str
    title: str
    text: str
    wikipedia_id: str
    start_paragraph_id: int
    start_character: int
    end_paragraph_id: int
    end_character: int

    @property
    def start(self) -> tuple[int, int]:
        """Paragraph and character of its beginning."""
        return self.start_paragraph_id, self.start_character

    @property
    def end(self) -> tuple[int, int]:
        """Paragraph and character of its end."""
        return self.end_paragraph_id, self.end_character


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the knowledge source."""

    id: str
    title: str
    paragraphs: tuple[str, ...]


def read_pages(path: Path) -> Iterator[Page]:
    """Yield the pages of a knowledge source; one at a time is in memory.

    Raises:
        InputError: A line is no page; with file and line.
    """
    for line, record in json_values(path):
        try:
            yield _page(record)
        except UsageError as error:
            raise InputError(
                error.what,
                path=path,
                line=line,
                hint="Lines must be as in kilt_knowledgesource.json: wikipedia_id, "
                "wikipedia_title, text.",
            ) from None


def cut_page(page: Page, words: int = WORDS) -> Iterator[PagePassage]:
    """Yield the passages of a page, in its order.

    Args:
        page: The page.
        words: How many words a passage has, at most.

    Raises:
        UsageError: ``words`` is below 1.
    """
    if words < 1:
        raise UsageError(f"a passage must have 1 word or more, not {words}.")
    number = 0
    for section, found in _sections(page):
        for piece in _pieces(found, words):
            number += 1
            first, last = piece[0], piece[-1]
            yield PagePassage(
                f"{page.id}-{number}",
                f"{page.title} > {section}",
                " ".join(match.group() for _, match in piece),
                page.id,
                first[0],
                first[1].start(),
                last[0],
                last[1].end(),
            )


def write_passages(passages: Iterable[PagePassage], path: Path) -> int:
    """Write passages as a corpus, one JSON object a line, whole or not at all.

    Returns:
        How many there were.

    Raises:
        InputError: A text cannot be UTF-8, or ``path`` is a folder.
        MachineError: The disk is full, or the place cannot be written.
    """
    count = 0
    with writing_text(path) as handle:
        for passage in passages:
            handle.write(orjson.dumps(asdict(passage)).decode() + "\n")
            count += 1
    return count


def read_passages(path: Path) -> Iterator[PagePassage]:
    """Yield the passages of a file that :func:`write_passages` wrote.

    Raises:
        InputError: A line is no passage of a page; with file and line.
    """
    texts = ("id", "title", "text", "wikipedia_id")
    numbers = ("start_paragraph_id", "start_character", "end_paragraph_id", "end_character")
    for line, record in json_values(path):
        known = isinstance(record, dict) and (
            all(isinstance(record.get(name), str) for name in texts)
            and all(type(record.get(name)) is int for name in numbers)
        )
        if not known:
            raise InputError(
                f"a passage must have {', '.join((*texts, *numbers))}.",
                path=path,
                line=line,
                hint="Make the file with `adducir grounded-generation passages`.",
            )
        yield PagePassage(*(record[name] for name in (*texts, *numbers)))


_Word = tuple[int, re.Match[str]]  # the paragraph, and the word in it


def _page(record: Any) -> Page:
    if not isinstance(record, dict):
        raise UsageError(f"a page must be a JSON object, not a {type(record).__name__}.")
    name = record.get("wikipedia_id", record.get("_id"))
    title, text = record.get("wikipedia_title"), record.get("text")
    if (
        not isinstance(name, str | int)
        or isinstance(name, bool)
        or str(name).split() != [str(name)]
    ):
        raise UsageError(f"'wikipedia_id' must be text without white space, not {name!r}.")
    if not isinstance(title, str):
        raise UsageError("'wikipedia_title' must be text.")
    if not isinstance(text, list) or not all(isinstance(one, str) for one in text):
        raise UsageError("'text' must be a list of paragraphs.")
    return Page(str(name), title, tuple(text))


def _sections(page: Page) -> Iterator[tuple[str, list[_Word]]]:
    """The words of each section, without headings, and without the marks of list items."""
    section, found = "Abstract", list[_Word]()
    for number, paragraph in enumerate(page.paragraphs):
        if number == 0:
            continue  # the title
        if paragraph.startswith(_SECTION):
            yield section, found
            section, found = paragraph.removeprefix(_SECTION).strip(), []
            continue
        found += [
            (number, match)
            for match in _WORD.finditer(paragraph)
            if not match.group().startswith(_BULLET)
        ]
    yield section, found


def _pieces(found: list[_Word], words: int) -> Iterator[list[_Word]]:
    """Words cut into pieces of equal length, about, and of ``words`` at most."""
    start = 0
    for left in range(-(-len(found) // words), 1, -1):  # pieces that are to be made
        share = -(-(len(found) - start) // left)
        lowest = max(start + share // 2 + 1, len(found) - (left - 1) * words)
        ends = [
            place for place in range(lowest, start + words + 1) if _ends_sentence(found, place - 1)
        ]
        end = min(ends, key=lambda place: abs(place - start - share), default=start + share)
        yield found[start:end]
        start = end
    if start < len(found):
        yield found[start:]


def _ends_sentence(found: list[_Word], place: int) -> bool:
    paragraph, match = found[place]
    return (
        place + 1 == len(found)
        or found[place + 1][0] != paragraph
        or _SENTENCE_END.search(match.group()) is not None
    )
