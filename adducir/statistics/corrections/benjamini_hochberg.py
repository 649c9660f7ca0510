"""Benjamini and Hochberg's correction (1995).

It keeps the expected share of false claims among the claims at alpha, for independent or positively
dependent tests: a weaker promise than Holm's. Equal to ``statsmodels``' ``fdr_bh``.
"""

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from adducir.statistics.corrections.correction import Correction, restored

if TYPE_CHECKING:
    from adducir.statistics.corrections.correction import FloatArray


class BenjaminiHochberg(Correction):
    """Benjamini and Hochberg's correction of the false discovery rate."""

    title: ClassVar = "Benjamini-Hochberg"

    def adjusted(self, p: "FloatArray") -> "FloatArray":
        """See :class:`Correction`."""
        order = np.argsort(p, kind="stable")
        scaled = p[order] * p.size / np.arange(1, p.size + 1)
        return restored(np.minimum.accumulate(scaled[::-1])[::-1], order)
