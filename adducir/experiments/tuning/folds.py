"""The topics that are tuned on, and which of them are held out together.

Tuning sees one list of topics: the judged ones of all topic sets. Each has an id: its qid, or
``SET:QID`` where topic sets share the qid. A judged topic that the topics lack cannot be searched;
it counts 0 in every setting, as it does in an evaluation.

Folds of them are made in one of three ways:

- ``by_topic_set``: each topic set is a fold (two years: tuned on one, applied to the other).
- ``k_fold``: k folds of equal size, give or take one, over all topics. Topics are put in the order
  of the SHA-256 of ``seed qid`` and dealt out in turn, so that the folds depend on the seed and the
  qids and on nothing else: not on the order of a file, a library or a machine.
- ``from_file``: JSON as Anserini's ``robust04-paper1-folds.json`` has it: a list of lists of qids;
  or an object of them, by name.

What is one topic in two topic sets (same qid, same query) is in one fold: were it in two, it would
be tuned on its own labels.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from adducir.core.errors import InputError, UsageError
from adducir.core.files import read_text
from adducir.core.json_lines import json_value
from adducir.corpora.frames import Integers
from adducir.corpora.qrels import Qrels
from adducir.corpora.topics import Topics
from adducir.runs.run import Run


@dataclass(frozen=True)
class JudgedTopics:
    """A topic set with its judgements, under a name."""

    name: str
    topics: Topics
    qrels: Qrels


@dataclass(frozen=True, eq=False)
class Pool:
    """The T judged topics of all topic sets."""

    sets: tuple[JudgedTopics, ...]
    ids: tuple[str, ...]  # (T,) set after set, each set in the order of its qrels
    qids: tuple[str, ...]  # (T,)
    set_of: Integers  # (T,) the number of each topic's set
    queries: dict[str, str]  # by id; a topic that cannot be searched has none

    @classmethod
    def of(cls, sets: Sequence[JudgedTopics]) -> "Pool":
        """Take topic sets together."""
        names = [each.name for each in sets]
        if not names or len(set(names)) < len(names):
            raise UsageError("tuning needs topic sets, each with a name of its own.")
        qids = [qid for each in sets for qid in each.qrels.qids]
        shared = Counter(qids)
        ids: list[str] = []
        queries: dict[str, str] = {}
        for each in sets:
            own = dict(zip(each.topics.qids, each.topics.texts, strict=True))
            if own.keys().isdisjoint(each.qrels.qids):
                raise InputError(
                    f"the topics of {each.topics.source} and the qrels have no qid in common (such "
                    f"as {each.topics.qids[0]!r} and {each.qrels.qids[0]!r}).",
                    path=each.qrels.source,
                )
            for qid in each.qrels.qids:
                ids.append(f"{each.name}:{qid}" if shared[qid] > 1 else qid)
                if qid in own:
                    queries[ids[-1]] = own[qid]
        set_of = np.repeat(np.arange(len(sets)), [len(each.qrels.qids) for each in sets])
        return cls(tuple(sets), tuple(ids), tuple(qids), set_of, queries)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def qrels(self) -> Qrels:
        """The judgements of all sets, with ids for qids."""
        frames = []
        for number, each in enumerate(self.sets):
            qids, ids = self.names_of(number)
            named = pl.col("qid").replace_strict(qids, ids, return_dtype=pl.String)
            frames.append(each.qrels.frame.with_columns(named))
        return Qrels(pl.concat(frames), " + ".join(each.qrels.source for each in self.sets))

    def topics(self, ids: Iterable[str]) -> Topics:
        """Those of the ids that have a query, as topics to search."""
        found = [one for one in ids if one in self.queries]
        source = " + ".join(each.topics.source for each in self.sets)
        return Topics(found, [self.queries[one] for one in found], source)

    @cached_property
    def same(self) -> Integers:
        """(T,) numbers that are equal for what is the same topic (qid and query) in two sets."""
        keys = [
            (qid, self.queries.get(one, one)) for qid, one in zip(self.qids, self.ids, strict=True)
        ]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        return np.array([numbers[key] for key in keys], dtype=np.int64)

    @property
    def unjudged(self) -> list[str]:
        """Qids that have no judgements and take no part."""
        judged = [(each.topics.qids, set(each.qrels.qids)) for each in self.sets]
        return [qid for qids, own in judged for qid in qids if qid not in own]

    @property
    def unsearchable(self) -> list[str]:
        """Ids that have judgements and no query."""
        return [one for one in self.ids if one not in self.queries]

    @property
    def has_own_qids(self) -> bool:
        """Whether no two sets share a qid, so that one run can hold them all."""
        return self.ids == self.qids

    def names_of(self, number: int) -> tuple[list[str], list[str]]:
        """The qids and ids of a set's topics."""
        rows = np.flatnonzero(self.set_of == number).tolist()
        return [self.qids[row] for row in rows], [self.ids[row] for row in rows]

    def of_set(self, run: Run, name: str) -> Run:
        """The part of a run over ids that is of one topic set, with its qids."""
        qids, ids = self.names_of([each.name for each in self.sets].index(name))
        return _renamed(run, ids, qids)

    def joined(self, runs: Sequence[Run]) -> Run:
        """One run over ids of a run for each topic set; topics that are not judged are dropped."""
        parts = [_renamed(run, *self.names_of(number)) for number, run in enumerate(runs)]
        return Run(pl.concat([part.frame for part in parts]), runs[0].tag)


