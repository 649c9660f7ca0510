"""Ranks of gold items by vectors that lie in a file: for more candidates than memory holds."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from adducir.core.errors import UsageError
from adducir.encoders.packed_files import PackedRun
from adducir.encoders.ranking import (
    SCORES,
    ContextRanks,
    Floats,
    Integers,
    by_vectors,
    context_ranks,
)

PART = 1 << 15
"""Candidates whose vectors are held at a time: 96 MB of 768 numbers each, twice."""


def filed_ranks(
    contexts: Floats,
    candidates: PackedRun,
    gold: Integers,
    counts: Integers,
    *,
    block: int = SCORES,
    part: int = PART,
) -> ContextRanks:
    """Where the gold items stand by inner product; see :func:`.context_ranks`.

    Candidates are read in parts. Where there are several, they are read twice: for the scores of
    the gold items, and for what is better. A part's scores are the same product both times, so
    that a gold item ties with itself.

    Args:
        contexts: (Q, D) vectors.
        candidates: U texts with one vector each, (U, D).
        part: Candidates that are held at a time.

    Raises:
        UsageError: A query's gold item is no candidate, or a score is not a number.
    """
    if len(candidates) <= part:
        whole = candidates.rows(0, len(candidates)).values
        return context_ranks(by_vectors(contexts, whole), gold, counts, block=block)
    if len(gold) and not (gold.min() >= 0 and gold.max() < len(candidates)):
        raise UsageError(
            f"a gold item's number is not below {len(candidates):,}, the number of candidates."
        )
    queries = len(gold)
    golden, highest = (np.full(queries, -np.inf, dtype=np.float32) for _ in range(2))
    better, tied, tops = (np.zeros(queries, dtype=np.int64) for _ in range(3))
    # Parts are of one size: a product with few candidates is computed otherwise, so that equal
    # vectors in different parts would differ in the last digit, and not tie.
    size = -(-len(candidates) // -(-len(candidates) // part))
    cuts = [*range(0, len(candidates), size), len(candidates)]
    step = max(1, block // size)

    def products(first: int, last: int, chosen: Integers) -> Iterator[tuple[slice, Floats]]:
        """The scores of a part for those blocks of queries that have a chosen one."""
        score = by_vectors(contexts, candidates.rows(first, last).values)
        for start in np.unique(chosen // step).tolist():
            rows = slice(start * step, min((start + 1) * step, queries))
            some = score(rows.start, rows.stop)
            if np.isnan(some).any():
                raise UsageError("a score is not a number.")
            yield rows, some

    for first, last in pairwise(cuts):
        for rows, some in products(first, last, np.flatnonzero((gold >= first) & (gold < last))):
            own = gold[rows]
            here = np.flatnonzero((own >= first) & (own < last))
            golden[rows.start + here] = some[here, own[here] - first]
    for first, last in pairwise(cuts):
        for rows, some in products(first, last, np.arange(queries)):
            better[rows] += (some > golden[rows, None]) @ counts[first:last]
            tied[rows] += (some == golden[rows, None]) @ counts[first:last]
            best = some.argmax(axis=1)
            values = some[np.arange(len(some)), best]
            # The first of several stays.
            tops[rows] = np.where(values > highest[rows], first + best, tops[rows])
            highest[rows] = np.maximum(values, highest[rows])
    return ContextRanks(better, tied, np.full(queries, counts.sum(), dtype=np.int64), tops)
