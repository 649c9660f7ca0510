"""Reciprocal rank fusion: the sum of ``weight / (k + rank)``, with ranks from 1.

Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank
learning methods", SIGIR 2009; they set k = 60.
"""

from typing import TYPE_CHECKING

from pydantic import Field

from adducir.runs.fusion.method import FusionMethod

if TYPE_CHECKING:
    from adducir.runs.order import Floats
    from adducir.runs.run import Run


class RRF(FusionMethod):
    """Reciprocal rank fusion."""

    k: float = Field(60.0, ge=0, description="How much the first ranks are evened out.")

    def contributions(self, run: "Run") -> "Floats":
        """(n,) reciprocals of ``k + rank``."""
        reciprocals: Floats = 1 / (self.k + 1 + run.ranks)
        return reciprocals
