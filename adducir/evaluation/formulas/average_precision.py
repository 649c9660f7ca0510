"""Average precision, by trec_eval's definitions; the file of each is named."""

from typing import ClassVar

from adducir.evaluation.formulas.measure import CUTOFFS, Condensable, Cut, TrecName
from adducir.evaluation.judgements import Floats
from adducir.evaluation.lists import Lists, in_top, share


class AveragePrecision(Cut):
    """AP (m_map.c); AP@k (m_map_cut.c) divides by all relevant documents too."""

    trec: ClassVar = {"map": TrecName("AP"), "map_cut": TrecName("AP", "cutoff", CUTOFFS)}

    def values(self, lists: Lists) -> Floats:
        """See the class."""
        relevant = lists.relevant(self.rel, self.judged_only)
        top = in_top(relevant, self.cutoff)
        precision = relevant.nth[top] / (relevant.rank[top] + 1)
        return share(lists.sums(relevant.topic[top], precision), relevant.total)


class SetAveragePrecision(Condensable):
    """SetAP (m_set_map.c): SetP times SetR."""

    trec: ClassVar = {"set_map": TrecName("SetAP")}

    def values(self, lists: Lists) -> Floats:
        """See the class."""
        relevant = lists.relevant(self.rel, self.judged_only)
        found = lists.sums(relevant.topic)
        return share(found, lists.retrieved(self.judged_only)) * share(found, relevant.total)
