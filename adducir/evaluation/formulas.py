"""The measures that Adducir computes itself, vectorised over topics, by name.

Definitions follow trec_eval, whose C files are cited; measures in ir_measures use its names and
parameters. Packages add measures through entry points ``adducir.measures``.
"""

from abc import abstractmethod
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from adducir.core.errors import UsageError
from adducir.core.recipe import Recipe
from adducir.core.registry import Family
from adducir.evaluation.lists import WHOLE_LIST, Floats, Integers, Lists, positions, share


class MeasureKind(Recipe):
    """A measure, computed for all topics at once; its fields are its parameters."""

    at: ClassVar[str] = "cutoff"  # the parameter after the ``@``
    is_descriptive: ClassVar[bool] = False  # whether it does not rate systems, so is not tested
    lower_is_better: ClassVar[bool] = False  # whether lower values are better
    is_summed: ClassVar[bool] = False  # whether systems have its sum over topics, not its mean
    is_geometric: ClassVar[bool] = False  # whether values are logarithms, for a geometric mean
    needs_subtopics: ClassVar[bool] = False  # whether qrels must be read by subtopic
    # whether unjudged documents are left out, whatever the parameters
    leaves_unjudged_out: ClassVar[bool] = False

    @abstractmethod
    def values(self, lists: Lists) -> Floats:
        """(T,) a value per topic; 0 if missing from the run."""


class Graded(MeasureKind):
    rel: int = Field(1, ge=1)
    """The lowest grade that counts as relevant."""


class Condensable(Graded):
    judged_only: bool = False
    """Leave out unjudged documents."""


class OptionalCutoff(Condensable):
    cutoff: int | None = Field(None, ge=1)
    """The cutoff."""


class AtCutoff(Condensable):
    cutoff: int = Field(..., ge=1)
    """The cutoff."""


class Linear(MeasureKind):
    """A measure that adds gains of grades times discounts of ranks, whatever else is retrieved.

    Such a measure can be corrected document by document (:mod:`adducir.judges.correction`).
    """

    cutoff: int | None = Field(None, ge=1)
    """The cutoff."""

    @abstractmethod
    def discounts(self, rank: Integers) -> Floats:
        """(n,) what a gain counts at each rank (from 0); 0 below the cutoff is not needed."""

    @abstractmethod
    def gains(self, grade: Integers) -> Floats:
        """(n,) the gain of each grade; grades of unjudged documents are negative."""

    def values(self, lists: Lists) -> Floats:
        top = lists.rank < (WHOLE_LIST if self.cutoff is None else self.cutoff)
        gained = self.discounts(lists.rank[top]) * self.gains(lists.grade[top])
        return lists.sums(lists.topic[top], gained)


class AP(OptionalCutoff):
    """AP (m_map.c); AP@k (m_map_cut.c) divides by all relevant documents too."""

    def values(self, lists: Lists) -> Floats:
        relevant = lists.relevant(self.rel, self.judged_only, self.cutoff)
        precision = relevant.nth / (relevant.rank + 1)
        return share(lists.sums(relevant.topic, precision), relevant.total)


class Bpref(Graded):
    """Bpref (m_bpref.c): how few judged non-relevant documents rank above each relevant one."""

    # Buckley and Voorhees, SIGIR 2004. Non-relevant documents above are counted up to R and divided
    # by min(R, N): the topic has R relevant and N judged non-relevant documents.
    leaves_unjudged_out: ClassVar = True

    def values(self, lists: Lists) -> Floats:
        relevant = lists.relevant(self.rel, condensed=True)
        total = relevant.total
        non_relevant = lists.judgements.counts.between(0, self.rel)
        above = np.minimum(relevant.rank - (relevant.nth - 1), total[relevant.topic])
        bound = np.minimum(non_relevant, total)[relevant.topic]
        return share(lists.sums(relevant.topic, 1.0 - share(above, bound)), total)


class DCG(Linear):
    """DCG@k (Järvelin and Kekäläinen, TOIS 2002): gains discounted by log2(rank + 1)."""

    cutoff: int = Field(..., ge=1)
    """The cutoff."""
    dcg: Literal["log2", "exp-log2"] = "log2"
    """The gain of a grade."""

    def discounts(self, rank: Integers) -> Floats:
        return np.asarray(1.0 / np.log2(rank + 2.0))

    def gains(self, grade: Integers) -> Floats:
        positive = np.maximum(grade, 0)
        return _exponential(positive) if self.dcg == "exp-log2" else positive.astype(np.float64)


