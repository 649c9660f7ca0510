"""Bonferroni's correction: multiplies by the number of tests.

Equal to ``statsmodels``' ``bonferroni``.
"""

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from adducir.statistics.corrections.correction import Correction

if TYPE_CHECKING:
    from adducir.statistics.corrections.correction import FloatArray


class Bonferroni(Correction):
    """Bonferroni's correction: p times the number of tests."""

    title: ClassVar = "Bonferroni"

    def adjusted(self, p: "FloatArray") -> "FloatArray":
        """See :class:`Correction`."""
        return np.minimum(p * p.size, 1.0)
