"""Measures of diversity, from judgements by subtopic, as ndeval 4.5 computes them.

A document relevant to a subtopic gains (1 - alpha)^n there, after n others. ``ERR_IA``,
``alpha_DCG`` and ``NRBP`` divide the discounted gains by those of a ranking in which each document
is relevant to every subtopic (at cutoff 1, like ndeval, they do not divide); ``nERR_IA``,
``alpha_nDCG`` and ``nNRBP`` divide by the ideal ranking, found greedily. Subtopics without relevant
documents do not count.
"""

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from adducir.core.errors import UsageError
from adducir.evaluation.formulas import Graded
from adducir.evaluation.lists import (
    WHOLE_LIST,
    Floats,
    Integers,
    Judgements,
    Lists,
    positions,
    share,
)

NOT_RANKED = WHOLE_LIST


class Subtopics:
    """Documents relevant to subtopics: (n,) topic, subtopic (a number) and judgement of each."""

    def __init__(self, judgements: Judgements, rel: int) -> None:
        if judgements.subtopics is None:
            raise UsageError(
                "the qrels do not name subtopics.",
                hint="Read them with load_qrels(..., subtopics=True), or give a frame with a "
                "column `subtopic`.",
            )
        rows = judgements.subtopics.filter(pl.col("grade") >= rel)
        rows = rows.join(judgements.places, on=["qid", "docno"], how="inner")
        numbers = rows.select("topic", number=pl.col("subtopic").cast(pl.Int64, strict=False))
        rows = rows.with_columns(numbers["number"]).sort("topic", "number", "subtopic", "docno")
        self.topic, self.judgement = rows["topic"].to_numpy(), rows["judgement"].to_numpy()
        self.subtopic = rows.select(pl.struct("topic", "subtopic").rle_id()).to_series().to_numpy()
        self.docno, self.topics = judgements.docno, len(judgements.qids)

    @cached_property
    def counts(self) -> Integers:
        """(T,) the subtopics of each topic."""
        first = np.flatnonzero(np.diff(self.subtopic, prepend=-1))
        return np.bincount(self.topic[first], minlength=self.topics).astype(np.int64)

    def sums(self, values: Floats, chosen: Any) -> Floats:
        """(T,) the sums of values of chosen rows."""
        sums = np.bincount(self.topic[chosen], weights=values, minlength=self.topics)
        return sums.astype(np.float64)

    def nth(self, rank: Integers) -> Integers:
        """(n,) how many documents relevant to its subtopic each is ranked below."""
        order = np.lexsort((rank, self.subtopic))
        nth = np.empty(len(order), dtype=np.int64)
        nth[order] = positions(self.subtopic[order])
        return nth

    def ideal(self, kept: float) -> Integers:
        """(n,) ranks in an ideal list: always the document that gains most, then the last docno."""
        ranks = np.full(len(self.topic), NOT_RANKED)
        for topic in np.unique(self.topic):
            rows = np.flatnonzero(self.topic == topic)
            documents, column = np.unique(self.judgement[rows], return_inverse=True)
            names = [name.encode() for name in self.docno.gather(documents)]
            order = np.array(sorted(range(len(names)), key=names.__getitem__, reverse=True))
            column = np.argsort(order)[column]  # by docno, descending
            subtopic = self.subtopic[rows] - self.subtopic[rows].min()
            relevant = np.zeros((subtopic.max() + 1, len(documents)))
            relevant[subtopic, column] = 1.0
            gain, rank = np.ones(len(relevant)), np.full(len(documents), NOT_RANKED)
            for place in range(len(documents)):
                score = np.where(rank == NOT_RANKED, _in_order(relevant * gain[:, None]), -1.0)
                best = int(score.argmax())
                rank[best] = place
                gain[relevant[:, best] > 0] *= kept
            ranks[rows] = rank[column]
        return ranks


def _in_order(rows: Floats) -> Floats:
    """The sum of rows one by one, so that equal sums are equal."""
    total = np.zeros(rows.shape[1])
    for row in rows:
        total += row
    return total


class OfSubtopics(Graded):
    """A measure that needs judgements by subtopic."""

    needs_subtopics: ClassVar = True

    @property
    def depth(self) -> int:
        return int(getattr(self, "cutoff", NOT_RANKED))

    def values(self, lists: Lists) -> Floats:
        subtopics = Subtopics(lists.judgements, self.rel)
        ranked = lists.ranked(getattr(self, "judged_only", False))
        rank = np.full(len(lists.judgements.topic), NOT_RANKED)
        rank[ranked.judgement] = ranked.rank
        return self.of_ranks(subtopics, rank[subtopics.judgement])

    @abstractmethod
    def of_ranks(self, subtopics: Subtopics, rank: Integers) -> Floats:
        """(T,) values, from where each document relevant to a subtopic is ranked, (n,)."""