def _renamed(run: Run, old: Sequence[str], new: Sequence[str]) -> Run:
    """The topics called ``old``, under their new names."""
    names = pl.Series(old, dtype=pl.String)
    renamed = pl.col("qid").replace_strict(names, new, return_dtype=pl.String)
    return Run(
        run.frame.filter(pl.col("qid").is_in(names.implode())).with_columns(renamed), run.tag
    )


@dataclass(frozen=True, eq=False)
class Folds:
    """A partition of topics into two folds or more."""

    names: tuple[str, ...]
    of: Integers  # (T,) the number of each topic's fold
    rule: str  # how they were made, in words

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
    """Each topic set is a fold."""
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
    return Folds(tuple(each.name for each in pool.sets), pool.set_of, "each topic set is a fold")


def k_fold(pool: Pool, k: int, seed: int = 42) -> Folds:
    """Cut the topics into k folds."""
    name_of = {topic: pool.ids[row] for row, topic in reversed([*enumerate(pool.same.tolist())])}
    if not 2 <= k <= len(name_of):
        raise UsageError(
            f"{len(name_of)} topics can be cut into 2 to {len(name_of)} folds, not {k}."
            if len(name_of) > 1
            else "a single topic cannot be cut into folds."
        )

    def drawn(topic: int) -> tuple[bytes, str]:
        return hashlib.sha256(f"{seed} {name_of[topic]}".encode()).digest(), name_of[topic]

    fold_of = {topic: rank % k for rank, topic in enumerate(sorted(name_of, key=drawn))}
    of = np.array([fold_of[topic] for topic in pool.same.tolist()], dtype=np.int64)
    names = tuple(str(number + 1) for number in range(k))
    return Folds(names, of, f"{k} folds over {len(name_of)} topics, seed {seed}")


def from_file(pool: Pool, path: Path | str) -> Folds:
    """Folds as a JSON file says."""
    path = Path(path)
    data = json_value(read_text(path), path)
    if isinstance(data, list):
        data = {str(number): fold for number, fold in enumerate(data, 1)}
    if not isinstance(data, dict) or not all(isinstance(fold, list) for fold in data.values()):
        raise InputError("folds are a list of lists of qids, in JSON.", path=path)
    names = list(data)
    fold_of: dict[str, int] = {}
    for number, (name, fold) in enumerate(data.items()):
        for qid in fold:
            if isinstance(qid, bool) or not isinstance(qid, str | int):
                raise InputError(f"{qid!r} in the fold {name} is not a qid.", path=path)
            if (before := fold_of.setdefault(str(qid), number)) != number:
                raise InputError(
                    f"topic {qid} is in two folds: {names[before]} and {name}.", path=path
                )
    # Each judged topic stands there by its id, or else by its qid.
    found = [one if one in fold_of else qid for one, qid in zip(pool.ids, pool.qids, strict=True)]
    known = {qid for each in pool.sets for qid in each.topics.qids} | {*pool.qids, *pool.ids}
    lacking = [name for name in found if name not in fold_of]
    unknown = sorted(fold_of.keys() - known)
    problems = [
        f"{len(qids)} {what}, such as {qids[0]}"
        for qids, what in ((lacking, "judged topics are in no fold"), (unknown, "are not topics"))
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
    of = np.array([fold_of[name] for name in found], dtype=np.int64)
    empty = [name for number, name in enumerate(names) if not (of == number).any()]
    if empty or len(names) < 2:
        what = f"the fold {empty[0]} has no judged topic." if empty else "there is one fold only."
        raise InputError(what, path=path)
    return Folds(tuple(names), of, f"{len(names)} folds from {path.name}")
