"""Files of evidence questions: JSONL, gzipped where the name ends in ``.gz``.

One question a line; passages are numbered from 0 in the order of the list::

    {"id": "5a71", "question": "Who ...?",
     "passages": [{"id": "Kansas_Song", "title": "Kansas Song", "text": "..."}, ...],
     "gold": [[0, 3]], "sets": [{"members": [0, 3], "label": true}, ...], "missing": [0]}

``gold``, ``sets`` and ``missing`` may be left out; other keys may not stand there.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adducir.core.errors import UsageError
from adducir.core.json_lines import json_values
from adducir.corpora.records import check_keys, read_records, write_records
from adducir.studies.complementary_evidence.record import EvidenceQuestion, LabelledSet, Passage

_REQUIRED = ("id", "question", "passages")
_KEYS = frozenset((*_REQUIRED, "gold", "sets", "missing"))


def read_questions(path: Path) -> Iterator[EvidenceQuestion]:
    """Yield the questions of a file in its order; blank lines are ignored.

    Raises:
        InputError: A line is no question, or an id comes twice; with file and line.
    """
    yield from read_records(path, json_values(path), _question_of)


@dataclass(frozen=True)
class QuestionFiles:
    """The questions of files, one file after another: small, and read anew at each iteration."""

    paths: tuple[Path, ...]

    def __iter__(self) -> Iterator[EvidenceQuestion]:
        for path in self.paths:
            yield from read_questions(path)


def questions_in(paths: Sequence[Path]) -> Iterable[EvidenceQuestion]:
    """The questions of files, to be read more than once; only those of a pipe are held.

    Raises:
        InputError: A file is missing; or as :func:`read_questions`, also when they are read.
    """
    files = QuestionFiles(tuple(paths))
    return files if all(path.is_file() for path in paths) else list(files)


def write_questions(questions: Iterable[EvidenceQuestion], path: Path) -> int:
    """Write questions as JSONL, whole or not at all; see :func:`.write_records`."""
    return write_records(questions, path, _record_of)


def _record_of(question: EvidenceQuestion) -> dict[str, Any]:
    record: dict[str, Any] = {
        "id": question.id,
        "question": question.question,
        "passages": [passage._asdict() for passage in question.passages],
        "gold": [sorted(members) for members in question.gold],
        "sets": [one._asdict() for one in question.sets],
    }
    if question.missing:
        record["missing"] = question.missing
    return record


def _question_of(record: Any) -> EvidenceQuestion:
    """The question of a JSON value.

    Raises:
        UsageError: It is none.
    """
    check_keys(record, "question", _REQUIRED, _KEYS)
    sets = record.get("sets", [])
    for name in ("passages", "gold", "sets", "missing"):
        if not isinstance(record.get(name, []), list):
            raise UsageError(f"{name!r} must be a list.")
    for passage in record["passages"]:
        check_keys(passage, "passage", Passage._fields, Passage._fields)
        if not all(isinstance(value, str) for value in passage.values()):
            raise UsageError("a passage's id, title and text must be text.")
    for one in sets:
        check_keys(one, "labelled set", LabelledSet._fields, LabelledSet._fields)
        if not isinstance(one["label"], bool):
            raise UsageError(f"a set's label must be true or false, not {one['label']!r}.")
    if not isinstance(record["id"], str) or not isinstance(record["question"], str):
        raise UsageError("'id' and 'question' must be text.")
    gold = [_numbers(members) for members in record.get("gold", [])]
    if any(len(set(members)) < len(members) for members in gold):
        raise UsageError("a gold set holds a passage twice.")
    return EvidenceQuestion(
        record["id"],
        record["question"],
        tuple(Passage(**passage) for passage in record["passages"]),
        tuple(frozenset(members) for members in gold),
        tuple(LabelledSet(_numbers(one["members"]), one["label"]) for one in sets),
        _numbers(record.get("missing", [])),
    )


def _numbers(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or any(type(number) is not int for number in value):
        raise UsageError(f"a list of whole numbers is wanted, not {value!r}.")
    return tuple(value)
