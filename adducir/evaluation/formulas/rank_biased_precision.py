"""Rank-biased precision: Moffat and Zobel, TOIS 2008."""

import numpy as np
from pydantic import Field

from adducir.evaluation.formulas.measure import MeasureKind
from adducir.evaluation.judgements import Floats
from adducir.evaluation.lists import Lists, in_top


class RankBiasedPrecision(MeasureKind):
    """RBP(p, rel): (1 - p) times the sum of p^rank over the relevant documents.

    Of graded documents it has no agreed gains, so a least grade must be given.
    """

    rel: int = Field(..., ge=1, description="The least grade of a relevant document.")
    p: float = Field(0.8, ge=0, le=1, description="How probably the reader goes on.")
    cutoff: int | None = Field(None, ge=1, description="So many documents are looked at.")

    def values(self, lists: Lists) -> Floats:
        """See the class."""
        relevant = lists.relevant(self.rel)
        top = in_top(relevant, self.cutoff)
        return (1.0 - self.p) * lists.sums(
            relevant.topic[top], np.power(self.p, relevant.rank[top])
        )
