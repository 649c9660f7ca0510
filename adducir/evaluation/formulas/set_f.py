"""The F measure of what was retrieved, by trec_eval's definition."""

from typing import ClassVar

from pydantic import Field

from adducir.evaluation.formulas.measure import Condensable, TrecName
from adducir.evaluation.judgements import Floats
from adducir.evaluation.lists import Lists, share


class SetF(Condensable):
    """SetF (m_set_F.c): (1 + beta) P R / (R + beta P); beta is not squared."""

    trec: ClassVar = {"set_F": TrecName("SetF", "beta", ("1.0",))}
    beta: float = Field(1.0, description="How much precision counts.")

    def values(self, lists: Lists) -> Floats:
        """See the class."""
        relevant = lists.relevant(self.rel, self.judged_only)
        found = lists.sums(relevant.topic)
        precision = share(found, lists.retrieved(self.judged_only))
        recall = share(found, relevant.total)
        beta = self.beta
        return share((beta + 1.0) * precision * recall, recall + beta * precision)
