"""What every correction for several tests has."""

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from adducir.core.recipe_model import Recipe

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray: TypeAlias = NDArray[np.float64]


class Correction(Recipe):
    """A way to adjust the p-values of tests that are made together.

    Attributes:
        title: Its name in a sentence, such as "Holm"; empty for none.
    """

    title: ClassVar[str]

    @abstractmethod
    def adjusted(self, p: "FloatArray") -> "FloatArray":
        """(m,) adjusted p-values, from 0 to 1, of the (m,) p-values of a family, in their order.

        They are held against the unadjusted alpha.
        """


def restored(ascending: "FloatArray", order: "NDArray[np.intp]") -> "FloatArray":
    """Put sorted adjusted p-values back in the order given, at most 1."""
    adjusted = ascending.clip(max=1.0)
    adjusted[order] = adjusted.copy()
    return adjusted
