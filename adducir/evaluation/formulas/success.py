"""Success, by trec_eval's definition."""

from typing import ClassVar

from adducir.evaluation.formulas.measure import AtCutoff, TrecName
from adducir.evaluation.judgements import Floats
from adducir.evaluation.lists import Lists, in_top


class Success(AtCutoff):
    """Success@k (m_success.c): 1 where the top k hold a relevant document."""

    trec: ClassVar = {"success": TrecName("Success", "cutoff", ("1", "5", "10"))}

    def values(self, lists: Lists) -> Floats:
        """See the class."""
        relevant = lists.relevant(self.rel, self.judged_only)
        return lists.sums(relevant.topic[in_top(relevant, self.cutoff) & (relevant.nth == 1)])
