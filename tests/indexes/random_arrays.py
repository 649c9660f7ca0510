"""Memory indexes made by hand from random postings, large enough for many windows."""

from pathlib import Path
from typing import Any

import numpy as np

from adducir.indexes.memory.files import Arrays
from adducir.indexes.memory.norms import norms_of
from adducir.indexes.memory.searching import Terms


def arrays_of(postings: list[tuple[Any, Any]], documents: int, lengths: Any) -> Arrays:
    """An index of terms given as ascending documents and their frequencies; no names in it."""
    sizes = [len(docs) for docs, _ in postings]
    tfs = np.concatenate([np.asarray(tfs) for _, tfs in postings])
    lengths = np.asarray(lengths)
    assert len(lengths) == documents
    return Arrays(
        Path(),
        offsets=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        lengths=lengths,
        norms=norms_of(lengths),
        collection=np.array([np.asarray(tfs).sum() for _, tfs in postings]),
        docs=np.concatenate([np.asarray(docs) for docs, _ in postings]).astype(np.int32),
        tfs=tfs,
        forward=np.zeros(0, dtype=np.uint8),
        forward_offsets=np.zeros(documents + 1, dtype=np.int64),
    )


def random_arrays(documents: int, terms: int, dtype: Any, seed: int = 0) -> Arrays:
    """Terms of all frequencies from a third of the documents down to one document."""
    rng = np.random.default_rng(seed)
    lengths = np.maximum(1, rng.lognormal(5, 1, documents)).astype(np.int32)
    postings = []
    for share in np.geomspace(0.33, 1 / documents, terms):
        docs = np.flatnonzero(rng.random(documents) < share)
        docs = docs if len(docs) else np.array([documents // 2])
        tfs = rng.geometric(0.6, len(docs)) if dtype != np.float32 else rng.random(len(docs)) * 9
        greatest = 9.0 if dtype == np.float32 else min(60_000, np.iinfo(dtype).max)
        tfs[rng.random(len(docs)) < 0.002] = greatest
        postings.append((docs, tfs.astype(dtype)))
    return arrays_of(postings, documents, lengths)


def random_queries(count: int, terms: int, length: int, seed: int = 1) -> Terms:
    """Queries of up to ``length`` terms with weights, some of them 0."""
    rng = np.random.default_rng(seed)
    picked = [rng.choice(terms, rng.integers(1, length + 1), replace=False) for _ in range(count)]
    numbers = np.concatenate(picked).astype(np.int64)
    weights = rng.random(len(numbers)).astype(np.float32) * 3
    weights[rng.random(len(numbers)) < 0.1] = 0
    return Terms(np.cumsum([0, *map(len, picked)]), numbers, weights)
