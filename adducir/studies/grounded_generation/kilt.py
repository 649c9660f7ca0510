r"""KILT's knowledge source cut into passages, and contexts of its tasks with their gold passages.

A page is a line of ``kilt_knowledgesource.json`` (Wikipedia of 1 August 2019, 5.9 million lines)::

    {"wikipedia_id": "4041", "wikipedia_title": "Bucatini", "text": ["Bucatini\n", "Bucatini,
     also known as ...\n", "Section::::Preparation.\n", "BULLET::::- ...\n"], ...}

``text`` is a list of paragraphs. KILT counts them from 0, and paragraph 0 is the title: the
``start_paragraph_id`` of a provenance is a place in this list. A paragraph ``Section::::Name.``
opens a section; what stands before the first is the abstract. Passages of at most 150 words (which
white space separates) keep within a section, as those of the Hindsight paper do, and go over its
paragraphs. A longer section is cut into as few passages as possible, each at the end of the
sentence (or paragraph) that is nearest to an equal share, or between words where none ends.

A line of a task such as ``wow-dev-kilt.jsonl``::

    {"id": "6bc2_0", "input": "Hi!\nDo you like ...", "output": [{"answer": "I do.", "provenance":
     [{"wikipedia_id": "73126", "title": "...", "start_paragraph_id": 1, "start_character": 260,
       "end_paragraph_id": 1, "end_character": 333, "bleu_score": 1.0}]}]}

x is the input, its turns separated by `` | ``; y the answer of the first output that has one, whose
provenance is gold. Gold passages are all that overlap a provenance in at least one character
(Hindsight's code keeps the last of them). Lines of a test set have no output. The group of a
context, within which contexts are not independent, is its dialogue: the id without ``_`` and the
number of the turn.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import orjson
from pydantic import AliasChoices, BeforeValidator, Field, StrictInt
from pydantic.dataclasses import dataclass

from adducir.core.files import writing_text
from adducir.core.json_lines import json_values
from adducir.corpora.records import Id, parsed_as, read_records, read_values
from adducir.studies.grounded_generation.contexts import GroundedContext

_SECTION, _BULLET = "Section::::", "BULLET::::"
_WORD = re.compile(r"\S+")
_SENTENCE_END = re.compile(r"""[.!?]["'”’)\]]*$""")

Name = Annotated[Id, BeforeValidator(lambda value: str(value) if type(value) is int else value)]
Place = tuple[int, int]
"""A paragraph, as KILT counts them, and a character in it."""


@dataclass(frozen=True, slots=True)
class Page:
    id: Annotated[Name, Field(validation_alias=AliasChoices("wikipedia_id", "_id"))]
    title: Annotated[str, Field(validation_alias="wikipedia_title")]
    paragraphs: Annotated[tuple[str, ...], Field(validation_alias="text")]


@dataclass(frozen=True, slots=True)
class PagePassage:
    """A passage of a page, and where it stands there; the end is the place behind it.

    Its docno is the page's id, ``-`` and its number on the page, from 1; its title that of the page
    and the section's, ``Bucatini > Preparation.``
    """

    id: Id
    title: str
    text: str
    wikipedia_id: str
    start_paragraph_id: StrictInt
    start_character: StrictInt
    end_paragraph_id: StrictInt
    end_character: StrictInt

    def overlaps(self, start: Place, end: Place) -> bool:
        """Whether it shares a character with a span; an empty span must lie within it."""
        own_start = self.start_paragraph_id, self.start_character
        own_end = self.end_paragraph_id, self.end_character
        return own_start <= start < own_end if start == end else start < own_end and own_start < end


def read_pages(path: Path) -> Iterator[Page]:
    """The pages of a knowledge source; one at a time is in memory."""
    hint = "Lines must be as in kilt_knowledgesource.json: wikipedia_id, wikipedia_title, text."
    return (page for _, page in read_values(path, Page, hint))


def read_passages(path: Path) -> Iterator[PagePassage]:
    """The passages of a file that :func:`write_passages` wrote."""
    hint = "Make the file with `adducir grounded-generation passages`."
    return (passage for _, passage in read_values(path, PagePassage, hint))


def write_passages(passages: Iterable[PagePassage], path: Path) -> int:
    """Write passages as a corpus."""
    count = 0
    with writing_text(path) as handle:
        for count, passage in enumerate(passages, 1):  # noqa: B007
            handle.write(orjson.dumps(passage).decode() + "\n")
    return count


def cut_page(page: Page, words: int = 150) -> Iterator[PagePassage]:
    """The passages of a page, each of ``words`` words at most."""
    number = 0
    for section, found in _sections(page):
        for piece in _pieces(found, words):
            number += 1
            (first, start), (last, end) = piece[0], piece[-1]
            text = " ".join(match.group() for _, match in piece)
            place = first, start.start(), last, end.end()
            title = f"{page.title} > {section}"
            yield PagePassage(f"{page.id}-{number}", title, text, page.id, *place)


