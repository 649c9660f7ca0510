"""CombMNZ: the sum of a document's scores, times the number of runs that rank it.

Fox and Shaw, "Combination of multiple searches", TREC-2, 1994.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adducir.core.errors import UsageError
from adducir.runs.fusion.combsum import CombSUM

if TYPE_CHECKING:
    from adducir.runs.order import Floats
    from adducir.runs.run import Run


class CombMNZ(CombSUM):
    """The sum of scores times the number of runs that rank the document."""

    def combined(self, sums: "Floats", counts: "Floats") -> "Floats":
        """(m,) sums times counts."""
        return sums * counts

    def check(self, runs: Sequence["Run"]) -> None:
        """Refuse negative scores, which the number of runs would lower.

        Raises:
            UsageError: A run has some, once normalised.
        """
        negative = [run.tag for run in runs if (self.contributions(run) < 0).any()]
        if negative:
            raise UsageError(
                f"{negative[0]} has negative scores, which combmnz would lower for every run that "
                "ranks the document.",
                hint="Normalise by min-max.",
            )
