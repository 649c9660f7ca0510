"""Measures of trec_eval that ir_measures lacks, by trec_eval's names, and graded RBP.

``R_cap@k`` is BEIR's capped recall and trec_eval's relative_P_k: the same figure. Geometric means
are taken of values of at least 0.00001; a topic's value is the logarithm, whose differences are
tested, and the mean of a system is the exponential of the logarithms' mean.
"""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from adducir.evaluation.formulas import AP, AtCutoff, Bpref, Condensable, Graded, IPrec, MeasureKind
from adducir.evaluation.lists import WHOLE_LIST, Floats, Integers, Lists, positions, share

FLOOR = 1e-5
"""MIN_GEO_MEAN of trec_eval: the least value in a geometric mean."""
_EPSILON = 1e-5


class GmMAP(Graded):
    """gm_map (m_gm_map.c): the logarithm of AP; over topics, the geometric mean of AP."""

    is_geometric: ClassVar = True

    def values(self, lists: Lists) -> Floats:
        return np.log(
            np.maximum(AP(rel=self.rel, judged_only=False, cutoff=None).values(lists), FLOOR)
        )


class GmBpref(Graded):
    """gm_bpref (m_gm_bpref.c): the logarithm of Bpref; over topics, its geometric mean."""

    is_geometric: ClassVar = True
    leaves_unjudged_out: ClassVar = True

    def values(self, lists: Lists) -> Floats:
        return np.log(np.maximum(Bpref(rel=self.rel).values(lists), FLOOR))


class ElevenPointAverage(Condensable):
    """11pt_avg (m_11pt_avg.c): the mean interpolated precision at recall 0, .1, ..., 1."""

    def values(self, lists: Lists) -> Floats:
        levels = [
            IPrec(recall=n / 10, rel=self.rel, judged_only=self.judged_only) for n in range(11)
        ]
        return np.mean([level.values(lists) for level in levels], axis=0)


class InfAP(Graded):
    """infAP (m_infap.c): AP estimated from a sampled pool, whose unjudged documents have -1."""

    # Yilmaz and Aslam, CIKM 2006. A negative grade is "in the pool, but not judged", whatever
    # negative grades mean to other measures. At rank k, of the k - 1 documents above, the share in
    # the pool is expected to be as relevant as the judged ones there.
    def values(self, lists: Lists) -> Floats:
        grade = lists.judgements.raw_grade[lists.judgement]
        relevant = grade >= self.rel
        # Relevant, judged and pooled documents above each, within its topic.
        pooled = positions(lists.topic)
        above, judged = (_before(flags, pooled) for flags in (relevant, grade >= 0))
        rank = lists.rank + 1
        expected = (above + _EPSILON) / (judged + 2 * _EPSILON)
        precision = (1 + pooled * expected) / rank
        gained = np.where(lists.rank == 0, 1.0, precision)[relevant]
        total = lists.judgements.count(lists.judgements.raw_grade).between(self.rel)
        return share(lists.sums(lists.topic[relevant], gained), total)


def _before(flags: NDArray[np.bool_], position: Integers) -> Integers:
    """(m,) how many flags are set earlier in the same topic."""
    counts: Integers = np.cumsum(flags) - flags
    return np.asarray(counts - counts[np.arange(len(flags)) - position], dtype=np.int64)


class RCap(AtCutoff):
    """R_cap@k, relative_P_k (m_relative_P.c): the share of the most that the top k could hold."""

    def values(self, lists: Lists) -> Floats:
        relevant = lists.relevant(self.rel, self.judged_only, self.cutoff)
        return share(lists.sums(relevant.topic), np.minimum(relevant.total, self.cutoff))


class NumRelRetAt(AtCutoff):
    """num_rel_ret@k (ranx's hits@k): how many relevant documents the top k has, a mean."""

    def values(self, lists: Lists) -> Floats:
        return lists.sums(lists.relevant(self.rel, self.judged_only, self.cutoff).topic)


class NumNonrelJudgedRet(Graded):
    """num_nonrel_judged_ret (m_num_nonrel_judged_ret.c): retrieved documents judged so, summed."""

    is_descriptive: ClassVar = True
    is_summed: ClassVar = True

    def values(self, lists: Lists) -> Floats:
        return lists.sums(lists.topic[(lists.grade >= 0) & (lists.grade < self.rel)])


class RprecMult(Condensable):
    """Rprec_mult@x (m_Rprec_mult.c): precision at x times the number of relevant documents."""

    at: ClassVar = "multiple"
    multiple: float = Field(..., gt=0)
    """The multiple of R."""

    def values(self, lists: Lists) -> Floats:
        relevant = lists.relevant(self.rel, self.judged_only)
        cutoff = (self.multiple * relevant.total + 0.9).astype(np.int64)
        top = relevant.rank < cutoff[relevant.topic]
        return share(lists.sums(relevant.topic[top]), cutoff)


