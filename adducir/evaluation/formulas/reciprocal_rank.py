"""The reciprocal rank of the first relevant document."""

from typing import ClassVar

from adducir.evaluation.formulas.measure import Cut, TrecName
from adducir.evaluation.judgements import Floats
from adducir.evaluation.lists import Lists, in_top


class ReciprocalRank(Cut):
    """RR (m_recip_rank.c); RR@k (ir_measures') is 0 where the first relevant stands below k."""

    trec: ClassVar = {"recip_rank": TrecName("RR")}

    def values(self, lists: Lists) -> Floats:
        """See the class."""
        relevant = lists.relevant(self.rel, self.judged_only)
        first = in_top(relevant, self.cutoff) & (relevant.nth == 1)
        return lists.sums(relevant.topic[first], 1.0 / (relevant.rank[first] + 1))
