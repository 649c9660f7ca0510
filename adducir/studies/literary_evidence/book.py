"""A plain-text book for people who look for passages: sentences, their place, chapters."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from adducir.core.errors import InputError, UsageError
from adducir.corpora.books import body, read_plain, stem_of, title_of
from adducir.corpora.sentences import paragraph_bounds, sentence_bounds

_ORDINALS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty first second third fourth fifth sixth seventh "
    "eighth ninth tenth last"
).replace(" ", "|")
_NUMBER = rf"(?:the\s+)?(?:[ivxlc]+|\d+|{_ORDINALS})\b"
_DIVISION = "chapter|book|volume|part|letter|stave|act|scene|canto|lecture|essay|section"
_HEADING = re.compile(rf"_?(?:{_DIVISION})\s+{_NUMBER}[^a-z]?", re.IGNORECASE)
_BARE = re.compile(r"_?[IVXLC]+[.:]?_?|[IVXLC]+\.\s+[A-Z][^.;]{0,60}")
_FRAME = re.compile(r"_?(?:PREFACE|INTRODUCTION|PROLOGUE|EPILOGUE|CONCLUSION)\.?_?")
_GREATER = re.compile(r"_?(?:book|volume|part|act)\b", re.IGNORECASE)
_LONGEST = 90
_PREFACE = 0.25


@dataclass(frozen=True)
class Heading:
    """A heading and the number of the sentence that comes after it."""

    text: str
    sentence: int


@dataclass(frozen=True)
class Book:
    """A book cut into sentences.

    Attributes:
        title: As Project Gutenberg's header has it, or the file's name.
        sentences: In order, white space narrowed; headings are not among them.
        places: Where each begins, as a share of the book's characters, in [0, 1).
        headings: Of chapters and the like, in order; none where none was found.
    """

    title: str
    sentences: tuple[str, ...]
    places: tuple[float, ...]
    headings: tuple[Heading, ...]

    def chapter_of(self, sentence: int) -> str | None:
        """The heading that a sentence stands below, with the book or volume it is in."""
        last = bisect_right([heading.sentence for heading in self.headings], sentence)
        if not last:
            return None
        own = self.headings[last - 1].text
        if _GREATER.match(own):
            return own
        above = (h.text for h in reversed(self.headings[: last - 1]) if _GREATER.match(h.text))
        greater = next(above, None)
        return own if greater is None else f"{greater}, {own}"

    def passages(self, length: int) -> list[int]:
        """The first sentences of all passages of ``length`` sentences that no heading parts.

        Raises:
            UsageError: ``length`` is below 1.
        """
        if length < 1:
            raise UsageError(f"a passage has 1 sentence or more, not {length}.")
        cuts = sorted({0, len(self.sentences), *(heading.sentence for heading in self.headings)})
        return [
            start for first, past in pairwise(cuts) for start in range(first, past - length + 1)
        ]

    def text_of(self, start: int, length: int) -> str:
        """The passage of ``length`` sentences from sentence ``start`` on."""
        return " ".join(self.sentences[start : start + length])


def open_book(path: Path) -> Book:
    """Read a book: Project Gutenberg's frame off, headings found, sentences cut.

    Raises:
        InputError: The file cannot be read, or has no sentence.
    """
    whole = read_plain(path)
    text = body(whole, path)
    sentences: list[str] = []
    places: list[float] = []
    headings: list[Heading] = []
    for start, end in paragraph_bounds(text):
        paragraph = text[start:end]
        heading = heading_of(paragraph)
        if heading is not None:
            headings.append(Heading(heading, len(sentences)))
            continue
        for first, past in sentence_bounds(paragraph):
            sentences.append(" ".join(paragraph[first:past].split()))
            places.append((start + first) / len(text))
    if not sentences:
        raise InputError("there is no sentence in this file.", path=path)
    return Book(
        title_of(whole) or stem_of(path),
        tuple(sentences),
        tuple(places),
        _real(headings, len(sentences)),
    )


def heading_of(paragraph: str) -> str | None:
    """The heading that a paragraph is, on one line, or None.

    A heading is one or two short lines that begin with "Chapter", "Book", "Volume" and the like
    and a number, or a Roman numeral alone.
    """
    lines = [" ".join(line.split()) for line in paragraph.splitlines() if line.strip()]
    joined = " ".join(lines)
    if not lines or len(lines) > 2 or len(joined) > _LONGEST:
        return None
    is_heading = _BARE.fullmatch(lines[0]) or _FRAME.fullmatch(lines[0]) or _HEADING.match(lines[0])
    if not is_heading or (joined[-1] in ",;?!" or '"' in joined):
        return None
    return joined.strip("_ ").rstrip(".:—-")


def _real(headings: list[Heading], sentences: int) -> tuple[Heading, ...]:
    """Headings without those that cannot head what stands below them.

    Those of a table of contents come right before one another; but "Book I" may come right before
    "Chapter I". A preface that seems to fill a quarter of the book only hides that the headings
    after it were not found.
    """
    kept = []
    for one, after in pairwise([*headings, Heading("", sentences)]):
        size = after.sentence - one.sentence
        opens = bool(_GREATER.match(one.text)) and not _GREATER.match(after.text)
        hides = size > _PREFACE * sentences and _FRAME.fullmatch(one.text)
        if (size or opens) and not hides:
            kept.append(one)
    return tuple(kept)
