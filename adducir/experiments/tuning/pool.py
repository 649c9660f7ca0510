"""All judged topics of one or several topic sets, taken together.

Tuning sees one list of topics. Each has an id: its qid, or ``SET:QID`` where topic sets share the
qid. Only judged topics take part. A judged topic that the topics lack cannot be searched; it counts
0 in every setting, as it does in an evaluation.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from adducir.core.errors import InputError, UsageError
from adducir.corpora.qrels import Qrels
from adducir.corpora.topics import Topics
from adducir.runs.order import Integers
from adducir.runs.run import Run


@dataclass(frozen=True)
class JudgedTopics:
    """A topic set with its judgements, under a name."""

    name: str
    topics: Topics
    qrels: Qrels


@dataclass(frozen=True, eq=False)
class Pool:
    """The T judged topics.

    Attributes:
        sets: The topic sets.
        ids: (T,) ids, set after set, each set in the order of its qrels.
        qids: (T,) qids.
        set_of: (T,) the number of each topic's set.
        queries: Query by id; a topic that cannot be searched has none.
    """

    sets: tuple[JudgedTopics, ...]
    ids: tuple[str, ...]
    qids: tuple[str, ...]
    set_of: Integers
    queries: dict[str, str]

    @classmethod
    def of(cls, sets: Sequence[JudgedTopics]) -> "Pool":
        """Take topic sets together.

        Raises:
            UsageError: There is none, or two have the same name.
            InputError: Topics and qrels of a set have no qid in common.
        """
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
                name = f"{each.name}:{qid}" if shared[qid] > 1 else qid
                ids.append(name)
                if qid in own:
                    queries[name] = own[qid]
        return cls(
            tuple(sets),
            tuple(ids),
            tuple(qid for each in sets for qid in each.qrels.qids),
            np.repeat(np.arange(len(sets)), [len(each.qrels.qids) for each in sets]),
            queries,
        )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def qrels(self) -> Qrels:
        """The judgements of all sets, with ids for qids."""
        start, frames = 0, []
        for each in self.sets:
            own = self.ids[start : start + len(each.qrels.qids)]
            start += len(own)
            qids = pl.col("qid").replace_strict(each.qrels.qids, own, return_dtype=pl.String)
            frames.append(each.qrels.frame.with_columns(qids))
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
        return [
            qid
            for each in self.sets
            for judged in (set(each.qrels.qids),)
            for qid in each.topics.qids
            if qid not in judged
        ]

    @property
    def unsearchable(self) -> list[str]:
        """Ids that have judgements and no query."""
        return [one for one in self.ids if one not in self.queries]

    @property
    def has_own_qids(self) -> bool:
        """Whether no two sets share a qid, so that one run can hold them all."""
        return self.ids == self.qids

    def of_set(self, run: Run, name: str) -> Run:
        """The part of a run over ids that is of one topic set, with its qids."""
        number = [each.name for each in self.sets].index(name)
        return _renamed(run, {self.ids[row]: self.qids[row] for row in self._rows(number)})

    def joined(self, runs: Sequence[Run]) -> Run:
        """One run over ids of a run for each topic set; topics that are not judged are dropped."""
        parts = [
            _renamed(run, {self.qids[row]: self.ids[row] for row in self._rows(number)})
            for number, run in enumerate(runs)
        ]
        return Run(pl.concat([part.frame for part in parts]), runs[0].tag)

    def _rows(self, number: int) -> list[int]:
        """The topics of a set."""
        return np.flatnonzero(self.set_of == number).tolist()


def _renamed(run: Run, names: dict[str, str]) -> Run:
    """The topics of ``names``, under their new names."""
    old = pl.Series(list(names), dtype=pl.String)
    new = pl.col("qid").replace_strict(old, list(names.values()), return_dtype=pl.String)
    frame = run.frame.filter(pl.col("qid").is_in(old.implode())).with_columns(new)
    return Run(frame, run.tag)