class SubtopicsAtCutoff(OfSubtopics):
    cutoff: int = Field(..., ge=1)
    """The cutoff."""
    judged_only: bool = False
    """Leave out unjudged documents."""


class Novelty(OfSubtopics):
    """A measure in which a subtopic's documents gain less and less."""

    is_normalised: ClassVar = False

    @property
    def kept(self) -> float:
        """The share of a subtopic's gain that a document leaves to the next."""
        return 1.0 - float(getattr(self, "alpha", 0.5))

    @abstractmethod
    def discounts(self, rank: Integers) -> Floats:
        """(n,) what a gain counts at each rank (from 0)."""

    def gained(self, subtopics: Subtopics, rank: Integers) -> Floats:
        """(T,) the sum of discounted gains above the cutoff."""
        nth, top = subtopics.nth(rank), rank < self.depth
        gain = np.power(self.kept, nth[top]) * self.discounts(rank[top])
        return subtopics.sums(gain, top)

    def of_ranks(self, subtopics: Subtopics, rank: Integers) -> Floats:
        gained = self.gained(subtopics, rank)
        if self.is_normalised:
            return share(gained, self.gained(subtopics, subtopics.ideal(self.kept)))
        return (
            gained if self.depth == 1 else share(gained, np.asarray(subtopics.counts * self.most()))
        )

    def most(self) -> float:
        """The gains of a subtopic to which every document is relevant."""
        places = np.arange(self.depth)
        return float((np.power(self.kept, places) * self.discounts(places)).sum())


class ERRIA(SubtopicsAtCutoff, Novelty):
    """ERR-IA@k (Chapelle et al., CIKM 2009): ERR over a topic's subtopics, of equal weight."""

    def discounts(self, rank: Integers) -> Floats:
        return np.asarray(1.0 / (rank + 1.0))


class NERRIA(ERRIA):
    """nERR-IA@k: ERR-IA divided by that of the ideal ranking."""

    is_normalised: ClassVar = True


class AlphaDCG(SubtopicsAtCutoff, Novelty):
    """alpha-DCG@k (Clarke et al., SIGIR 2008)."""

    alpha: float = Field(0.5, ge=0, le=1)
    """How little a repetition gains."""

    def discounts(self, rank: Integers) -> Floats:
        return np.asarray(1.0 / np.log2(rank + 2.0))


class AlphaNDCG(AlphaDCG):
    """alpha-nDCG@k: alpha-DCG divided by that of the ideal ranking."""

    is_normalised: ClassVar = True


class NRBP(Novelty):
    """NRBP (Clarke, Kolla and Vechtomova, ICTIR 2009): rank-biased precision of novelty."""

    alpha: float = Field(0.5, ge=0, le=1)
    """How little a repetition gains."""
    beta: float = Field(0.5, ge=0, lt=1)
    """The probability that the reader continues."""

    def discounts(self, rank: Integers) -> Floats:
        return np.asarray(np.power(self.beta, rank))

    def most(self) -> float:
        return 1.0 / (1.0 - self.kept * self.beta)


class NNRBP(NRBP):
    """nNRBP: NRBP divided by that of the ideal ranking."""

    is_normalised: ClassVar = True


class APIA(OfSubtopics):
    """AP-IA, ndeval's MAP-IA: the mean AP of a topic's subtopics."""

    judged_only: bool = False
    """Leave out unjudged documents."""

    def of_ranks(self, subtopics: Subtopics, rank: Integers) -> Floats:
        relevant = np.bincount(subtopics.subtopic)[subtopics.subtopic]
        top = rank < NOT_RANKED
        gains = (subtopics.nth(rank)[top] + 1) / (rank[top] + 1.0) / relevant[top]
        return share(subtopics.sums(gains, top), subtopics.counts)


class PIA(SubtopicsAtCutoff):
    """P-IA@k: the mean precision of a topic's subtopics."""

    def of_ranks(self, subtopics: Subtopics, rank: Integers) -> Floats:
        top = rank < self.depth
        return share(subtopics.sums(np.ones(top.sum()), top), self.depth * subtopics.counts)


class StRecall(OfSubtopics):
    """StRecall@k: the share of a topic's subtopics that the top k covers."""

    cutoff: int = Field(..., ge=1)
    """The cutoff."""

    def of_ranks(self, subtopics: Subtopics, rank: Integers) -> Floats:
        is_first = (rank < self.depth) & (subtopics.nth(rank) == 0)
        return share(subtopics.sums(np.ones(is_first.sum()), is_first), subtopics.counts)
