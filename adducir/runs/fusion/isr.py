"""Inverse square rank: the sum of ``weight / rank²``, times the number of runs that rank it.

Mourão, Martins and Magalhães, "Multimodal medical information retrieval with unsupervised rank
fusion", Computerized Medical Imaging and Graphics 39, 2015. Ranks begin at 1.
"""

from typing import TYPE_CHECKING

from adducir.runs.fusion.method import FusionMethod

if TYPE_CHECKING:
    from adducir.runs.order import Floats
    from adducir.runs.run import Run


class ISR(FusionMethod):
    """Inverse square rank fusion."""

    def contributions(self, run: "Run") -> "Floats":
        """(n,) inverse squares of ranks."""
        inverse: Floats = 1 / (1.0 + run.ranks) ** 2
        return inverse

    def combined(self, sums: "Floats", counts: "Floats") -> "Floats":
        """(m,) sums times counts."""
        return sums * counts
