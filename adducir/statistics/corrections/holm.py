"""Holm's correction (1979): steps down.

It keeps the chance of any false claim in the family at alpha, under any dependence, and is never
weaker than Bonferroni's. Equal to ``statsmodels``' ``holm``.
"""

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from adducir.statistics.corrections.correction import Correction, restored

if TYPE_CHECKING:
    from adducir.statistics.corrections.correction import FloatArray


class Holm(Correction):
    """Holm's step-down correction."""

    title: ClassVar = "Holm"

    def adjusted(self, p: "FloatArray") -> "FloatArray":
        """See :class:`Correction`."""
        order = np.argsort(p, kind="stable")
        return restored(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), order)
