"""What judges, or models, chose.

A file of choices is the task file with its ``choice`` filled in (CSV or JSONL), one per judge,
named after the judge; or one file of all judges with a column ``rater``. Other columns are ignored.
An empty choice is no answer. Where there is ``task``, it must be the key's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import InputError, UsageError
from adducir.evaluation.records import records
from adducir.studies.literary_evidence.proxy.files import Key, option

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Choices:
    """What one judge chose.

    Attributes:
        name: The judge, or the model.
        chosen: (I,) the option chosen of each item of the key, from 1; 0 where there is none.
    """

    name: str
    chosen: Integers


def read_choices(path: Path, key: Key, judge: str) -> list[Choices]:
    """Read the choices of one judge, or of several.

    Args:
        path: The file, plain or gzipped.
        judge: The judge's name where the file has no column ``rater``.

    Raises:
        InputError: An item or an option that the key lacks, an item that a judge has twice, the
            choices of another task, or no choice at all; with the line.
    """
    places = {item: place for place, item in enumerate(key.answers)}
    found: dict[str, Integers] = {}
    seen: dict[tuple[str, str], int] = {}
    for line, record in records(path, ("item", "choice")):
        item, name = record["item"], record.get("rater") or judge
        _check_task(record, key, path, line)
        if item not in places:
            raise InputError(
                f"the key has no item {item!r}.", path=path, line=line, hint="Is it its key?"
            )
        before = seen.setdefault((name, item), line)
        if before != line:
            raise InputError(
                f"{name} chooses twice for {item}, first in line {before}.", path=path, line=line
            )
        chosen = option(record["choice"], key.options)
        if chosen is None and record["choice"]:
            raise InputError(
                f"the choice {record['choice']!r} is none of 1 to {key.options}.",
                path=path,
                line=line,
                hint="Leave it empty where there is no answer.",
            )
        mine = found.setdefault(name, np.zeros(len(places), dtype=np.int64))
        mine[places[item]] = chosen or 0
    if not any(chosen.any() for chosen in found.values()):
        raise InputError("nothing was chosen in it.", path=path)
    return [Choices(name, chosen) for name, chosen in found.items()]


def choices_of_scores(
    name: str, scores: Mapping[str, Mapping[str, float]], key: Key
) -> tuple[Choices, int]:
    """What a model chooses: the candidate that it scores highest.

    Where the gold item ties with another, the other is chosen: ties count against the model. A
    candidate without a score comes after all that have one; an item without any has no choice.

    Returns:
        The choices, and the number of items where some candidate has no score.

    Raises:
        UsageError: No item has a score.
    """
    chosen = np.zeros(len(key.answers), dtype=np.int64)
    partial = 0
    for place, (item, answer) in enumerate(key.answers.items()):
        given = scores.get(item, {})
        known = sum(docno in given for docno in answer.docnos)
        partial += 0 < known < len(answer.docnos)
        if known:
            # Greatest score first, then any but the gold item.
            ordered = sorted(
                range(1, key.options + 1),
                key=lambda number: (
                    -given.get(answer.docnos[number - 1], -np.inf),
                    number == answer.gold,
                ),
            )
            chosen[place] = ordered[0]
    if not chosen.any():
        raise UsageError(f"{name} scores no candidate of the task.")
    return Choices(name, chosen), partial


def _check_task(record: Mapping[str, str], key: Key, path: Path, line: int) -> None:
    if record.get("task") and record["task"] != key.mark:
        raise InputError(
            f"this is a choice of the task {record['task']}, the key is of {key.mark}.",
            path=path,
            line=line,
            hint="Name the key that was written with the task.",
        )
