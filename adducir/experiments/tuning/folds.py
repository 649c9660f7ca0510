"""Folds: which topics are held out together.

- ``by_topic_set``: each topic set is a fold (two years: tuned on one, applied to the other).
- ``k_fold``: k folds of equal size, give or take one, over all topics. Topics are put in the order
  of the SHA-256 of ``seed qid`` and dealt out in turn, so that the folds depend on the seed and the
  qids and on nothing else: not on the order of a file, a library or a machine.
- ``from_file``: as a file says: JSON as Anserini's ``robust04-paper1-folds.json`` has it (a list of
  lists of qids; or an object of them, by name), or lines ``qid fold``. Where topic sets share qids,
  ``SET:QID`` distinguishes them.

What is one topic in two topic sets (same qid, same query) is in one fold: were it in two, it would
be tuned on its own labels.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adducir.core.errors import InputError, UsageError
from adducir.core.files import read_lines
from adducir.core.json_lines import json_value
from adducir.experiments.tuning.pool import Pool
from adducir.runs.order import Integers


@dataclass(frozen=True, eq=False)
class Folds:
    """A partition of topics.

    Attributes:
        names: The folds, two or more.
        of: (T,) the number of each topic's fold.
        rule: How they were made, in words.
    """

    names: tuple[str, ...]
    of: Integers
    rule: str

    def __len__(self) -> int:
        return len(self.names)

    def test(self, fold: int) -> Integers:
        """The topics of a fold, ascending."""
        return np.flatnonzero(self.of == fold)

    def train(self, fold: int) -> Integers:
        """The topics of all other folds, ascending."""
        return np.flatnonzero(self.of != fold)

    def members(self, ids: Sequence[str]) -> dict[str, list[str]]:
        """The folds' topics by name, for a file."""
        return {
            name: [ids[row] for row in self.test(number)] for number, name in enumerate(self.names)
        }


def by_topic_set(pool: Pool) -> Folds:
    """Each topic set is a fold.

    Raises:
        UsageError: There is one topic set only, or two have a topic in common.
    """
    if len(pool.sets) < 2:
        raise UsageError(
            "folds by topic set need two topic sets or more.",
            hint="Name another pair of topics and qrels, or cut the topics into folds.",
        )
    first: dict[int, int] = {}
    for row, topic in enumerate(pool.same.tolist()):
        before = first.setdefault(topic, row)
        if pool.set_of[before] != pool.set_of[row]:
            raise UsageError(
                f"topic {pool.qids[row]} is in two folds: {pool.sets[pool.set_of[before]].name} "
                f"and {pool.sets[pool.set_of[row]].name}.",
                hint="Cut the topics into folds instead.",
            )
    names = tuple(each.name for each in pool.sets)
    return Folds(names, pool.set_of, "each topic set is a fold")


def k_fold(pool: Pool, k: int, seed: int = 42) -> Folds:
    """Cut the topics into k folds.

    Raises:
        UsageError: ``k`` is below 2, or there are fewer topics.
    """
    topics = {topic: row for row, topic in reversed(list(enumerate(pool.same.tolist())))}
    if not 2 <= k <= len(topics):
        raise UsageError(
            f"{len(topics)} topics can be cut into 2 to {len(topics)} folds, not {k}."
            if len(topics) > 1
            else "a single topic cannot be cut into folds."
        )

    def drawn(topic: int) -> tuple[bytes, str]:
        name = pool.ids[topics[topic]]
        return hashlib.sha256(f"{seed} {name}".encode()).digest(), name

    fold_of = {topic: rank % k for rank, topic in enumerate(sorted(topics, key=drawn))}
    of = np.array([fold_of[topic] for topic in pool.same.tolist()], dtype=np.int64)
    names = tuple(str(number + 1) for number in range(k))
    return Folds(names, of, f"{k} folds over {len(topics)} topics, seed {seed}")


def from_file(pool: Pool, path: Path | str) -> Folds:
    """Folds as a file says.

    Raises:
        InputError: The file is malformed, a qid is in two folds, a judged topic in none or meant
            by two topic sets, a qid unknown, or a fold without judged topics.
    """
    path = Path(path)
    fold_of: dict[str, tuple[int, str]] = {}
    names: dict[str, int] = {}
    for line, qid, name in _entries(path):
        number = names.setdefault(name, len(names))
        before = fold_of.setdefault(qid, (number, name))
        if before[0] != number:
            raise InputError(
                f"topic {qid} is in two folds: {before[1]} and {name}.", path=path, line=line
            )
    found = _names_in(pool, fold_of.keys(), path)
    of = np.array([fold_of[name][0] for name in found], dtype=np.int64)
    empty = [name for name, number in names.items() if not (of == number).any()]
    if empty or len(names) < 2:
        what = f"the fold {empty[0]} has no judged topic." if empty else "there is one fold only."
        raise InputError(what, path=path)
    return Folds(tuple(names), of, f"{len(names)} folds from {path.name}")


def _names_in(pool: Pool, given: Iterable[str], path: Path) -> list[str]:
    """For each judged topic the name it has in the file: its id, or else its qid."""
    given = set(given)
    found = [one if one in given else qid for one, qid in zip(pool.ids, pool.qids, strict=True)]
    known = {qid for each in pool.sets for qid in each.topics.qids} | {*pool.qids, *pool.ids}
    lacking = [name for name in found if name not in given]
    unknown = sorted(given - known)
    problems = [
        f"{len(qids)} {what}, such as {qids[0]}"
        for qids, what in ((lacking, "judged topics are in no fold"), (unknown, "are no topics"))
        if qids
    ]
    if problems:
        raise InputError(
            f"{'; '.join(problems)}.", path=path, hint="Are these folds of other topics?"
        )
    topic_of: dict[str, int] = {}
    for name, topic in zip(found, pool.same.tolist(), strict=True):
        if topic_of.setdefault(name, topic) != topic:
            raise InputError(
                f"the qid {name} is a topic of two topic sets; write SET:{name} for each.",
                path=path,
            )
    return found


def _entries(path: Path) -> Iterator[tuple[int | None, str, str]]:
    """Line, qid and fold's name of each entry."""
    lines = list(read_lines(path))
    text = "\n".join(line for _, line in lines)
    if text.lstrip()[:1] in ("[", "{"):
        yield from _json_entries(path, text)
        return
    for number, line in lines:
        parts = line.split()
        if not parts:
            continue
        if len(parts) != 2:
            raise InputError(
                f"a line of a fold file is 'qid fold', not {line.strip()!r}.",
                path=path,
                line=number,
            )
        yield number, parts[0], parts[1]


def _json_entries(path: Path, text: str) -> Iterator[tuple[None, str, str]]:
    data = json_value(text, path)
    folds: Mapping[str, Any] = (
        data
        if isinstance(data, dict)
        else {str(number): fold for number, fold in enumerate(data, 1)}
    )
    for name, fold in folds.items():
        if not isinstance(fold, list):
            raise InputError("JSON folds are a list of lists of qids.", path=path)
        if not fold:
            raise InputError(f"the fold {name} is empty.", path=path)
        for qid in fold:
            if isinstance(qid, bool) or not isinstance(qid, str | int):
                raise InputError(f"{qid!r} in the fold {name} is no qid.", path=path)
            yield None, str(qid), name
