"""Bpref: Buckley and Voorhees, SIGIR 2004, as trec_eval computes it."""

from typing import ClassVar

import numpy as np

from adducir.evaluation.formulas.measure import Graded, TrecName
from adducir.evaluation.judgements import Floats
from adducir.evaluation.lists import Lists, share


class Bpref(Graded):
    """Bpref (m_bpref.c): how few judged non-relevant stand above each relevant.

    The non-relevant above are counted up to R, and divided by min(R, N): R the relevant and N the
    judged non-relevant documents of the topic.
    """

    trec: ClassVar = {"bpref": TrecName("Bpref")}
    leaves_unjudged_out: ClassVar = True

    def values(self, lists: Lists) -> Floats:
        """See the class."""
        relevant = lists.relevant(self.rel, condensed=True)
        total = relevant.total
        non_relevant = lists.judgements.counts.between(0, self.rel)
        above = np.minimum(relevant.rank - (relevant.nth - 1), total[relevant.topic])
        bound = np.minimum(non_relevant, total)[relevant.topic]
        return share(lists.sums(relevant.topic, 1.0 - share(above, bound)), total)
