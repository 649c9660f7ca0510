"""What every correction for several tests has."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from adducir.core.recipe import Recipe

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PairFamily:
    """The K paired tests of one family, and the scores that they are of.

    Attributes:
        p: (K,) uncorrected p-values.
        values: (R, T) scores on T topics, a row for each system and measure.
        first: (K,) the row of the first system of each pair.
        second: (K,) that of the second.
    """

    p: "FloatArray"
    values: "FloatArray"
    first: "NDArray[np.intp]"
    second: "NDArray[np.intp]"


class Correction(Recipe):
    """A way to adjust the p-values of tests that are made together.

    The fields of a subclass are its hyperparameters; ``permutations``, ``samples`` and ``seed`` get
    what the user says for all tests.

    Attributes:
        title: Its name in a sentence, such as "Holm"; empty for none.
        draws: The field with the number of draws, where it draws anything.
        tests: The tests that it corrects; empty for every one.
        scopes: The families of tests that it corrects; empty for every one.
    """

    title: ClassVar[str]
    draws: ClassVar[Literal["", "permutations", "samples"]] = ""
    tests: ClassVar[tuple[str, ...]] = ()
    scopes: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def adjusted(self, p: "FloatArray") -> "FloatArray":
        """(m,) adjusted p-values, from 0 to 1, of the (m,) p-values of a family, in their order.

        They are held against the unadjusted alpha.
        """

    def of_pairs(self, family: PairFamily) -> "FloatArray":
        """(K,) adjusted p-values of paired tests; by default from their p-values alone."""
        return self.adjusted(family.p)
