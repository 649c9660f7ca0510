r"""Contexts with their gold passages, from KILT's tasks and MS MARCO NLGen.

A page is a line of ``kilt_knowledgesource.json`` (Wikipedia of 1 August 2019, 5.9 million lines)::

    {"wikipedia_id": "4041", "wikipedia_title": "Bucatini", "text": ["Bucatini\n", "Bucatini,
     also known as ...\n", "Section::::Preparation.\n", "BULLET::::- ...\n"], ...}

KILT counts its paragraphs from 0, which is the title. ``Section::::Name.`` opens a section; the
text before the first is the abstract. Passages do not cross sections, as in the Hindsight paper. A
longer section is cut into as few as possible, each at the end of the sentence (or paragraph) that
is nearest to an equal share, or between words if none ends there.

A line of a task such as ``wow-dev-kilt.jsonl``::

    {"id": "6bc2_0", "input": "Hi!\nDo you like ...", "output": [{"answer": "I do.", "provenance":
     [{"wikipedia_id": "73126", "title": "...", "start_paragraph_id": 1, "start_character": 260,
       "end_paragraph_id": 1, "end_character": 333, "bleu_score": 1.0}]}]}

x is the input; y the answer of the first output that has one, whose provenance is gold: all
passages that overlap it in at least one character (Hindsight's code keeps the last of them). Lines
of a test set have no output. The group of a context is its dialogue: the id without ``_`` and the
number of the turn.

MS MARCO NLGen is the questions with well-formed answers in the question answering files v2.1. The
official file is one table in columns; the same rows as an array or one per line are also read. The
columns used are ``query_id``, ``query``, ``wellFormedAnswers`` (``"[]"`` or ``[]`` if there is
none) and ``passages``, ten per query, ``{"is_selected": 1, "passage_text": "...", ...}``. x is the
query, y its first well-formed answer; queries without one, or whose answer is ``No Answer
Present.``, are dropped. The gold passages are those of the ranking collection with the text of a
selected passage, with white space normalised. A table is read twice, so that only the kept queries
are in memory, with their selected passages.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, StrictInt
from pydantic.dataclasses import dataclass

from adducir.core.errors import InputError, UsageError
from adducir.core.files import writing_text
from adducir.core.json_lines import JsonText, read_objects
from adducir.corpora.documents import Document
from adducir.corpora.records import Id, parsed_as, read_records, read_values, write_records
from adducir.studies.grounded_generation.texts import (
    NO_ANSWER,
    GroundedContext,
    KiltOutput,
    Name,
    Place,
)

_SECTION, _BULLET = "Section::::", "BULLET::::"
_WORD = re.compile(r"\S+")
_SENTENCE_END = re.compile(r"""[.!?]["'”’)\]]*$""")
_ANSWERS = "wellFormedAnswers"
_COLUMNS = ("query_id", "query", _ANSWERS, "passages")


@dataclass(frozen=True, slots=True)
class Page:
    id: Annotated[Name, Field(validation_alias=AliasChoices("wikipedia_id", "_id"))]
    title: Annotated[str, Field(validation_alias="wikipedia_title")]
    paragraphs: Annotated[tuple[str, ...], Field(validation_alias="text")]


@dataclass(frozen=True, slots=True)
class PagePassage:
    """A passage of a page, such as ``4041-2``, and its position there, the end exclusive."""

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
    return (page for _, page in read_values(path, parsed_as(Page), hint))


def read_passages(path: Path) -> Iterator[PagePassage]:
    """The passages of a file that :func:`write_passages` wrote."""
    hint = "Build the file with `adducir grounded-generation passages`."
    return (passage for _, passage in read_values(path, parsed_as(PagePassage), hint))


def write_passages(passages: Iterable[PagePassage], path: Path) -> int:
    count = 0
    with writing_text(path) as handle:
        for count, passage in enumerate(passages, 1):  # noqa: B007
            handle.write(orjson.dumps(passage).decode() + "\n")
    return count


def cut_page(page: Page, words: int = 150) -> Iterator[PagePassage]:
    """The passages of a page, each of at most ``words`` words."""
    number = 0
    for section, section_words in _sections(page):
        for piece in _pieces(section_words, words):
            number += 1
            (first, start), (last, end) = piece[0], piece[-1]
            text = " ".join(match.group() for _, match in piece)
            place = first, start.start(), last, end.end()
            title = f"{page.title} > {section}"
            yield PagePassage(f"{page.id}-{number}", title, text, page.id, *place)


