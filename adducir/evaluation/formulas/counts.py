"""Counts of topics and documents, by trec_eval's definitions; the file of each is named."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from adducir.evaluation.formulas.measure import Graded, MeasureKind, TrecName
from adducir.evaluation.judgements import Floats
from adducir.evaluation.lists import Lists


class NumQ(MeasureKind):
    """NumQ (m_num_q.c with -c): 1 for every topic of the qrels."""

    trec: ClassVar = {"num_q": TrecName("NumQ")}
    is_descriptive: ClassVar = True

    def values(self, lists: Lists) -> Floats:
        """See the class."""
        return np.ones(lists.topics)


class NumRel(Graded):
    """NumRel (m_num_rel.c): the relevant documents of the qrels."""

    trec: ClassVar = {"num_rel": TrecName("NumRel")}
    is_descriptive: ClassVar = True

    def values(self, lists: Lists) -> Floats:
        """See the class."""
        return lists.relevant(self.rel).total.astype(np.float64)


class NumRet(MeasureKind):
    """NumRet (m_num_ret.c), and NumRet(rel=1), which is NumRelRet (m_num_rel_ret.c)."""

    trec: ClassVar = {"num_ret": TrecName("NumRet"), "num_rel_ret": TrecName("NumRelRet")}
    is_descriptive: ClassVar = True
    rel: int | None = Field(None, ge=1, description="Only documents of this grade or more.")

    def values(self, lists: Lists) -> Floats:
        """See the class."""
        if self.rel is None:
            return lists.retrieved().astype(np.float64)
        return lists.sums(lists.relevant(self.rel).topic)
