"""What every paired significance test has."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

from adducir.core.recipe import Recipe

if TYPE_CHECKING:
    from adducir.statistics.differences import FloatArray
    from adducir.statistics.outcome import TestResult

DEFAULT_SEED = 0
DEFAULT_PERMUTATIONS = 100_000
DEFAULT_SAMPLES = 10_000


class SignificanceTest(Recipe):
    """A paired, two-sided test of two systems' scores on the same topics.

    The fields of a subclass are its hyperparameters. Those called ``permutations``, ``samples``
    and ``seed`` get what the user says for all tests.

    Attributes:
        title: Its name in a sentence, such as "paired t-test".
        draws: The field with the number of draws, where it draws anything.
    """

    title: ClassVar[str]
    draws: ClassVar[Literal["", "permutations", "samples"]] = ""

    @abstractmethod
    def rows(self, first: "FloatArray", second: "FloatArray") -> "list[TestResult]":
        """The results of K pairs of systems.

        Args:
            first: (K, T) scores on T topics; checked, at least two topics.
            second: (K, T) those of the systems that each is compared with.
        """

    def pairs(
        self, values: "FloatArray", first: Sequence[int], second: Sequence[int]
    ) -> "list[TestResult]":
        """The results of K pairs of S systems.

        Args:
            values: (S, T) scores.
            first: The row of the first system of each pair.
            second: The row of the second.
        """
        return self.rows(values[list(first)], values[list(second)])

    def mirrored(self, result: "TestResult") -> "TestResult":
        """The result with the two systems in the other order; p is the same."""
        return replace(result, statistic=-result.statistic)
