"""The topics that are tuned on, and which of them are held out together.

Tuning sees one list of topics: the judged ones of all topic sets. Each has an id: its qid, or
``SET:QID`` where topic sets share the qid. A judged topic that the topics lack cannot be searched;
it counts 0 in every setting, as it does in an evaluation.

What is one topic in two topic sets (same qid, same query) is in one fold: were it in two, it would
be tuned on its own labels.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
        names = [each.name for each in sets]
        if not names or len(set(names)) < len(names):
            raise UsageError("tuning needs topic sets, each with a name of its own.")
        shared = Counter(qid for each in sets for qid in each.qrels.qids)
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
        qids = tuple(qid for each in sets for qid in each.qrels.qids)
        set_of = np.repeat(np.arange(len(sets)), [len(each.qrels.qids) for each in sets])
        return cls(tuple(sets), tuple(ids), qids, set_of, queries)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def qrels(self) -> Qrels:
        frames = [
            _renamed(each.qrels.frame, *self.names_of(number))
            for number, each in enumerate(self.sets)
        ]
        return Qrels(pl.concat(frames), " + ".join(each.qrels.source for each in self.sets))

    def topics(self, ids: Iterable[str]) -> Topics:
        found = [one for one in ids if one in self.queries]
        source = " + ".join(each.topics.source for each in self.sets)
        return Topics(found, [self.queries[one] for one in found], source)

    @cached_property
    def same(self) -> Integers:
        """(T,) numbers that are equal for what is the same topic (qid and query) in two sets."""
        numbers: dict[tuple[str, str], int] = {}
        keys = zip(self.qids, (self.queries.get(one, one) for one in self.ids), strict=True)
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)

    def notes(self) -> Iterator[str]:
        """What there is to say of topics without judgements, and without a query."""
        judged = [(each.topics.qids, set(each.qrels.qids)) for each in self.sets]
        unjudged = [qid for qids, own in judged for qid in qids if qid not in own]
        for what, names in (
            ("have no judgements and took no part", unjudged),
            (
                "have judgements and no query, and count 0",
                [one for one in self.ids if one not in self.queries],
            ),
        ):
            if names:
                yield f"{len(names)} topics {what}: {', '.join(names[:10])}"

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
        return Run(_renamed(run.frame, ids, qids), run.tag)

    def joined(self, runs: Sequence[Run]) -> Run:
        """One run over ids of a run for each topic set; topics that are not judged are dropped."""
        parts = [_renamed(run.frame, *self.names_of(number)) for number, run in enumerate(runs)]
        return Run(pl.concat(parts), runs[0].tag)


def _renamed(frame: pl.DataFrame, old: Sequence[str], new: Sequence[str]) -> pl.DataFrame:
    """The topics called ``old``, under their new names."""
    names = pl.Series(old, dtype=pl.String)
    renamed = pl.col("qid").replace_strict(names, new, return_dtype=pl.String)
    return frame.filter(pl.col("qid").is_in(names.implode())).with_columns(renamed)


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
    """Each topic set is a fold (two years: tuned on one, applied to the other)."""
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
    """Cut the topics into k folds of equal size, give or take one.

    Topics are put in the order of the SHA-256 of ``seed qid`` and dealt out in turn, so that the
    folds depend on the seed and the qids and on nothing else.
    """
    name_of = {topic: pool.ids[row] for row, topic in reversed([*enumerate(pool.same.tolist())])}
    if not 2 <= k <= len(name_of):
        most = f"can be cut into 2 to {len(name_of)} folds, not {k}"
        raise UsageError(f"{len(name_of)} topic{'s' * (len(name_of) != 1)} {most}.")

    def drawn(topic: int) -> tuple[bytes, str]:
        return hashlib.sha256(f"{seed} {name_of[topic]}".encode()).digest(), name_of[topic]

    fold_of = {topic: rank % k for rank, topic in enumerate(sorted(name_of, key=drawn))}
    of = np.array([fold_of[topic] for topic in pool.same.tolist()], dtype=np.int64)
    names = tuple(str(number + 1) for number in range(k))
    return Folds(names, of, f"{k} folds over {len(name_of)} topics, seed {seed}")


def from_file(pool: Pool, path: Path | str) -> Folds:
    """Folds as a JSON file says: a list of lists of qids, as Anserini's; or an object of them."""
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
                what = f"topic {qid} is in two folds: {names[before]} and {name}."
                raise InputError(what, path=path)
    # Each judged topic stands there by its id, or else by its qid.
    found = [one if one in fold_of else qid for one, qid in zip(pool.ids, pool.qids, strict=True)]
    known = {qid for each in pool.sets for qid in each.topics.qids} | {*pool.qids, *pool.ids}
    for qids, what in (
        ([name for name in found if name not in fold_of], "judged topics are in no fold"),
        (sorted(fold_of.keys() - known), "are not topics"),
    ):
        if qids:
            hint = "Are these folds of other topics?"
            raise InputError(f"{len(qids)} {what}, such as {qids[0]}.", path=path, hint=hint)
    topic_of: dict[str, int] = {}
    for name, topic in zip(found, pool.same.tolist(), strict=True):
        if topic_of.setdefault(name, topic) != topic:
            what = f"the qid {name} is a topic of two topic sets; write SET:{name} for each."
            raise InputError(what, path=path)
    of = np.array([fold_of[name] for name in found], dtype=np.int64)
    if len(names) < 2 or len(set(of.tolist())) < len(names):
        raise InputError("two or more folds are needed, each with judged topics.", path=path)
    return Folds(tuple(names), of, f"{len(names)} folds from {path.name}")
