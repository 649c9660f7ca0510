"""A run's judged documents as the measures want them, and small helpers.

A measure (:class:`adducir.evaluation.formulas.MeasureKind`) makes (T,) values of
:class:`Lists`, one per topic of the qrels. A topic that the run lacks, and a topic without relevant
documents, gets 0.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from adducir.evaluation.judgements import Floats, Integers
from adducir.evaluation.ranked_topics import RankedJudgements, Relevant

WHOLE_LIST = int(np.iinfo(np.int64).max)
"""A cutoff that cuts nothing."""


class Lists:
    """A run's judged documents, in the full and in the condensed lists.

    What several measures need is computed once.
    """

    def __init__(self, ranked: RankedJudgements) -> None:
        self.judgements = ranked.judgements
        self.topics = len(ranked.retrieved)
        self._full = ranked
        self._condensed = cache(ranked.condensed)
        self._relevant = cache(lambda condensed, rel: self.ranked(condensed).relevant(rel))

    def ranked(self, condensed: bool) -> RankedJudgements:
        """The judged documents in the full or in the condensed lists."""
        return self._condensed() if condensed else self._full

    def relevant(self, rel: int, condensed: bool = False) -> Relevant:
        """The documents of the grade ``rel`` or more."""
        relevant: Relevant = self._relevant(condensed, rel)
        return relevant

    def retrieved(self, condensed: bool = False) -> Integers:
        """(T,) lengths of the lists."""
        return self.ranked(condensed).retrieved

    def sums(self, topic: Integers, values: Floats | None = None) -> Floats:
        """(T,) sums of ``values``, or counts, by topic."""
        return np.bincount(topic, weights=values, minlength=self.topics).astype(np.float64)


def share(part: Floats | Integers, whole: Floats | Integers) -> Floats:
    """``part / whole``, and 0 where ``whole`` is 0."""
    zeros = np.zeros(len(part))
    return np.asarray(np.divide(part, whole, out=zeros, where=np.asarray(whole) != 0))


def in_top(relevant: Relevant, cutoff: int | None) -> NDArray[np.bool_]:
    """(r,) which documents stand within a cutoff, if there is one."""
    return np.asarray(relevant.rank < (WHOLE_LIST if cutoff is None else cutoff))
