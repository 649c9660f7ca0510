"""How much of the exact answer an approximate index gives, measured when it is built."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adducir.indexes.dense import engine

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

AT = 10
_EQUAL = 1e-5
_BLOCK = 1 << 16


def recall(index: Any, vectors: Floats, sample: int, seed: int, *, at: int = AT) -> dict[str, Any]:
    """The mean share of the ``at`` exact neighbours of some vectors that an index finds.

    The queries are vectors of the index itself, drawn at random, since real ones are not known
    yet; a vector is not its own neighbour. A neighbour that scores as the last exact one does is
    as good as that one.

    Args:
        vectors: (N, D) all that it holds, in order.
        sample: Queries.
        at: Neighbours.

    Returns:
        Plain values for the manifest: ``at``, ``queries`` and ``recall``; for fewer than two
        vectors an empty one.
    """
    count = len(vectors)
    at = min(at, count - 1)
    if at < 1:
        return {}
    draw = np.random.default_rng(seed)
    chosen = np.sort(draw.choice(count, size=min(sample, count), replace=False))
    least = _last_exact(vectors, chosen, at)
    _, found = engine.search(index, vectors[chosen], at + 1)
    good = 0
    for own, row, bound in zip(chosen, found, least, strict=True):
        others = row[(row >= 0) & (row != own)][:at]
        good += int((vectors[others] @ vectors[own] >= bound - _EQUAL * abs(bound)).sum())
    return {"at": at, "queries": len(chosen), "recall": round(good / (at * len(chosen)), 4)}


def _last_exact(vectors: Floats, chosen: Integers, at: int) -> Floats:
    """The score of the ``at``-th exact neighbour of each chosen vector."""
    best = np.full((len(chosen), at), -np.inf, dtype=np.float32)
    for first in range(0, len(vectors), _BLOCK):
        some = vectors[chosen] @ vectors[first : first + _BLOCK].T
        inside = np.flatnonzero((chosen >= first) & (chosen < first + _BLOCK))
        some[inside, chosen[inside] - first] = -np.inf
        joined = np.concatenate([best, some], axis=1)
        best = -np.partition(-joined, at - 1, axis=1)[:, :at]
    last: Floats = best.min(axis=1)
    return last
