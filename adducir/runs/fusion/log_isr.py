"""Logarithmic inverse square rank: the sum of ``weight / rank²``, times ``log(n + sigma)``.

n is the number of runs that rank the document. Mourão, Martins and Magalhães (2015), see
:mod:`adducir.runs.fusion.isr`. With ``sigma`` = 0 every document that a single run ranks gets the
score 0; ranx calls that ``log_isr``, and ``logn_isr`` what is the default here.
"""

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from adducir.runs.fusion.isr import ISR

if TYPE_CHECKING:
    from adducir.runs.order import Floats


class LogISR(ISR):
    """Inverse square rank fusion with a logarithmic number of runs."""

    sigma: float = Field(
        0.01, ge=0, description="Added to the number of runs that rank a document."
    )

    def combined(self, sums: "Floats", counts: "Floats") -> "Floats":
        """(m,) sums times the logarithm of counts."""
        return sums * np.log(counts + self.sigma)
