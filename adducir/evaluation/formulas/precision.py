"""Precision, by trec_eval's definitions; the file of each is named."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from adducir.evaluation.formulas.measure import CUTOFFS, AtCutoff, Condensable, TrecName
from adducir.evaluation.judgements import Floats
from adducir.evaluation.lists import Lists, in_top, share


class Precision(AtCutoff):
    """P@k (m_P.c): divided by k, however few were retrieved."""

    trec: ClassVar = {"P": TrecName("P", "cutoff", CUTOFFS)}

    def values(self, lists: Lists) -> Floats:
        """See the class."""
        relevant = lists.relevant(self.rel, self.judged_only)
        return lists.sums(relevant.topic[in_top(relevant, self.cutoff)]) / self.cutoff


class RPrecision(Condensable):
    """Rprec (m_Rprec.c): precision at the number of relevant documents."""

    trec: ClassVar = {"Rprec": TrecName("Rprec")}

    def values(self, lists: Lists) -> Floats:
        """See the class."""
        relevant = lists.relevant(self.rel, self.judged_only)
        top = relevant.rank < relevant.total[relevant.topic]
        return share(lists.sums(relevant.topic[top]), relevant.total)


class InterpolatedPrecision(Condensable):
    """IPrec@r (m_iprec_at_recall.c of trec_eval 9).

    The best precision at or below the rank where recall r is reached. How many documents that is,
    is ``int(r * R + 0.9)``; trec_eval 10 rounds instead.
    """

    at: ClassVar = "recall"
    trec: ClassVar = {
        "iprec_at_recall": TrecName("IPrec", "recall", tuple(f"{n / 10}" for n in range(11)))
    }
    recall: float = Field(..., ge=0, le=1, description="The recall to be reached.")

    def values(self, lists: Lists) -> Floats:
        """See the class."""
        relevant = lists.relevant(self.rel, self.judged_only)
        needed = (self.recall * relevant.total + 0.9).astype(np.int64)
        deep = relevant.nth >= needed[relevant.topic]
        values = np.zeros(lists.topics)
        precision = relevant.nth / (relevant.rank + 1)
        np.maximum.at(values, relevant.topic[deep], precision[deep])
        return values


class SetPrecision(Condensable):
    """SetP (m_set_P.c); relative (m_set_rel_P.c) to the best that was possible."""

    trec: ClassVar = {"set_P": TrecName("SetP"), "set_relative_P": TrecName("SetRelP")}
    relative: bool = Field(False, description="Relative to the best that was possible.")

    def values(self, lists: Lists) -> Floats:
        """See the class."""
        relevant = lists.relevant(self.rel, self.judged_only)
        retrieved = lists.retrieved(self.judged_only)
        if self.relative:
            retrieved = np.minimum(retrieved, relevant.total)
        return share(lists.sums(relevant.topic), retrieved)