class SDCG(Linear):
    """SDCG@k (ir_measures'): DCG@k over that of k documents of the highest possible grade."""

    # Its ideal does not depend on what is judged, unlike nDCG's.
    cutoff: int = Field(..., ge=1)
    """The cutoff."""
    min_rel: int = Field(0, ge=0)
    """The grade that gains nothing, as lower ones do."""
    max_rel: int = Field(..., ge=1)
    """The grade that gains 1, as higher ones do."""

    @model_validator(mode="after")
    def _has_a_range(self) -> "SDCG":
        if self.max_rel <= self.min_rel:
            raise ValueError("`max_rel` is not above `min_rel`")
        return self

    def discounts(self, rank: Integers) -> Floats:
        ideal = (1.0 / np.log2(np.arange(2, self.cutoff + 2))).sum()
        return np.asarray(1.0 / np.log2(rank + 2.0) / ideal)

    def gains(self, grade: Integers) -> Floats:
        return (np.clip(grade, self.min_rel, self.max_rel) - self.min_rel) / (
            self.max_rel - self.min_rel
        )


class ERR(MeasureKind):
    """ERR@k (gdeval's): the expected reciprocal rank at which a reader is satisfied."""

    # Chapelle, Metzler, Zhang and Grinspan, CIKM 2009: a document of grade g satisfies with
    # probability (2^g - 1) / 16, as in the Web tracks, whose highest grade is 4.
    cutoff: int = Field(..., ge=1)
    """The cutoff."""

    def values(self, lists: Lists) -> Floats:
        if lists.judgements.grade.max() > 4:
            raise UsageError("ERR supports grades up to 4, but the qrels have higher ones.")
        satisfied = _exponential(np.maximum(lists.grade, 0)) / 16
        # Unsatisfied so far: the product over the topic's earlier documents.
        goes_on = np.cumsum(np.log1p(-satisfied)) - np.log1p(-satisfied)
        goes_on -= goes_on[np.arange(len(goes_on)) - positions(lists.topic)]
        gained = np.exp(goes_on) * satisfied / (lists.rank + 1)
        top = lists.rank < self.cutoff
        return lists.sums(lists.topic[top], gained[top])


class IPrec(Condensable):
    """IPrec@r (m_iprec_at_recall.c of trec_eval 9): the best precision from recall r on."""

    # int(r * R + 0.9) documents reach recall r; trec_eval 10 rounds instead.
    at: ClassVar = "recall"
    recall: float = Field(..., ge=0, le=1)
    """The recall to reach."""

    def values(self, lists: Lists) -> Floats:
        relevant = lists.relevant(self.rel, self.judged_only)
        needed = (self.recall * relevant.total + 0.9).astype(np.int64)
        deep = relevant.nth >= needed[relevant.topic]
        values = np.zeros(lists.topics)
        precision = relevant.nth / (relevant.rank + 1)
        np.maximum.at(values, relevant.topic[deep], precision[deep])
        return values


class Judged(MeasureKind):
    """Judged@k (ir_measures'): the share of the top k that is judged, with any grade."""

    # Divided by k or, if fewer were retrieved, by their number; 0 if there are none.
    is_descriptive: ClassVar = True
    cutoff: int | None = Field(None, ge=1)
    """The cutoff."""

    def values(self, lists: Lists) -> Floats:
        cutoff = WHOLE_LIST if self.cutoff is None else self.cutoff
        judged = lists.sums(lists.topic[lists.rank < cutoff])
        return share(judged, np.minimum(lists.retrieved, cutoff))


class NDCG(MeasureKind):
    """The DCG divided by that of the ideal ranking (m_ndcg.c, m_ndcg_cut.c)."""

    # The gain is the grade or 2^grade - 1, the discount log2(rank + 1). The ideal ranking has all
    # judged documents, cut at k; condensed lists use the same ideal.
    cutoff: int | None = Field(None, ge=1)
    """The cutoff."""
    dcg: Literal["log2", "exp-log2"] = "log2"
    """The gain of a grade."""
    gains: dict[int, int | float] | None = None
    """Grades to replace, by grade."""
    judged_only: bool = False
    """Leave out unjudged documents."""

    def values(self, lists: Lists) -> Floats:
        judgements, ranked = lists.judgements, lists.ranked(self.judged_only)
        counts, grade = judgements.counts, ranked.grade
        if self.gains is not None:
            regraded, ranked = judgements.regrade(self.gains), lists
            counts = judgements.count(regraded)
            if self.judged_only:
                ranked = ranked.condense(regraded[ranked.judgement])
            grade = regraded[ranked.judgement]
        gain = _exponential if self.dcg == "exp-log2" else partial(np.asarray, dtype=np.float64)
        counted = grade > 0 if self.cutoff is None else (grade > 0) & (ranked.rank < self.cutoff)
        dcg = gain(grade[counted]) / np.log2(ranked.rank[counted] + 2.0)
        return share(lists.sums(ranked.topic[counted], dcg), counts.ideal_dcg(gain, self.cutoff))


