"""Recall, by trec_eval's definitions; the file of each is named."""

from typing import ClassVar

from adducir.evaluation.formulas.measure import CUTOFFS, AtCutoff, Graded, TrecName
from adducir.evaluation.judgements import Floats
from adducir.evaluation.lists import Lists, in_top, share


class Recall(AtCutoff):
    """R@k (m_recall.c): the share of the relevant documents among the top k."""

    trec: ClassVar = {"recall": TrecName("R", "cutoff", CUTOFFS)}

    def values(self, lists: Lists) -> Floats:
        """See the class."""
        relevant = lists.relevant(self.rel, self.judged_only)
        return share(lists.sums(relevant.topic[in_top(relevant, self.cutoff)]), relevant.total)


class SetRecall(Graded):
    """SetR (m_set_recall.c): the share of the relevant documents that was retrieved."""

    trec: ClassVar = {"set_recall": TrecName("SetR")}

    def values(self, lists: Lists) -> Floats:
        """See the class."""
        relevant = lists.relevant(self.rel)
        return share(lists.sums(relevant.topic), relevant.total)