class Utility(Graded):
    """utility (m_utility.c): relevant minus other retrieved documents."""

    def values(self, lists: Lists) -> Floats:
        hits = lists.sums(lists.relevant(self.rel).topic)
        return 2 * hits - lists.retrieved


class BinG(Condensable):
    """binG (m_binG.c): the mean of 1 / log2(2 + documents above that are not relevant)."""

    def values(self, lists: Lists) -> Floats:
        relevant = lists.relevant(self.rel, self.judged_only)
        gained = 1 / np.log2(2.0 + relevant.rank - (relevant.nth - 1))
        return share(lists.sums(relevant.topic, gained), relevant.total)


class Unjudged(MeasureKind):
    """unj@k (trec_eval 10): the share of the top k that is not judged, of k documents."""

    is_descriptive: ClassVar = True
    cutoff: int = Field(..., ge=1)
    """The cutoff."""

    def values(self, lists: Lists) -> Floats:
        judged = lists.sums(lists.topic[(lists.rank < self.cutoff) & (lists.grade >= 0)])
        return (np.minimum(lists.retrieved, self.cutoff) - judged) / self.cutoff


class Compatibility(MeasureKind):
    """Compat (Clarke, Vtyurina and Smucker, TOIS 2021): rank-biased overlap with an ideal ranking.

    The ideal has the documents of positive grades, of equal ones those that rank higher. Both lists
    are read down to the end of the longer, as by ir_measures; the authors' script reads 1,000.
    """

    p: float = Field(0.95, gt=0, lt=1)
    """The persistence of rank-biased overlap."""
    normalize: bool = True
    """Divide by the overlap of the ideal with itself."""
    depth: int | None = Field(None, ge=1)
    """The depth, even beyond both lists' ends."""

    def values(self, lists: Lists) -> Floats:
        judged, grade = lists.judgements, lists.judgements.grade
        rank = np.full(len(grade), WHOLE_LIST)
        rank[lists.judgement] = lists.rank
        order = np.lexsort((rank, -grade, judged.topic))
        order = order[grade[order] > 0]
        topic, rank = judged.topic[order], rank[order]
        ideal = positions(topic)
        depth = np.maximum(lists.retrieved, np.bincount(topic, minlength=lists.topics))
        if self.depth is not None:
            depth = np.full_like(depth, self.depth)
        weights = np.power(self.p, np.arange(depth.max(initial=0)))
        before = np.concatenate([[0.0], np.cumsum(weights / np.arange(1, len(weights) + 1))])

        def overlap(place: Integers) -> Floats:
            # A document counts from the depth at which both rankings have it.
            both = np.minimum(place, depth[topic])
            return lists.sums(topic, before[depth[topic]] - before[both])

        whole = np.concatenate([[0.0], np.cumsum(weights)])[depth]
        best = overlap(ideal) if self.normalize else whole
        return share(overlap(np.maximum(ideal, rank)), best)


class Accuracy(Graded):
    """Accuracy (ir_measures'): how often a retrieved relevant document is above one that is not."""

    cutoff: int | None = Field(None, ge=1)
    """The cutoff."""

    def values(self, lists: Lists) -> Floats:
        relevant = lists.relevant(self.rel, cutoff=self.cutoff)
        hits = lists.sums(relevant.topic)
        cutoff = WHOLE_LIST if self.cutoff is None else self.cutoff
        others = np.minimum(lists.retrieved, cutoff) - hits
        wrong = lists.sums(relevant.topic, relevant.rank - (relevant.nth - 1.0))
        return np.where(hits > 0, 1.0 - share(wrong, hits * others), 0.0)


class RBPResidual(MeasureKind):
    """RBP_residual (trec_eval 10's rbp_resid): how much RBP could rise by unjudged documents."""

    # Moffat and Zobel, TOIS 2008: the weights of unjudged documents and of those below the ranking.
    is_descriptive: ClassVar = True
    p: float = Field(0.8, gt=0, lt=1)
    """The probability that the reader continues."""

    def values(self, lists: Lists) -> Floats:
        is_judged = lists.grade >= 0
        weights = np.power(self.p, lists.rank[is_judged])
        judged = (1.0 - self.p) * lists.sums(lists.topic[is_judged], weights)
        return np.where(lists.retrieved > 0, np.maximum(1.0 - judged, 0.0), 0.0)