_Word = tuple[int, re.Match[str]]  # the paragraph, and the word in it


def _sections(page: Page) -> Iterator[tuple[str, list[_Word]]]:
    """The words of each section, without headings and list markers."""
    section, words_of_section = "Abstract", list[_Word]()
    for number, paragraph in enumerate(page.paragraphs[1:], 1):  # 0 is the title
        if paragraph.startswith(_SECTION):
            yield section, words_of_section
            section, words_of_section = paragraph.removeprefix(_SECTION).strip(), []
            continue
        words = _WORD.finditer(paragraph)
        words_of_section += [
            (number, word) for word in words if not word.group().startswith(_BULLET)
        ]
    yield section, words_of_section


def _pieces(section_words: list[_Word], words: int) -> Iterator[list[_Word]]:
    """Words cut into pieces of about equal length, at most ``words`` each."""
    last = [word[0] != following[0] for word, following in pairwise(section_words)] + [
        True
    ]  # of their paragraphs
    ended = {
        n for n, (_, word) in enumerate(section_words, 1) if _SENTENCE_END.search(word.group())
    }
    ended |= {n for n, is_last in enumerate(last, 1) if is_last}
    start = 0
    for left in range(-(-len(section_words) // words), 1, -1):  # pieces still to cut
        share = -(-(len(section_words) - start) // left)
        lowest = max(start + share // 2 + 1, len(section_words) - (left - 1) * words)
        ends = [end for end in range(lowest, start + words + 1) if end in ended]
        end = min(ends, key=lambda end: abs(end - start - share), default=start + share)
        yield section_words[start:end]
        start = end
    if start < len(section_words):
        yield section_words[start:]


@dataclass(frozen=True, slots=True)
class KiltExample:
    id: Name
    input: str
    output: tuple[KiltOutput, ...] = ()

    @property
    def first(self) -> KiltOutput:
        """The first output with an answer; an empty one in a test set."""
        return next((answer for answer in self.output if answer.answer), KiltOutput())


def read_kilt(path: Path) -> Iterator[KiltExample]:
    hint = "Lines must be as in wow-dev-kilt.jsonl, each with a unique id."
    yield from read_records(path, parsed_as(KiltExample), hint)


def kilt_contexts(
    examples: Sequence[KiltExample], passages: Iterable[PagePassage], turns: str = " | "
) -> tuple[list[GroundedContext], Counter[str]]:
    """The contexts of examples with the passages, read once, that their provenance overlaps.

    Counts are of contexts with gold passages (``found``), with ``several``, without provenance
    (``unknown``), and with one that no passage overlaps (``lost``).
    """
    places: dict[str, list[tuple[int, Place, Place]]] = defaultdict(list)
    for number, example in enumerate(examples):
        for provenance in example.first.provenance or ():
            if provenance.span:
                places[provenance.span[0]].append((number, *provenance.span[1:]))
    gold: dict[int, dict[str, None]] = defaultdict(dict)
    for passage in passages:
        for number, start, end in places.get(passage.wikipedia_id, ()):
            if passage.overlaps(start, end):
                gold[number][passage.id] = None
    contexts, counts = [], Counter[str]()
    for number, example in enumerate(examples):
        docnos = tuple(gold.get(number, ()))
        has_place = any(provenance.span for provenance in example.first.provenance or ())
        counts["found" if docnos else "lost" if has_place else "unknown"] += 1
        counts["several"] += len(docnos) > 1
        dialogue, _, turn = example.id.rpartition("_")
        text, target = turns.join(example.input.split("\n")), example.first.answer or ""
        group = dialogue if dialogue and turn.isdecimal() else None
        contexts.append(GroundedContext(example.id, text, target, docnos, group))
    return contexts, counts


def _listed(value: Any) -> Any:
    """The column's value; the text ``[]`` means an empty list."""
    return [] if value == "[]" else value


@dataclass(frozen=True, slots=True)
class _Passage:
    passage_text: str
    is_selected: Annotated[StrictInt, Field(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class NlgenQuestion:
    """A query with its well-formed answers, each once, and its passages."""

    id: Annotated[Name, Field(validation_alias="query_id")]
    query: str
    answers: Annotated[
        tuple[str, ...],
        BeforeValidator(_listed),
        AfterValidator(lambda answers: tuple(dict.fromkeys(filter(None, map(str.strip, answers))))),
        Field(validation_alias=_ANSWERS),
    ]
    passages: tuple[_Passage, ...]

    @property
    def selected(self) -> tuple[str, ...]:
        texts = (
            " ".join(passage.passage_text.split())
            for passage in self.passages
            if passage.is_selected
        )
        return tuple(dict.fromkeys(texts))


def read_nlgen(path: Path) -> tuple[list[NlgenQuestion], Counter[str]]:
    """The questions with a well-formed answer, and counts of ``queries`` read and dropped."""
    parse, counts, questions = parsed_as(NlgenQuestion), Counter[str](), dict[str, NlgenQuestion]()
    for line, name, row in _rows(path):
        counts["queries"] += 1
        if not _listed(row.get(_ANSWERS)) and _ANSWERS in row:
            counts["unanswered"] += 1
            continue
        try:
            question = parse(row)
            if question.id in questions:
                raise UsageError(f"the id {question.id!r} is duplicated.")  # noqa: TRY301
        except UsageError as error:
            message = f"row {name}: {error.what}" if name else error.what
            hint = "The file must be as MS MARCO's question answering files v2.1."
            raise InputError(message, path=path, line=line, hint=hint) from None
        counts["unanswered"] += not question.answers
        counts["unanswerable"] += NO_ANSWER in question.answers
        if question.answers and NO_ANSWER not in question.answers:
            questions[question.id] = question
    return list(questions.values()), counts


def _rows(path: Path) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Rows with their lines and, in a table, their names: first those without an answer.

    A table is written column by column, as pandas does, 5 GB on one line: ``{"query": {"0": "what
    is ...", "1": ...}, "query_id": {"0": 9652, ...}, ...}``.
    """
    text = JsonText(path)
    # A table starts with an object whose first value is an object.
    is_object = text.take("{") and text.peek() == '"' and bool(text.value()) and text.take(":")
    if not is_object or text.peek() != "{":
        yield from ((line, "", record) for line, record in read_objects(path))
        return
    rows: dict[str, dict[str, Any]] = {}
    lines: dict[str, int] = {}
    for line, column, row, value in _values(path):
        if column == _ANSWERS and _listed(value):
            rows[row], lines[row] = {_ANSWERS: value}, line
        elif column == _ANSWERS:
            yield line, row, {_ANSWERS: []}
    for _, column, row, value in _values(path):
        if row in rows and column in _COLUMNS:
            if column == "passages" and isinstance(value, list):
                value = [p for p in value if not isinstance(p, dict) or p.get("is_selected") != 0]
            rows[row][column] = value
    yield from ((lines[name], name, row) for name, row in rows.items())


def _values(path: Path) -> Iterator[tuple[int, str, str, Any]]:
    text = JsonText(path)
    for column in text.names():
        for row in text.names():
            yield text.line, column, row, text.value()
    text.end()


def nlgen_contexts(
    questions: Sequence[NlgenQuestion], collection: Iterable[Document] = ()
) -> list[GroundedContext]:
    """The contexts of questions; gold passages are looked up in one pass over the collection."""
    texts = {text for question in questions for text in question.selected}
    docnos: dict[str, list[str]] = defaultdict(list)
    for document in collection:
        text = " ".join(document.fields.get("text", "").split())
        if text in texts:
            docnos[text].append(document.docno)
    contexts = []
    for question in questions:
        gold = dict.fromkeys(docno for text in question.selected for docno in docnos.get(text, ()))
        contexts.append(
            GroundedContext(question.id, question.query, question.answers[0], tuple(gold))
        )
    return contexts


def write_references(questions: Iterable[NlgenQuestion], path: Path) -> None:
    """Write all well-formed answers as references for MS MARCO's evaluation."""

    def record_of(question: NlgenQuestion) -> dict[str, object]:
        is_number = re.fullmatch("[1-9][0-9]{0,17}", question.id)
        name = int(question.id) if is_number else question.id
        return {"query_id": name, "answers": question.answers, "query": question.query}

    write_records(questions, path, record_of)