_Word = tuple[int, re.Match[str]]  # the paragraph, and the word in it


def _sections(page: Page) -> Iterator[tuple[str, list[_Word]]]:
    """The words of each section, without headings, and without the marks of list items."""
    section, found = "Abstract", list[_Word]()
    for number, paragraph in enumerate(page.paragraphs[1:], 1):  # 0 is the title
        if paragraph.startswith(_SECTION):
            yield section, found
            section, found = paragraph.removeprefix(_SECTION).strip(), []
            continue
        words = _WORD.finditer(paragraph)
        found += [(number, word) for word in words if not word.group().startswith(_BULLET)]
    yield section, found


def _pieces(found: list[_Word], words: int) -> Iterator[list[_Word]]:
    """Words cut into pieces of about equal length, and of ``words`` at most."""
    start = 0
    for left in range(-(-len(found) // words), 1, -1):  # pieces that are to be made
        share = -(-(len(found) - start) // left)
        lowest = max(start + share // 2 + 1, len(found) - (left - 1) * words)
        ends = [end for end in range(lowest, start + words + 1) if _ends_sentence(found, end - 1)]
        end = min(ends, key=lambda end: abs(end - start - share), default=start + share)
        yield found[start:end]
        start = end
    if start < len(found):
        yield found[start:]


def _ends_sentence(found: list[_Word], place: int) -> bool:
    paragraph, word = found[place]
    is_last = place + 1 == len(found) or found[place + 1][0] != paragraph
    return is_last or _SENTENCE_END.search(word.group()) is not None


@dataclass(frozen=True, slots=True)
class _Provenance:
    """Where an answer comes from; some of KILT's tasks name the page alone."""

    wikipedia_id: str | StrictInt | None = None
    start_paragraph_id: StrictInt | None = None
    start_character: StrictInt | None = None
    end_paragraph_id: StrictInt | None = None
    end_character: StrictInt | None = None

    def __post_init__(self) -> None:
        span = self.span
        if span and span[2] < span[1]:
            raise ValueError(f"a provenance ends at {span[2]}, before its start {span[1]}")

    @property
    def span(self) -> tuple[str, Place, Place] | None:
        """Page, start and end; None where one is not known."""
        page, first, start = self.wikipedia_id, self.start_paragraph_id, self.start_character
        last, end = self.end_paragraph_id, self.end_character
        if page is None or first is None or start is None or last is None or end is None:
            return None
        return str(page), (first, start), (last, end)


@dataclass(frozen=True, slots=True)
class _Output:
    answer: str | None = None
    provenance: tuple[_Provenance, ...] = ()


@dataclass(frozen=True, slots=True)
class KiltExample:
    id: Name
    input: str
    output: tuple[_Output, ...] = ()

    @property
    def first(self) -> _Output:
        """The first output with an answer; an empty one in a test set."""
        return next((one for one in self.output if one.answer), _Output())


def read_kilt(path: Path) -> Iterator[KiltExample]:
    hint = "Lines must be as in wow-dev-kilt.jsonl, each with an id of its own."
    yield from read_records(path, json_values(path), parsed_as(KiltExample), hint)


def contexts_of(
    examples: Sequence[KiltExample], passages: Iterable[PagePassage], turns: str = " | "
) -> tuple[list[GroundedContext], Counter[str]]:
    """The contexts of examples with the passages, read once, that their provenance overlaps.

    Counts are of contexts with gold passages (``found``), with ``several``, without provenance
    (``unknown``), and with one that no passage overlaps (``lost``).
    """
    wanted: dict[str, list[tuple[int, Place, Place]]] = defaultdict(list)
    for number, example in enumerate(examples):
        for one in example.first.provenance:
            if one.span:
                wanted[one.span[0]].append((number, *one.span[1:]))
    gold: dict[int, dict[str, None]] = defaultdict(dict)
    for passage in passages:
        for number, start, end in wanted.get(passage.wikipedia_id, ()):
            if passage.overlaps(start, end):
                gold[number][passage.id] = None
    contexts, counts = [], Counter[str]()
    for number, example in enumerate(examples):
        docnos = tuple(gold.get(number, ()))
        known = any(one.span for one in example.first.provenance)
        counts["found" if docnos else "lost" if known else "unknown"] += 1
        counts["several"] += len(docnos) > 1
        dialogue, _, turn = example.id.rpartition("_")
        text, target = turns.join(example.input.split("\n")), example.first.answer or ""
        group = dialogue if dialogue and turn.isdecimal() else None
        contexts.append(GroundedContext(example.id, text, target, docnos, group))
    return contexts, counts
