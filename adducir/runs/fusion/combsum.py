"""CombSUM: the sum of a document's scores; with weights, the weighted sum of scores.

Fox and Shaw, "Combination of multiple searches", TREC-2, 1994.
"""

from typing import TYPE_CHECKING

from pydantic import Field

from adducir.runs.fusion.method import FusionMethod
from adducir.runs.fusion.normalisation import Normalisation, normalised

if TYPE_CHECKING:
    from adducir.runs.order import Floats
    from adducir.runs.run import Run


class CombSUM(FusionMethod):
    """The sum of scores."""

    normalise: Normalisation = Field(
        "min-max", description="How the scores of a topic are brought to one scale first."
    )

    def contributions(self, run: "Run") -> "Floats":
        """(n,) normalised scores."""
        return normalised(run, self.normalise)
