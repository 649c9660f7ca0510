"""What every fusion method has."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from adducir.core.recipe import Recipe

if TYPE_CHECKING:
    from adducir.runs.order import Floats
    from adducir.runs.run import Run


class FusionMethod(Recipe):
    """A way to make one score of what several runs say of a document.

    The fields of a subclass are its hyperparameters.
    """

    @abstractmethod
    def contributions(self, run: "Run") -> "Floats":
        """(n,) what each row of a run adds to its document's score, before the run's weight."""

    def combined(self, sums: "Floats", counts: "Floats") -> "Floats":
        """(m,) scores of documents.

        Args:
            sums: (m,) weighted sums of the contributions.
            counts: (m,) how many runs rank the document, 1 or more.
        """
        del counts
        return sums

    def check(self, runs: Sequence["Run"]) -> None:
        """Refuse runs that the method makes no sense for.

        Raises:
            UsageError: It does not.
        """
        del runs
