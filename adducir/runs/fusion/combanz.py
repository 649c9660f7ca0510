"""CombANZ: the mean of a document's scores over the runs that rank it.

Fox and Shaw, "Combination of multiple searches", TREC-2, 1994.
"""

from typing import TYPE_CHECKING

from adducir.runs.fusion.combsum import CombSUM

if TYPE_CHECKING:
    from adducir.runs.order import Floats


class CombANZ(CombSUM):
    """The sum of scores over the number of runs that rank the document."""

    def combined(self, sums: "Floats", counts: "Floats") -> "Floats":
        """(m,) sums over counts."""
        return sums / counts
