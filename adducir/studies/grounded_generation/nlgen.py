"""MS MARCO NLGen: questions with well-formed answers, from the question answering files v2.1.

The official file is one table in columns (:mod:`adducir.core.json_lines`); the same rows as an
array or one per line are read, too. Columns that count: ``query_id``, ``query``,
``wellFormedAnswers`` (``"[]"`` or ``[]`` where there is none) and ``passages``, ten a query::

    {"is_selected": 1, "url": "...", "passage_text": "..."}

x is the query, y its first well-formed answer; queries without one, and those whose answer is ``No
Answer Present.``, are left out. Gold are the passages of the ranking collection that have the text
of a selected passage (texts are compared with white space made one blank). A table is read twice,
so that nothing of the queries that are left out is in memory, and of the others the selected
passages alone: about 2 KB a query. (The Hindsight paper halves the development set: validation are
the first 6,233 of its questions here.)
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, BeforeValidator, Field, StrictInt
from pydantic.dataclasses import dataclass

from adducir.core.errors import InputError, UsageError
from adducir.core.files import writing_text
from adducir.core.json_lines import JsonText, read_objects
from adducir.corpora.documents import Document
from adducir.corpora.records import parsed_as
from adducir.studies.grounded_generation.contexts import GroundedContext
from adducir.studies.grounded_generation.kilt import Name

NO_ANSWER = "No Answer Present."
_ANSWERS = "wellFormedAnswers"
_COLUMNS = ("query_id", "query", _ANSWERS, "passages")


def _listed(value: Any) -> Any:
    """The column's value, without the text ``[]`` that stands for an empty list."""
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
        """The texts of the passages that the annotator used."""
        texts = (" ".join(one.passage_text.split()) for one in self.passages if one.is_selected)
        return tuple(dict.fromkeys(texts))


def read_nlgen(path: Path) -> tuple[list[NlgenQuestion], Counter[str]]:
    """The questions that have a well-formed answer, and how many ``queries`` there are, by kind."""
    parse, counts, found = parsed_as(NlgenQuestion), Counter[str](), dict[str, NlgenQuestion]()
    for line, name, row in _rows(path):
        counts["queries"] += 1
        if not _listed(row.get(_ANSWERS)) and _ANSWERS in row:
            counts["unanswered"] += 1
            continue
        try:
            question = parse(row)
            if question.id in found:
                raise UsageError(f"the id {question.id!r} is duplicated.")  # noqa: TRY301
        except UsageError as error:
            what = f"row {name}: {error.what}" if name else error.what
            hint = "The file must be as MS MARCO's question answering files v2.1."
            raise InputError(what, path=path, line=line, hint=hint) from None
        counts["unanswered"] += not question.answers
        counts["unanswerable"] += NO_ANSWER in question.answers
        if question.answers and NO_ANSWER not in question.answers:
            found[question.id] = question
    return list(found.values()), counts


def _rows(path: Path) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Rows with their lines and, in a table, their names: first those without an answer.

    A table is written column by column, as pandas does: ``{"query": {"0": "what is ...", "1": ...},
    "query_id": {"0": 9652, ...}, ...}``. MS MARCO's own files are so, 5 GB on one line.
    """
    text = JsonText(path)
    # A table begins with an object whose first value is an object.
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


def contexts_of(
    questions: Sequence[NlgenQuestion], collection: Iterable[Document] = ()
) -> list[GroundedContext]:
    """The contexts of questions; gold passages are found in the collection, which is read once."""
    wanted = {text for question in questions for text in question.selected}
    docnos: dict[str, list[str]] = defaultdict(list)
    for document in collection:
        text = " ".join(document.fields.get("text", "").split())
        if text in wanted:
            docnos[text].append(document.docno)
    contexts = []
    for question in questions:
        gold = dict.fromkeys(docno for text in question.selected for docno in docnos.get(text, ()))
        contexts.append(
            GroundedContext(question.id, question.query, question.answers[0], tuple(gold))
        )
    return contexts


def write_references(questions: Iterable[NlgenQuestion], path: Path) -> None:
    """Write all well-formed answers as references of MS MARCO's evaluation."""
    with writing_text(path) as handle:
        for one in questions:
            name = int(one.id) if re.fullmatch("[1-9][0-9]{0,17}", one.id) else one.id
            record = {"query_id": name, "answers": one.answers, "query": one.query}
            handle.write(orjson.dumps(record).decode() + "\n")
