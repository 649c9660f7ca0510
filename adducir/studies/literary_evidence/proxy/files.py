"""The files of the proxy task: what judges get, and the key that they do not get.

* The task, CSV or JSONL by the name: ``item``, ``context``, ``candidate_1`` ... ``candidate_n``
  (JSONL: a list ``candidates``), an empty ``choice`` to be filled in with the number of a
  candidate, and ``task``, the mark that says which key belongs to it. Neither docnos nor the gold
  item stand in it.
* The key, CSV: ``item``, ``gold``, ``group``, ``docno_1`` ... ``docno_n``, ``task``.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from adducir.core.csv_files import CsvWriter
from adducir.core.errors import InputError, UsageError
from adducir.core.files import writing_text
from adducir.core.texts import whole_number
from adducir.evaluation.records import records
from adducir.studies.literary_evidence.proxy.tasks import Task

TASK_ENDINGS = (".csv", ".jsonl")


@dataclass(frozen=True)
class Answer:
    """The gold item's number (from 1), the docnos in the order shown, and the item's group."""

    gold: int
    docnos: tuple[str, ...]
    group: str = ""


@dataclass(frozen=True)
class Key:
    """The answers of a task.

    Attributes:
        answers: The answer of each item.
        options: How many candidates an item has.
        mark: The task's mark.
    """

    answers: dict[str, Answer]
    options: int
    mark: str


def key_of(task: Task) -> Key:
    """The key of a task just made."""
    answers = {item.id: Answer(item.gold, item.docnos, item.group) for item in task.items}
    return Key(answers, len(task.items[0].docnos), task.mark)


def check_task_name(path: Path) -> None:
    """Refuse a name that says no format.

    Raises:
        UsageError: The name ends neither in .csv nor in .jsonl (``.gz`` apart).
    """
    if Path(path.name.removesuffix(".gz")).suffix.lower() not in TASK_ENDINGS:
        raise UsageError(f"{path.name} says no format.", hint="Let its name end in .csv or .jsonl.")


def write_task(task: Task, path: Path) -> None:
    """Write what judges see.

    Raises:
        UsageError: As :func:`check_task_name`.
        InputError, MachineError: The file cannot be written.
    """
    check_task_name(path)
    as_json = Path(path.name.removesuffix(".gz")).suffix.lower() == ".jsonl"
    with writing_text(path) as handle:
        if as_json:
            _write_json(task, handle)
        else:
            _write_csv(task, handle)


def _write_json(task: Task, handle: TextIO) -> None:
    for item in task.items:
        shown = {
            "item": item.id,
            "context": item.context,
            "candidates": item.candidates,
            "choice": None,
            "task": task.mark,
        }
        handle.write(json.dumps(shown, ensure_ascii=False) + "\n")


def _write_csv(task: Task, handle: TextIO) -> None:
    options = range(1, len(task.items[0].docnos) + 1)
    writer = CsvWriter(handle)
    names = (f"candidate_{number}" for number in options)
    writer.row(["item", "context", *names, "choice", "task"])
    for item in task.items:
        writer.row([item.id, item.context, *item.candidates, "", task.mark])


def write_key(task: Task, path: Path) -> None:
    """Write the answers.

    Raises:
        InputError, MachineError: The file cannot be written.
    """
    options = range(1, len(task.items[0].docnos) + 1)
    with writing_text(path) as handle:
        writer = CsvWriter(handle)
        writer.row(["item", "gold", "group", *(f"docno_{n}" for n in options), "task"])
        for item in task.items:
            writer.row([item.id, item.gold, item.group, *item.docnos, task.mark])


def read_key(path: Path) -> Key:
    """Read the answers.

    Raises:
        InputError: The file is no key; with the line.
    """
    answers: dict[str, Answer] = {}
    marks: dict[str, int] = {}
    options = 0
    for line, record in records(path, ("item", "gold", "docno_1", "docno_2", "task")):
        options = sum(name.startswith("docno_") for name in record)
        docnos = tuple(record.get(f"docno_{number}", "") for number in range(1, options + 1))
        gold = option(record["gold"], options)
        if gold is None or not all(docnos) or not record["item"]:
            raise InputError(
                f"this is no answer of a key: gold item {record['gold']!r} of {options} "
                "candidates.",
                path=path,
                line=line,
                hint="Take the key file as it was written.",
            )
        if record["item"] in answers:
            raise InputError(f"the item {record['item']} comes twice.", path=path, line=line)
        marks.setdefault(record["task"], line)
        answers[record["item"]] = Answer(gold, docnos, record.get("group", ""))
    if not answers:
        raise InputError("there is no answer in it.", path=path)
    if len(marks) > 1:
        raise InputError(
            "here begins the key of another task.", path=path, line=max(marks.values())
        )
    return Key(answers, options, next(iter(marks)))


def option(text: str, options: int) -> int | None:
    """The number of an option, 1 to ``options``, or None where the text is none."""
    return whole_number(text, options) or None
