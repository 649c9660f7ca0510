"""nDCG: the measure that looks at the grades."""

import numpy as np
from ir_measures import Measure

from adducir.experiments.evaluation.judgements import Floats, Integers
from adducir.experiments.evaluation.lists import Lists, option, share
from adducir.study.errors import UsageError

_LARGEST_EXPONENT = 1000  # 2 ** 1024 is beyond a double


def ndcg(lists: Lists, measure: Measure) -> Floats:
    """Divide the DCG by that of the ideal ranking (m_ndcg.c, m_ndcg_cut.c).

    The gain is the grade (``dcg='log2'``) or 2^grade - 1 (``'exp-log2'``), the
    discount log2(rank + 1). The ideal ranking holds all judged documents, and
    is cut at k; a condensed list is compared with the same ideal.
    """
    gains = option(measure, "gains", None)
    judgements, standing = lists.judgements, lists.standing(condensed=False)
    if gains is None:
        counts, standing = judgements.counts, lists.standing(option(measure, "judged_only", False))
        grade = standing.grade
    else:
        regraded = judgements.regrade(gains)
        counts = judgements.counts_with_gains(gains)
        if option(measure, "judged_only", False):
            standing = standing.condensed(regraded[standing.judgement])
        grade = regraded[standing.judgement]
    gain = _exponential if option(measure, "dcg", "log2") == "exp-log2" else _linear
    cutoff = option(measure, "cutoff", None)
    counted = grade > 0 if cutoff is None else (grade > 0) & (standing.rank < cutoff)
    dcg = gain(grade[counted]) / np.log2(standing.rank[counted] + 2.0)
    return share(lists.sums(standing.topic[counted], dcg), counts.ideal_dcg(gain, cutoff))


def _linear(grade: Integers) -> Floats:
    return grade.astype(np.float64)


def _exponential(grade: Integers) -> Floats:
    if grade.max(initial=0) > _LARGEST_EXPONENT:
        raise UsageError(
            f"The gain 2^{grade.max()} - 1 of nDCG(dcg='exp-log2') is beyond computing.",
            mend="Use linear gains, or gains={...} to give smaller grades.",
        )
    return np.exp2(grade.astype(np.float64)) - 1.0
