"""Late interaction: the score of a query and a document that have a vector for each token.

ColBERT (Khattab and Zaharia, SIGIR 2020): score(q, d) = sum over q's vectors of the greatest inner
product with any of d's. Padding is minus infinity before the maximum, since a zero would be greater
than products that are all negative; padding of the query adds nothing to the sum.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

PRODUCTS = 1 << 24
"""Inner products that are held at a time: 64 MB."""


@dataclass(frozen=True, eq=False)
class MultiVectors:
    """The (T, D) vectors of N texts without padding, and (N + 1,) where those of each begin."""

    values: Floats
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def rows(self, first: int, last: int) -> "MultiVectors":
        begin, end = self.starts[first], self.starts[last]
        return MultiVectors(self.values[begin:end], self.starts[first : last + 1] - begin)

    @classmethod
    def of(cls, parts: "list[Floats]", width: int) -> "MultiVectors":
        """From the (T_i, D) vectors of each text; ``width`` is D, for when there is no text."""
        starts = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum([len(part) for part in parts], out=starts[1:])
        none = np.zeros((0, width), dtype=np.float32)
        return cls(np.concatenate([none, *parts]).astype(np.float32, copy=False), starts)


def maxsim_packed(queries: MultiVectors, documents: MultiVectors) -> Floats:
    """(Q, N) float32 scores; minus infinity for a document without a vector, 0 for such a query."""
    starts, first = documents.starts, 0
    scores = np.full((len(queries), len(starts) - 1), -np.inf, dtype=np.float32)
    asked = np.flatnonzero(np.diff(queries.starts))
    most = max(1, PRODUCTS // max(1, len(queries.values)))
    while first < len(starts) - 1:
        last = int(np.searchsorted(starts, starts[first] + most, side="right")) - 1
        last = max(last, first + 1)  # one text may have more vectors than that
        some = documents.rows(first, last)
        filled = np.flatnonzero(np.diff(some.starts))
        if len(filled):
            best = np.zeros((len(queries), len(filled)), dtype=np.float32)
            if len(asked):
                found = queries.values @ some.values.T
                found = np.maximum.reduceat(found, some.starts[filled], axis=1)
                best[asked] = np.add.reduceat(found, queries.starts[asked], axis=0)
            scores[:, first + filled] = best
        first = last
    return scores