def _exponential(grade: Integers) -> Floats:
    if grade.max(initial=0) > 1000:  # 2^1024 is beyond a double
        raise UsageError(
            f"The gain 2^{grade.max()} - 1 of nDCG(dcg='exp-log2') cannot be computed.",
            hint="Use linear gains, or gains={...} for smaller grades.",
        )
    return np.exp2(grade.astype(np.float64)) - 1.0


class NumQ(MeasureKind):
    """NumQ (m_num_q.c with -c): 1 for every topic of the qrels."""

    is_descriptive: ClassVar = True
    is_summed: ClassVar = True

    def values(self, lists: Lists) -> Floats:
        return np.ones(lists.topics)


class NumRel(Graded):
    """NumRel (m_num_rel.c): the relevant documents of the qrels."""

    is_descriptive: ClassVar = True
    is_summed: ClassVar = True

    def values(self, lists: Lists) -> Floats:
        return lists.relevant(self.rel).total.astype(np.float64)


class NumRet(MeasureKind):
    """NumRet (m_num_ret.c), and NumRet(rel=1), which is NumRelRet (m_num_rel_ret.c)."""

    is_descriptive: ClassVar = True
    is_summed: ClassVar = True
    rel: int | None = Field(None, ge=1)
    """Only documents of this grade or higher."""

    def values(self, lists: Lists) -> Floats:
        if self.rel is None:
            return lists.retrieved.astype(np.float64)
        return lists.sums(lists.relevant(self.rel).topic)


class P(Condensable, Linear):
    """P@k (m_P.c): divided by k even if fewer were retrieved."""

    cutoff: int = Field(..., ge=1)
    """The cutoff."""

    def discounts(self, rank: Integers) -> Floats:
        return np.full(len(rank), 1.0 / self.cutoff)

    def gains(self, grade: Integers) -> Floats:
        return (grade >= self.rel).astype(np.float64)

    def values(self, lists: Lists) -> Floats:
        relevant = lists.relevant(self.rel, self.judged_only, self.cutoff)
        return lists.sums(relevant.topic) / self.cutoff


class RBP(Linear):
    """RBP(p, rel): (1 - p) times the sum of p^rank over the relevant documents.

    Without rel it is graded, as in trec_eval 10: a grade gains its share of the topic's highest.
    """

    # Moffat and Zobel, TOIS 2008.
    rel: int | None = Field(None, ge=1)
    """The lowest grade that counts as relevant."""
    p: float = Field(0.8, ge=0, le=1)
    """The probability that the reader continues."""

    def discounts(self, rank: Integers) -> Floats:
        return (1.0 - self.p) * np.power(self.p, rank)

    def gains(self, grade: Integers) -> Floats:
        if self.rel is None:
            raise UsageError("graded RBP depends on other grades of a topic; set `rel`.")
        return (grade >= self.rel).astype(np.float64)

    def values(self, lists: Lists) -> Floats:
        relevant = lists.relevant(self.rel or 1, cutoff=self.cutoff)
        gained = np.power(self.p, relevant.rank)
        if self.rel is None:
            top = lists.rank < (WHOLE_LIST if self.cutoff is None else self.cutoff)
            grade = lists.grade[top & (lists.grade >= 1)]
            gained *= grade / lists.judgements.highest[relevant.topic]
        return (1.0 - self.p) * lists.sums(relevant.topic, gained)


class R(AtCutoff):
    """R@k (m_recall.c): the share of the relevant documents that is in the top k."""

    def values(self, lists: Lists) -> Floats:
        relevant = lists.relevant(self.rel, self.judged_only, self.cutoff)
        return share(lists.sums(relevant.topic), relevant.total)


class RR(OptionalCutoff):
    """RR (m_recip_rank.c); RR@k (ir_measures') is 0 if the first relevant document is below k."""

    def values(self, lists: Lists) -> Floats:
        relevant = lists.relevant(self.rel, self.judged_only, self.cutoff)
        first = relevant.nth == 1
        return lists.sums(relevant.topic[first], 1.0 / (relevant.rank[first] + 1))


