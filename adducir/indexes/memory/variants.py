"""The variants of BM25 that baselines use, over a memory index; see :mod:`..candidates.variants`.

Lengths are exact and scores double precision, as in rank_bm25. Only documents that hold a term of
the query are ranked.
"""

from typing import cast

import numpy as np

from adducir.indexes.candidates.variants import Statistics, Variant
from adducir.indexes.memory.files import Arrays
from adducir.indexes.memory.kernels_numpy import best
from adducir.indexes.memory.searching import Ranked, Terms, in_threads


def rank_variant(
    arrays: Arrays,
    documents: int,
    terms: Terms,
    model: Variant,
    *,
    depth: int | None,
    threads: int,
) -> Ranked:
    """Rank the documents by a variant of BM25.

    Args:
        arrays: The index.
        documents: How many documents the corpus has, those without a term included.
        terms: The queries.
        model: The variant.
        depth: Hits a query, at most; None for all.
        threads: Threads.
    """
    statistics = Statistics(
        documents=documents,
        filled=arrays.documents,
        tokens=cast(int, arrays.tokens),
        frequencies=np.diff(arrays.offsets),
        occurrences=np.asarray(arrays.collection),
        lengths=np.asarray(arrays.lengths),
    )
    factors = model.term_factors(statistics)
    lengths = model.length_factors(statistics)
    background = model.background(factors)
    most = arrays.documents if depth is None else depth
    found: list[tuple[np.ndarray, np.ndarray]] = [(np.empty(0), np.empty(0))] * len(terms)

    def search(span: tuple[int, int]) -> None:
        for query in range(*span):
            sums, seen = np.zeros(arrays.documents), np.zeros(arrays.documents, dtype=bool)
            for n in range(terms.starts[query], terms.starts[query + 1]):
                term, weight = terms.numbers[n], np.float64(terms.weights[n])
                part = slice(arrays.offsets[term], arrays.offsets[term + 1])
                docs, tfs = arrays.docs[part], arrays.tfs[part].astype(np.float64)
                added = model.impacts(factors[term], tfs, lengths[docs])
                if background is not None:
                    sums += weight * background[term]
                    added = added - background[term]
                sums[docs] += weight * added
                seen[docs] = True
            matching = np.flatnonzero(seen)
            found[query] = best(matching, sums[matching], most)

    in_threads(search, len(terms), threads)
    counts = np.array([len(docs) for docs, _ in found], dtype=np.int64)
    docs = np.concatenate([docs for docs, _ in found] or [np.empty(0)]).astype(np.int32)
    return Ranked(counts, docs, np.concatenate([scores for _, scores in found] or [np.empty(0)]))
