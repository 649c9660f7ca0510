"""Negatives of contexts in their batches: those of their own, and how many copies are left out."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from adducir.training.store import Array, Numbers


def codes_of(examples: Sequence[Mapping[str, Array]]) -> Numbers:
    """(m,) the numbers of the texts of a batch: of all spans, then of all hard negatives."""
    own = np.array([one["same"] for one in examples], dtype=np.int64)
    hard = [one["negative_same"] for one in examples if "negative_same" in one]
    return np.concatenate([own, *hard])


def negatives_of(example: Mapping[str, Array]) -> list[Array]:
    """The token ids of each hard negative of an example; none where none were read."""
    if "negatives" not in example:
        return []
    ends = example["negative_ends"].tolist()
    return [example["negatives"][first:end] for first, end in pairwise([0, *ends])]


class Negatives:
    """Counts over batches.

    A text of the batch that equals a context's own is none of its negatives.
    """

    def __init__(self) -> None:
        self._contexts = self._negatives = self._copies = self._most = 0
        self._least: int | None = None

    def add(self, codes: Numbers, contexts: int) -> None:
        """Take a batch.

        Args:
            codes: (m,) from :func:`codes_of`.
            contexts: How many of these, the first, are the contexts' own.
        """
        _, kinds, counts = np.unique(codes, return_inverse=True, return_counts=True)
        copies = counts[kinds[:contexts]] - 1
        negatives = len(codes) - 1 - copies
        self._contexts += contexts
        self._negatives += int(negatives.sum())
        self._copies += int(copies.sum())
        self._most = max(self._most, int(negatives.max()))
        least = int(negatives.min())
        self._least = least if self._least is None else min(self._least, least)

    def record(self) -> dict[str, Any]:
        """Counts of one epoch, for the manifest and the card."""
        mean = round(self._negatives / max(1, self._contexts), 2)
        return {
            "negatives_per_context": {"mean": mean, "least": self._least or 0, "most": self._most},
            "masked_copies_per_epoch": self._copies,
        }
