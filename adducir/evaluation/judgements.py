"""Relevance judgements, prepared once for the evaluation of any number of runs.

Everything the vectorised measures need from the qrels is counts: how many
documents per topic has at each grade. From them follow the number of relevant
documents at any ``rel`` level and the ideal DCG at any cutoff.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.core.errors import InputError
from adducir.corpora.frames import pair_keys
from adducir.corpora.qrels import Qrels

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
NegativeGrades = Literal["zero", "trec_eval"]


@dataclass(frozen=True, eq=False)
class Judgements:
    """Qrels in columns.

    Attributes:
        qids: The T topics, in the order of the qrels.
        topic: (J,) topic number of each judgement, 0 to T - 1.
        docno: (J,) its document.
        grade: (J,) its grade, negative ones as ``negative`` says.
        raw_grade: (J,) its grade as in the qrels.
        negative: ``"zero"`` where negative grades became 0, ``"trec_eval"``
            where they stayed.
        source: Where the qrels come from, for messages.
    """

    qids: tuple[str, ...]
    topic: Integers
    docno: pl.Series
    grade: Integers
    raw_grade: Integers
    negative: NegativeGrades
    source: str
    _levels: dict[str, "GradeCounts"] = field(default_factory=dict, repr=False)

    @classmethod
    def prepare(cls, qrels: Qrels, negative: NegativeGrades) -> "Judgements":
        """Prepare qrels.

        Raises:
            InputError: There are no judgements.
        """
        frame = qrels.frame
        if frame.is_empty():
            raise InputError("The qrels hold no judgements.", path=qrels.source)
        qids = frame["qid"].unique(maintain_order=True)
        topic = number_topics(frame["qid"], qids)
        raw = frame["grade"].cast(pl.Int64).to_numpy()
        grade = np.maximum(raw, 0) if negative == "zero" else raw
        return cls(tuple(qids), topic, frame["docno"], grade, raw, negative, qrels.source)

    @cached_property
    def keys(self) -> pl.DataFrame:
        """Frame (key, judgement): hashes of (topic, docno) and numbers 0 to J - 1."""
        keys = pair_keys(self.docno, self.topic)
        return pl.DataFrame({"key": keys, "judgement": np.arange(len(keys))})

    @cached_property
    def counts(self) -> "GradeCounts":
        """How many documents each topic has at each grade."""
        return GradeCounts.of(self.topic, self.grade, len(self.qids))

    def counts_with_gains(self, gains: dict[int, int]) -> "GradeCounts":
        """The same with grades replaced by other ones (see :meth:`regrade`)."""
        key = repr(sorted(gains.items()))
        if key not in self._levels:
            self._levels[key] = GradeCounts.of(self.topic, self.regrade(gains), len(self.qids))
        return self._levels[key]

    def regrade(self, gains: dict[int, int]) -> Integers:
        """(J,) grades after replacing grade g by ``gains[g]``, where it is given.

        The grades replaced are those after negative ones became 0, if they
        did, unless ``gains`` names a negative grade itself.
        """
        graded = self.grade.copy()
        for grade in sorted(gains, reverse=True):  # negative ones last: they win
            graded[(self.raw_grade if grade < 0 else self.grade) == grade] = gains[grade]
        return np.maximum(graded, 0) if self.negative == "zero" else graded


@dataclass(frozen=True, eq=False)
class GradeCounts:
    """Documents per topic and grade.

    Attributes:
        levels: (L,) the grades that occur, ascending.
        table: (T, L) how many documents per topic has at each.
    """

    levels: Integers
    table: Integers

    @classmethod
    def of(cls, topic: Integers, grade: Integers, topics: int) -> "GradeCounts":
        """Count (J,) judgements of ``topics`` topics."""
        levels = pl.Series(grade).unique().sort().to_numpy()
        cell = topic * len(levels) + np.searchsorted(levels, grade)
        table = np.bincount(cell, minlength=topics * len(levels))
        return cls(levels, table.reshape(topics, len(levels)))

    def at_least(self, rel: int) -> Integers:
        """(T,) documents of grade ``rel`` or more."""
        return np.asarray(self.table[:, self.levels >= rel].sum(axis=1))

    def between(self, low: int, high: int) -> Integers:
        """(T,) documents of grade ``low`` or more but less than ``high``."""
        return np.asarray(self.table[:, (self.levels >= low) & (self.levels < high)].sum(axis=1))

    def ideal_dcg(self, gain: Callable[[Integers], Floats], cutoff: int | None) -> Floats:
        """(T,) DCG of the ranking by descending grade, cut at ``cutoff``.

        A grade's documents are neighbours in that ranking, so its share is its
        gain times a difference of cumulated discounts.
        """
        positive = self.levels > 0
        levels, table = self.levels[positive][::-1], self.table[:, positive][:, ::-1]
        ends = np.cumsum(table, axis=1)
        longest = int(ends.max(initial=0))
        cumulated = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(np.arange(longest) + 2.0))])
        cut = np.minimum(ends, longest if cutoff is None else cutoff)
        shares = np.diff(cumulated[cut], axis=1, prepend=0.0)
        return np.asarray(shares @ gain(levels), dtype=np.float64)


def number_topics(column: pl.Series, qids: pl.Series) -> Integers:
    """(n,) the position of each value of ``column`` in ``qids``, or -1."""
    numbered = pl.DataFrame({"qid": qids, "number": np.arange(len(qids))})
    joined = column.to_frame("qid").join(numbered, on="qid", how="left", maintain_order="left")
    return joined["number"].fill_null(-1).to_numpy()
