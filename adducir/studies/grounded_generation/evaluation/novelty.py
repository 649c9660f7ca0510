"""Novel-F1 over many pairs of texts, which counts the pairs without a novel word."""

from collections.abc import Collection

from adducir.studies.grounded_generation.evaluation.overlap import f1_of_words, novel_words
from adducir.studies.grounded_generation.evaluation.words import words_of


class Novelty:
    """Novel-F1 with fixed common words.

    Args:
        common: The common words.
        what: What the pairs are, for the note.
    """

    def __init__(self, common: Collection[str], what: str) -> None:
        self._common = frozenset(common)
        self._what = what
        self._pairs = 0
        self._empty = 0

    def f1(self, first: str, second: str, context: str) -> float:
        known = self._common.union(words_of(context))
        left, right = novel_words(first, known), novel_words(second, known)
        self._pairs += 1
        self._empty += not left and not right
        return f1_of_words(left, right)

    def notes(self) -> list[str]:
        """How many pairs had no novel word on either side; nothing where there was none."""
        if not self._empty:
            return []
        return [
            f"Novel-F1: {self._empty:,} of {self._pairs:,} pairs of {self._what} have no novel "
            "word on either side; they count 0."
        ]