class Rprec(Condensable):
    """Rprec (m_Rprec.c): precision at the number of relevant documents."""

    def values(self, lists: Lists) -> Floats:
        relevant = lists.relevant(self.rel, self.judged_only)
        top = relevant.rank < relevant.total[relevant.topic]
        return share(lists.sums(relevant.topic[top]), relevant.total)


class OfSet(Condensable):
    def shares(self, lists: Lists) -> tuple[Floats, Floats]:
        """(T,) precision and (T,) recall."""
        relevant = lists.relevant(self.rel, self.judged_only)
        hits = lists.sums(relevant.topic)
        ranked = lists.ranked(self.judged_only)
        precision = share(hits, ranked.retrieved)
        return precision, share(hits, relevant.total)


class SetAP(OfSet):
    """SetAP (m_set_map.c): SetP times SetR."""

    def values(self, lists: Lists) -> Floats:
        precision, recall = self.shares(lists)
        return precision * recall


class SetF(OfSet):
    """SetF (m_set_F.c): (1 + beta) P R / (R + beta P); beta is not squared."""

    beta: float = 1.0
    """The weight of precision."""

    def values(self, lists: Lists) -> Floats:
        precision, recall = self.shares(lists)
        return share((self.beta + 1.0) * precision * recall, recall + self.beta * precision)


class SetP(OfSet):
    """SetP (m_set_P.c), or relative (m_set_rel_P.c) to the best possible."""

    relative: bool = False
    """Relative to the best possible."""

    def values(self, lists: Lists) -> Floats:
        precision, recall = self.shares(lists)
        return np.maximum(precision, recall) if self.relative else precision


class SetR(Graded):
    """SetR (m_set_recall.c): the share of the relevant documents that was retrieved."""

    def values(self, lists: Lists) -> Floats:
        relevant = lists.relevant(self.rel)
        return share(lists.sums(relevant.topic), relevant.total)


class Success(AtCutoff):
    """Success@k (m_success.c): 1 if a relevant document is in the top k."""

    def values(self, lists: Lists) -> Floats:
        relevant = lists.relevant(self.rel, self.judged_only, self.cutoff)
        return lists.sums(relevant.topic[relevant.nth == 1])


_HERE = "adducir.evaluation.formulas"
_TREC = "adducir.evaluation.trec_measures"
_DIVERSITY = "adducir.evaluation.diversity"
_OWN = (
    "AP Bpref DCG ERR IPrec Judged NumQ NumRel NumRet P R RBP RR Rprec SDCG SetAP SetF SetP SetR "
    "Success"
)
MEASURES = Family(
    "measures",
    MeasureKind,
    {"nDCG": f"{_HERE}:NDCG", **{name: f"{_HERE}:{name}" for name in _OWN.split()}}
    | {
        "R_cap": f"{_TREC}:RCap",
        "infAP": f"{_TREC}:InfAP",
        "gm_map": f"{_TREC}:GmMAP",
        "gm_bpref": f"{_TREC}:GmBpref",
        "11pt_avg": f"{_TREC}:ElevenPointAverage",
        "Rprec_mult": f"{_TREC}:RprecMult",
        "binG": f"{_TREC}:BinG",
        "utility": f"{_TREC}:Utility",
        "num_rel_ret": f"{_TREC}:NumRelRetAt",
        "num_nonrel_judged_ret": f"{_TREC}:NumNonrelJudgedRet",
        "unj": f"{_TREC}:Unjudged",
        "RBP_residual": f"{_TREC}:RBPResidual",
        "Compat": f"{_TREC}:Compatibility",
        "Accuracy": f"{_TREC}:Accuracy",
        "ERR_IA": f"{_DIVERSITY}:ERRIA",
        "nERR_IA": f"{_DIVERSITY}:NERRIA",
        "alpha_DCG": f"{_DIVERSITY}:AlphaDCG",
        "alpha_nDCG": f"{_DIVERSITY}:AlphaNDCG",
        "NRBP": f"{_DIVERSITY}:NRBP",
        "nNRBP": f"{_DIVERSITY}:NNRBP",
        "AP_IA": f"{_DIVERSITY}:APIA",
        "P_IA": f"{_DIVERSITY}:PIA",
        "StRecall": f"{_DIVERSITY}:StRecall",
    },
    what="measure",
)
