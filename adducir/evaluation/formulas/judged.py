"""The share judged among the top documents, by ir_measures' definition."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from adducir.evaluation.formulas.measure import MeasureKind
from adducir.evaluation.judgements import Floats
from adducir.evaluation.lists import WHOLE_LIST, Lists, share


class Judged(MeasureKind):
    """Judged@k: the judged among the top k, whatever their grade.

    Divided by k, or by the number retrieved where that is less; 0 where nothing was retrieved.
    """

    is_descriptive: ClassVar = True
    cutoff: int | None = Field(None, ge=1, description="So many documents are looked at.")

    def values(self, lists: Lists) -> Floats:
        """See the class."""
        ranked = lists.ranked(condensed=False)
        cutoff = WHOLE_LIST if self.cutoff is None else self.cutoff
        found = lists.sums(ranked.topic[ranked.rank < cutoff])
        return share(found, np.minimum(ranked.retrieved, cutoff))
