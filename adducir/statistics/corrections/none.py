"""No correction: leaves p as it is."""

from typing import TYPE_CHECKING, ClassVar

from adducir.statistics.corrections.correction import Correction

if TYPE_CHECKING:
    from adducir.statistics.corrections.correction import FloatArray


class NoCorrection(Correction):
    """No correction: p as it is."""

    title: ClassVar = ""

    def adjusted(self, p: "FloatArray") -> "FloatArray":
        """See :class:`Correction`."""
        return p.copy()
