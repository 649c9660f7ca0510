"""nDCG: the measure that looks at the grades."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from adducir.core.errors import UsageError
from adducir.evaluation.formulas.measure import CUTOFFS, MeasureKind, TrecName
from adducir.evaluation.judgements import Floats, Integers
from adducir.evaluation.lists import Lists, share

_LARGEST_EXPONENT = 1000  # 2 ** 1024 is beyond a double


class NDCG(MeasureKind):
    """The DCG divided by that of the ideal ranking (m_ndcg.c, m_ndcg_cut.c).

    The gain is the grade (``dcg='log2'``) or 2^grade - 1 (``'exp-log2'``), the discount
    log2(rank + 1). The ideal ranking holds all judged documents, and is cut at k; a condensed list
    is compared with the same ideal.
    """

    trec: ClassVar = {"ndcg": TrecName("nDCG"), "ndcg_cut": TrecName("nDCG", "cutoff", CUTOFFS)}
    cutoff: int | None = Field(None, ge=1, description="So many documents are looked at.")
    dcg: Literal["log2", "exp-log2"] = Field("log2", description="The gain of a grade.")
    gains: dict[int, int] | None = Field(None, description="Grades that stand for others.")
    judged_only: bool = Field(False, description="Unjudged documents are left out.")

    def values(self, lists: Lists) -> Floats:
        """See the class.

        Raises:
            UsageError: Exponential gains of grades beyond 1,000.
        """
        judgements, ranked = lists.judgements, lists.ranked(condensed=False)
        if self.gains is None:
            counts, ranked = judgements.counts, lists.ranked(self.judged_only)
            grade = ranked.grade
        else:
            regraded = judgements.regrade(self.gains)
            counts = judgements.counts_with_gains(self.gains)
            if self.judged_only:
                ranked = ranked.condensed(regraded[ranked.judgement])
            grade = regraded[ranked.judgement]
        gain = _exponential if self.dcg == "exp-log2" else _linear
        cutoff = self.cutoff
        counted = grade > 0 if cutoff is None else (grade > 0) & (ranked.rank < cutoff)
        dcg = gain(grade[counted]) / np.log2(ranked.rank[counted] + 2.0)
        return share(lists.sums(ranked.topic[counted], dcg), counts.ideal_dcg(gain, cutoff))


def _linear(grade: Integers) -> Floats:
    return grade.astype(np.float64)


def _exponential(grade: Integers) -> Floats:
    if grade.max(initial=0) > _LARGEST_EXPONENT:
        raise UsageError(
            f"The gain 2^{grade.max()} - 1 of nDCG(dcg='exp-log2') is beyond computing.",
            hint="Use linear gains, or gains={...} to give smaller grades.",
        )
    return np.exp2(grade.astype(np.float64)) - 1.0
