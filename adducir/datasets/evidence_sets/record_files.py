"""Files of evidence questions: JSONL, gzipped where the name ends in ``.gz``.

One question a line; passages are numbered from 0 in the order of the list::

    {"id": "5a71", "question": "Who ...?",
     "passages": [{"id": "Kansas_Song", "title": "Kansas Song", "text": "..."}, ...],
     "gold": [[0, 3]], "sets": [{"members": [0, 3], "label": true}, ...], "missing": [0]}

``gold``, ``sets`` and ``missing`` may be left out; other keys may not stand there.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from adducir.core.errors import InputError, UsageError
from adducir.core.files import writing_text
from adducir.core.json_lines import json_values
from adducir.datasets.evidence_sets.record import EvidenceQuestion, LabelledSet, Passage

_REQUIRED = ("id", "question", "passages")
_KEYS = frozenset((*_REQUIRED, "gold", "sets", "missing"))
_PASSAGE_KEYS = frozenset(Passage._fields)
_SET_KEYS = frozenset(LabelledSet._fields)


def read_questions(path: Path) -> Iterator[EvidenceQuestion]:
    """Yield the questions of a file in its order; blank lines are ignored.

    Raises:
        InputError: A line is no question, or an id comes twice; with file and line.
    """
    seen: dict[str, int] = {}
    for number, record in json_values(path):
        try:
            question = _question_of(record)
        except UsageError as error:
            raise InputError(error.what, path=path, line=number) from None
        if question.id in seen:
            raise InputError(
                f"the id {question.id!r} stands in line {seen[question.id]} already.",
                path=path,
                line=number,
                hint="Every question needs an id of its own.",
            )
        seen[question.id] = number
        yield question


def write_questions(questions: Iterable[EvidenceQuestion], path: Path) -> int:
    """Write questions as JSONL, whole or not at all.

    Returns:
        How many there were.

    Raises:
        InputError: An id comes twice, a text cannot be UTF-8, or ``path`` is a folder.
        MachineError: The disk is full, or the place cannot be written.
    """
    seen: set[str] = set()
    with writing_text(path) as handle:
        for question in questions:
            if question.id in seen:
                raise InputError(f"the id {question.id!r} comes twice.", path=path)
            seen.add(question.id)
            handle.write(_line_of(question, path) + "\n")
    return len(seen)


def _line_of(question: EvidenceQuestion, path: Path) -> str:
    try:
        return orjson.dumps(_record_of(question)).decode()
    except orjson.JSONEncodeError as error:  # half of a surrogate pair, as broken escapes make
        raise InputError(
            f"question {question.id!r} cannot be written: {error}.", path=path
        ) from error


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
    _check_keys(record, "question", _REQUIRED, _KEYS)
    sets = record.get("sets", [])
    for name in ("passages", "gold", "sets", "missing"):
        if not isinstance(record.get(name, []), list):
            raise UsageError(f"{name!r} must be a list.")
    for passage in record["passages"]:
        _check_keys(passage, "passage", Passage._fields, _PASSAGE_KEYS)
        if not all(isinstance(value, str) for value in passage.values()):
            raise UsageError("a passage's id, title and text must be text.")
    for one in sets:
        _check_keys(one, "labelled set", LabelledSet._fields, _SET_KEYS)
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


def _check_keys(record: Any, what: str, required: tuple[str, ...], known: frozenset[str]) -> None:
    if not isinstance(record, dict):
        raise UsageError(f"a {what} must be a JSON object, not a {type(record).__name__}.")
    lacking = [key for key in required if key not in record]
    if lacking:
        raise UsageError(f"this {what} has no {' and no '.join(map(repr, lacking))}.")
    unknown = sorted(record.keys() - known)
    if unknown:
        raise UsageError(f"a {what} has no key {unknown[0]!r}.")


def _numbers(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or any(type(number) is not int for number in value):
        raise UsageError(f"a list of whole numbers is wanted, not {value!r}.")
    return tuple(value)
