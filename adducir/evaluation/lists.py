"""Qrels and a run as the measures need them: the ranks of judged documents, from one join."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.core.errors import InputError, UsageError
from adducir.corpora.frames import pair_keys
from adducir.corpora.qrels import Qrels
from adducir.runs.run import Run

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
NegativeGrades: TypeAlias = Literal["zero", "trec_eval"]

WHOLE_LIST = int(np.iinfo(np.int64).max)
"""A cutoff beyond every ranking."""


@dataclass(frozen=True, eq=False)
class Judgements:
    """Columns of qrels, prepared once for any number of runs.

    (J,) ``topic`` (number, 0 to T - 1), ``docno``, ``grade`` and, as in the qrels, ``raw_grade`` of
    each judgement; ``negative``: whether negative grades became 0 ("zero") or stayed.
    """

    qids: tuple[str, ...]
    topic: Integers
    docno: pl.Series
    grade: Integers
    raw_grade: Integers
    negative: NegativeGrades
    source: str
    subtopics: pl.DataFrame | None = None

    @classmethod
    def prepare(cls, qrels: Qrels, negative: NegativeGrades) -> "Judgements":
        frame = qrels.frame
        if frame.is_empty():
            raise InputError("The qrels are empty.", path=qrels.source)
        qids = frame["qid"].unique(maintain_order=True)
        raw = frame["grade"].cast(pl.Int64).to_numpy()
        grade = np.maximum(raw, 0) if negative == "zero" else raw
        topic = _numbered(frame["qid"], qids)
        docno = frame["docno"]
        return cls(tuple(qids), topic, docno, grade, raw, negative, qrels.source, qrels.subtopics)

    @cached_property
    def places(self) -> pl.DataFrame:
        """Frame (qid, docno, topic, judgement) of all judgements."""
        qid = pl.Series(self.qids, dtype=pl.String).gather(self.topic)
        numbers = {"topic": self.topic, "judgement": np.arange(len(self.topic))}
        return pl.DataFrame({"qid": qid, "docno": self.docno, **numbers})

    @cached_property
    def keys(self) -> pl.DataFrame:
        """Frame (key, judgement): hashes of (topic, docno) and numbers 0 to J - 1."""
        keys = pair_keys(self.docno, self.topic)
        return pl.DataFrame({"key": keys, "judgement": np.arange(len(keys))})

    @cached_property
    def counts(self) -> "GradeCounts":
        return self.count(self.grade)

    @cached_property
    def highest(self) -> Integers:
        """(T,) the highest grade of each topic."""
        highest = np.full(len(self.qids), np.iinfo(np.int64).min)
        np.maximum.at(highest, self.topic, self.grade)
        return highest

    def count(self, grade: Any) -> "GradeCounts":
        levels = pl.Series(grade).unique().sort().to_numpy()
        cell = self.topic * len(levels) + np.searchsorted(levels, grade)
        table = np.bincount(cell, minlength=len(self.qids) * len(levels))
        return GradeCounts(levels, table.reshape(len(self.qids), len(levels)))

    def regrade(self, gains: Mapping[int, float]) -> Any:
        """(J,) grades with grade g replaced by ``gains[g]``, if given; fractions make floats."""
        is_whole = all(float(gain).is_integer() for gain in gains.values())
        graded: Any = self.grade.astype(np.int64 if is_whole else np.float64)
        for grade in sorted(gains, reverse=True):  # negative ones last, to win
            graded[(self.raw_grade if grade < 0 else self.grade) == grade] = gains[grade]
        return np.maximum(graded, 0) if self.negative == "zero" else graded


class GradeCounts(NamedTuple):
    """(L,) ``levels``: the grades that occur, ascending; (T, L) ``table``: documents at each."""

    levels: Any
    table: Integers

    def between(self, low: int, high: int = WHOLE_LIST) -> Integers:
        return np.asarray(self.table[:, (self.levels >= low) & (self.levels < high)].sum(axis=1))

    def ideal_dcg(self, gain: Callable[[Integers], Floats], cutoff: int | None) -> Floats:
        """(T,) DCG of the ranking by descending grade, cut at ``cutoff``."""
        positive = self.levels > 0
        levels, table = self.levels[positive][::-1], self.table[:, positive][:, ::-1]
        ends = np.cumsum(table, axis=1)
        longest = int(ends.max(initial=0))
        cumulated = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(np.arange(longest) + 2.0))])
        cut = np.minimum(ends, longest if cutoff is None else cutoff)
        shares = np.diff(cumulated[cut], axis=1, prepend=0.0)
        return np.asarray(shares @ gain(levels))


@dataclass(frozen=True, eq=False)
class Lists:
    """A run's judged documents by topic and rank; caches what several measures need."""

    judgements: Judgements
    retrieved: Integers  # (T,) documents in each topic's list
    topic: Integers  # (m,) topic number of each judged document
    rank: Integers  # (m,) its rank in the list, from 0, ascending within a topic
    judgement: Integers  # (m,) the number of its judgement
    extra: tuple[str, ...] = ()  # the run's topics that are not in the qrels
    _relevant: dict[tuple[int, bool], "Relevant"] = field(default_factory=dict, repr=False)

    @classmethod
    def find(cls, run: Run, judgements: Judgements) -> "Lists":
        blocks = run.frame.select(block=pl.col("qid").rle()).unnest("block")
        if blocks["value"].n_unique() < len(blocks):
            raise UsageError(
                "A topic's rows of the run are not contiguous.",
                hint="Make the run with Run.ranked, which sorts rows.",
            )
        number = _numbered(blocks["value"], pl.Series(judgements.qids, dtype=pl.String))
        is_known, lengths = number >= 0, blocks["len"].cast(pl.Int64).to_numpy()
        if len(is_known) and not is_known.any():
            raise InputError(
                f"None of the run's topics ({blocks['value'][0]} is the first of {len(is_known)}) "
                f"is in the qrels ({judgements.qids[0]} is the first of "
                f"{len(judgements.qids)}).",
                path=run.path,
                hint="Use a run and qrels of the same topics.",
            )
        begin, retrieved = np.zeros((2, len(judgements.qids)), dtype=np.int64)
        begin[number[is_known]] = (np.cumsum(lengths) - lengths)[is_known]
        retrieved[number[is_known]] = lengths[is_known]
        docno, topic = run.frame["docno"], np.repeat(number, lengths)
        keys = pair_keys(docno, topic)
        rows = pl.DataFrame({"key": keys, "row": np.arange(len(keys))})
        judged = judgements.keys.join(rows, on="key", how="inner").sort("row")
        row, judgement = judged["row"].to_numpy(), judged["judgement"].to_numpy()
        same = (docno.gather(row) == judgements.docno.gather(judgement)).to_numpy()
        same &= topic[row] == judgements.topic[judgement]  # keys may collide
        row, judgement = row[same], judgement[same]
        judged_twice = row[1:][np.diff(row) == 0]
        ranked_twice = np.flatnonzero(np.bincount(judgement, minlength=1) > 1)
        for again, holder, names, path in (
            (judged_twice, "qrels judge", docno, judgements.source),
            (ranked_twice, "run ranks", judgements.docno, run.path),
        ):
            for row_ in again[:1].tolist():
                raise InputError(f"The {holder} {names[row_]} twice for one topic.", path=path)
        extra, topic = tuple(blocks["value"].filter(pl.Series(~is_known))), topic[row]
        return cls(judgements, retrieved, topic, row - begin[topic], judgement, extra)

    @cached_property
    def grade(self) -> Integers:
        return self.judgements.grade[self.judgement]

    @property
    def topics(self) -> int:
        return len(self.retrieved)

    @cached_property
    def _condensed(self) -> "Lists":
        return self.condense(self.grade)

    def ranked(self, condensed: bool = False) -> "Lists":
        """The judged documents in the full or in the condensed lists."""
        return self._condensed if condensed else self

    def condense(self, grade: Integers) -> "Lists":
        """The lists without unjudged or negative (m,) grades (trec_eval's ``-J``)."""
        kept = grade >= 0
        topic = self.topic[kept]
        retrieved = np.bincount(topic, minlength=self.topics)
        return Lists(self.judgements, retrieved, topic, positions(topic), self.judgement[kept])

    def relevant(self, rel: int, condensed: bool = False, cutoff: int | None = None) -> "Relevant":
        """Documents with grade ``rel`` or more, above any cutoff."""
        if (relevant := self._relevant.get((rel, condensed))) is None:
            ranked = self.ranked(condensed)
            chosen = ranked.grade >= rel
            topic, total = ranked.topic[chosen], self.judgements.counts.between(rel)
            relevant = Relevant(topic, ranked.rank[chosen], positions(topic) + 1, total)
            self._relevant[rel, condensed] = relevant
        if cutoff is None:
            return relevant
        top = relevant.rank < cutoff
        return Relevant(relevant.topic[top], relevant.rank[top], relevant.nth[top], relevant.total)

    def sums(self, topic: Integers, values: Floats | None = None) -> Floats:
        return np.bincount(topic, weights=values, minlength=self.topics).astype(np.float64)


