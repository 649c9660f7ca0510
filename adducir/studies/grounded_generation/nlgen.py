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
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from adducir.core.errors import InputError, UsageError
from adducir.core.files import writing_text
from adducir.core.json_lines import is_columns, read_columns, read_objects
from adducir.corpora.documents import Document
from adducir.studies.grounded_generation.contexts import GroundedContext

NO_ANSWER = "No Answer Present."
_COLUMNS = ("query_id", "query", "wellFormedAnswers", "passages")


@dataclass(frozen=True, slots=True)
class NlgenQuestion:
    """A question with well-formed answers.

    Attributes:
        id: The ``query_id``.
        query: The question.
        answers: Its well-formed answers, each once.
        selected: The texts of the passages that the annotator used.
    """

    id: str
    query: str
    answers: tuple[str, ...]
    selected: tuple[str, ...]


@dataclass
class NlgenCounts:
    """What was read and what was left out.

    Attributes:
        queries: Queries in the file.
        without_answer: Those without a well-formed answer.
        unanswerable: Those whose well-formed answer is that there is none.
        kept: Those that are questions here.
    """

    queries: int = 0
    without_answer: int = 0
    unanswerable: int = 0
    kept: int = 0


@dataclass
class Nlgen:
    """The questions of a file, in its order."""

    questions: list[NlgenQuestion] = field(default_factory=list)
    counts: NlgenCounts = field(default_factory=NlgenCounts)


def read_nlgen(path: Path) -> Nlgen:
    """Read the questions that have a well-formed answer.

    Raises:
        InputError: A row is no query, a column lacks a row, or an id comes twice; with the file,
            the line, and the row where the file is a table.
    """
    rows = _rows_of_columns(path) if is_columns(path) else _rows_of_objects(path)
    made = Nlgen()
    seen: set[str] = set()
    for line, name, row in rows:
        made.counts.queries += 1
        try:
            answers = _answers(row["wellFormedAnswers"])
            if not answers:
                made.counts.without_answer += 1
                continue
            if NO_ANSWER in answers:
                made.counts.unanswerable += 1
                continue
            question = _question(row, answers)
            if question.id in seen:
                raise UsageError(f"the id {question.id!r} comes twice.")  # noqa: TRY301
        except UsageError as error:
            raise _error(path, line, name, error.what) from None
        seen.add(question.id)
        made.questions.append(question)
        made.counts.kept += 1
    return made


def with_gold(
    questions: Sequence[NlgenQuestion], collection: Iterable[Document]
) -> list[GroundedContext]:
    """The contexts of questions with their gold passages.

    Args:
        questions: The questions.
        collection: The ranking collection, read once; its documents have a ``text``.
    """
    wanted = {" ".join(text.split()) for question in questions for text in question.selected}
    docnos: dict[str, list[str]] = defaultdict(list)
    for document in collection:
        text = " ".join(document.fields.get("text", "").split())
        if text in wanted:
            docnos[text].append(document.docno)
    return [
        GroundedContext(
            question.id,
            question.query,
            question.answers[0],
            tuple(
                dict.fromkeys(
                    docno
                    for text in question.selected
                    for docno in docnos.get(" ".join(text.split()), ())
                )
            ),
        )
        for question in questions
    ]


def write_references(questions: Iterable[NlgenQuestion], path: Path) -> int:
    """Write all well-formed answers as references of MS MARCO's evaluation, whole or not at all.

    Returns:
        How many questions there were.

    Raises:
        InputError: A text cannot be UTF-8, or ``path`` is a folder.
        MachineError: The disk is full, or the place cannot be written.
    """
    count = 0
    with writing_text(path) as handle:
        for question in questions:
            name = (
                int(question.id) if re.fullmatch("[1-9][0-9]{0,17}", question.id) else question.id
            )
            record = {"query_id": name, "answers": question.answers, "query": question.query}
            handle.write(orjson.dumps(record).decode() + "\n")
            count += 1
    return count


_Row = tuple[int, str, Mapping[str, Any]]  # its line, its name in a table, its values


def _rows_of_objects(path: Path) -> Iterator[_Row]:
    for line, record in read_objects(path):
        lacking = [name for name in _COLUMNS if name not in record]
        if lacking:
            raise _error(path, line, "", f"this query has no {lacking[0]!r}.")
        yield line, "", record


def _rows_of_columns(path: Path) -> Iterator[_Row]:
    """The rows of a table: first those without an answer, of which nothing is kept."""
    answers = _COLUMNS[2]
    rows: dict[str, dict[str, Any]] = {}
    lines: dict[str, int] = {}
    for entry in read_columns(path):
        if entry.column == answers and _written(entry.value):
            rows[entry.row] = {answers: entry.value}
            lines[entry.row] = entry.line
        elif entry.column == answers:
            yield entry.line, entry.row, {answers: []}
    for entry in read_columns(path):
        if entry.row in rows and entry.column in _COLUMNS:
            of_passages = entry.column == _COLUMNS[3]
            rows[entry.row][entry.column] = _selected(entry.value) if of_passages else entry.value
    for name, row in rows.items():
        lacking = [column for column in _COLUMNS if column not in row]
        if lacking:
            raise _error(path, lines[name], name, f"this query has no {lacking[0]!r}.")
        yield lines[name], name, row


def _written(value: Any) -> Any:
    """The column's value, without the text ``[]`` that stands for an empty list."""
    return [] if value == "[]" else value


def _answers(value: Any) -> tuple[str, ...]:
    answers = _written(value)
    if not isinstance(answers, list) or not all(isinstance(one, str) for one in answers):
        raise UsageError("'wellFormedAnswers' must be a list of texts, or \"[]\".")
    return tuple(dict.fromkeys(one.strip() for one in answers if one.strip()))


def _selected(passages: Any) -> list[Any]:
    """The selected passages of a query; all where that is unclear, to be refused later."""
    if not isinstance(passages, list):
        return [passages]
    return [one for one in passages if not isinstance(one, dict) or one.get("is_selected") != 0]


def _question(row: Mapping[str, Any], answers: tuple[str, ...]) -> NlgenQuestion:
    name, query, passages = row["query_id"], row["query"], row["passages"]
    if (
        isinstance(name, bool)
        or not isinstance(name, str | int)
        or str(name).split() != [str(name)]
    ):
        raise UsageError(f"'query_id' must be a number, not {name!r}.")
    if not isinstance(query, str):
        raise UsageError("'query' must be text.")
    if not isinstance(passages, list):
        raise UsageError("'passages' must be a list.")
    texts = []
    for one in _selected(passages):
        if not isinstance(one, dict) or not isinstance(one.get("passage_text"), str):
            raise UsageError("a passage must have a 'passage_text'.")
        if one.get("is_selected") != 1:
            raise UsageError("'is_selected' of a passage must be 0 or 1.")
        texts.append(one["passage_text"])
    return NlgenQuestion(str(name), query, answers, tuple(dict.fromkeys(texts)))


def _error(path: Path, line: int, row: str, what: str) -> InputError:
    return InputError(
        f"row {row}: {what}" if row else what,
        path=path,
        line=line,
        hint="The file must be as MS MARCO's question answering files v2.1.",
    )
