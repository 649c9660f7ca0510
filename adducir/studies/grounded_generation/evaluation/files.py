"""Files of generated texts and of references: JSONL in three forms, known by their keys.

=========  ================================================  ======================================
form       a system's line                                   a reference's line
=========  ================================================  ======================================
Adducir's  ``{"id", "outputs": [{"text", "docno",            a grounded context: ``{"id", "input",
           "passage"}, ...]}``, by rank of the passages;     "target", "gold", "group"}``
           ``docno`` and ``passage`` may be left out
KILT's     ``{"id", "output": [{"answer", "provenance":      ``{"id", "input", "output":
           [{"wikipedia_id"}, ...]}]}``, one output          [{"answer", "provenance"}, ...]}``
MS         ``{"query_id", "answers": [text]}``, one answer   ``{"query_id", "answers": [text]}``
MARCO's    or none
=========  ================================================  ======================================
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from adducir.core.errors import InputError, UsageError
from adducir.core.json_lines import json_values
from adducir.corpora.records import read_records
from adducir.studies.grounded_generation.evaluation.texts import Generated, Output, Reference

NO_ANSWER = "No Answer Present."
Item = TypeVar("Item", Generated, Reference)


def read_generated(path: Path) -> dict[str, Generated]:
    """What one system wrote, by id.

    Raises:
        InputError: A line is of none of the forms, or an id comes twice; with file and line.
    """
    return _read(path, _generated)


def read_references(path: Path) -> dict[str, Reference]:
    """References by id, in the file's order.

    Raises:
        InputError: A line is of none of the forms, or an id comes twice; with file and line.
    """
    return _read(path, _reference)


def read_all_references(paths: Iterable[Path]) -> dict[str, Reference]:
    """The references of several files.

    Raises:
        InputError: As :func:`read_references`, or an id is in two files.
    """
    found: dict[str, Reference] = {}
    for path in paths:
        some = read_references(path)
        twice = found.keys() & some.keys()
        if twice:
            raise InputError(f"the id {min(twice)!r} is in a file before it, too.", path=path)
        found.update(some)
    return found


def _read(path: Path, convert: Callable[[Any], Item]) -> dict[str, Item]:
    def checked(record: Any) -> Item:
        if not isinstance(record, dict):
            raise UsageError("this is no JSON object.")
        return convert(record)

    hint = "docs/generation.md shows the three forms that are read."
    return {one.id: one for one in read_records(path, json_values(path), checked, hint)}


def _generated(record: dict[str, Any]) -> Generated:
    name = _id(record)
    if "outputs" in record:
        return Generated(name, tuple(map(_output, _list(record["outputs"], "outputs"))))
    if "output" in record:
        outputs = _list(record["output"], "output")
        if len(outputs) != 1:
            raise UsageError(f"a KILT prediction has one output, not {len(outputs)}.")
        answer = _text(outputs[0], "answer", "")
        return Generated(name, (Output(answer),) if answer else (), _pages(outputs[0]))
    answers = _answers(record)
    if len(answers) > 1:
        raise UsageError(f"a system gives one answer, not {len(answers)}.")
    return Generated(name, tuple(Output("" if one == NO_ANSWER else one) for one in answers))


def _reference(record: dict[str, Any]) -> Reference:
    name = _id(record)
    if "output" in record:
        outputs = _list(record["output"], "output")
        answers = dict.fromkeys(_text(one, "answer", "").strip() for one in outputs)
        return Reference(
            name,
            tuple(one for one in answers if one),
            _text(record, "input", ""),
            evidence=tuple(_pages(one) for one in outputs if "provenance" in one),
        )
    if "answers" in record:
        answers = dict.fromkeys(_answers(record))
        return Reference(
            name,
            tuple(answers),
            _text(record, "query", ""),
            unanswerable=NO_ANSWER in answers,
        )
    target = _text(record, "target", "")
    gold = _list(record.get("gold", []), "gold")
    if not all(isinstance(one, str) for one in gold):
        raise UsageError("'gold' must be a list of docnos.")
    return Reference(name, (target,) if target else (), _text(record, "input"), tuple(gold))


def _id(record: dict[str, Any]) -> str:
    name = record.get("id", record.get("query_id"))
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not isinstance(name, str) or name.split() != [name]:
        raise UsageError(f"'id' (or 'query_id') must be text without white space, not {name!r}.")
    return name


def _output(record: Any) -> Output:
    return Output(_text(record, "text"), _or_none(record, "docno"), _or_none(record, "passage"))


def _pages(record: Any) -> tuple[str, ...]:
    """The pages of an output's provenance, each once, as text: KILT's files have numbers, too."""
    provenance = _list(record.get("provenance", []), "provenance")
    if not all(isinstance(one, dict) for one in provenance):
        raise UsageError("'provenance' must be a list of objects.")
    named = (one.get("wikipedia_id") for one in provenance)
    return tuple(dict.fromkeys(str(one).strip() for one in named if one is not None))


def _answers(record: dict[str, Any]) -> list[str]:
    if "answers" not in record:
        raise UsageError("this object has neither 'outputs' nor 'output' nor 'answers'.")
    answers = _list(record["answers"], "answers")
    if not all(isinstance(one, str) for one in answers):
        raise UsageError("'answers' must be a list of texts.")
    return answers


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise UsageError(f"{name!r} must be a list.")
    return value


def _text(record: Any, name: str, default: str | None = None) -> str:
    if not isinstance(record, dict):
        raise UsageError("an output must be an object.")
    value = record.get(name, default)
    if not isinstance(value, str):
        raise UsageError(f"{name!r} must be text.")
    return value


def _or_none(record: dict[str, Any], name: str) -> str | None:
    return None if record.get(name) is None else _text(record, name)