class Relevant(NamedTuple):
    """Relevant documents that a run retrieved, by topic and rank."""

    topic: Integers  # (r,) topic number of each
    rank: Integers  # (r,) its rank from 0
    nth: Integers  # (r,) 1 for a topic's first relevant document, 2 for its second ...
    total: Integers  # (T,) relevant documents in the qrels


def share(part: Floats | Integers, whole: Floats | Integers) -> Floats:
    """``part / whole``, and 0 where ``whole`` is 0."""
    zeros = np.zeros(len(part))
    return np.asarray(np.divide(part, whole, out=zeros, where=np.asarray(whole) != 0))


def _numbered(column: pl.Series, names: pl.Series) -> Integers:
    """(n,) the position of each value of ``column`` in ``names``, or -1."""
    positions = pl.DataFrame({"name": names, "number": np.arange(len(names))})
    joined = column.to_frame("name").join(positions, on="name", how="left", maintain_order="left")
    return joined["number"].fill_null(-1).to_numpy()


def positions(topic: Integers) -> Integers:
    """(n,) the position of each row among those of its topic, from 0; topics are contiguous."""
    new = np.flatnonzero(np.diff(topic, prepend=-1) != 0) if len(topic) else topic
    lengths = np.diff(new, append=len(topic))
    return np.arange(len(topic)) - np.repeat(new, lengths)
