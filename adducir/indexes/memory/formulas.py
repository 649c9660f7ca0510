"""Any retrieval model over a memory index, by its formula on arrays.

Only documents that hold a term of the query are ranked. Lengths are exact and scores doubles, or,
of a model that is :attr:`~adducir.indexes.models.Model.like_lucene`, lengths are those that Lucene
keeps in one byte, and what a posting adds and its document's sum are rounded to floats.
"""

from typing import cast

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.memory.files import Arrays
from adducir.indexes.memory.kernels_numpy import best
from adducir.indexes.memory.norms import LENGTHS
from adducir.indexes.memory.searching import Ranked, Terms, in_threads
from adducir.indexes.models.model import Model
from adducir.indexes.models.statistics import Statistics


def rank_by_formula(
    arrays: Arrays,
    documents: int,
    terms: Terms,
    model: Model,
    *,
    depth: int | None,
    threads: int,
) -> Ranked:
    """Rank the documents by a model.

    Args:
        documents: How many documents the corpus has, those without a term included.
        depth: Hits a query, at most; None for all.
    """
    statistics = Statistics(
        documents=documents,
        filled=arrays.documents,
        tokens=cast(int, arrays.tokens),
        frequencies=np.diff(arrays.offsets),
        occurrences=np.asarray(arrays.collection),
        lengths=np.asarray(LENGTHS[arrays.norms] if model.like_lucene else arrays.lengths),
    )
    factors = model.term_factors(statistics)
    lengths = model.length_factors(statistics)
    background = model.background(factors)
    most = arrays.documents if depth is None else depth
    precision = np.float32 if model.like_lucene else np.float64
    found: list[tuple[Array, Array]] = [(np.empty(0), np.empty(0))] * len(terms)

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
                sums[docs] += (weight * added).astype(precision)
                seen[docs] = True
            matching = np.flatnonzero(seen)
            found[query] = best(matching, sums[matching].astype(precision), most)

    in_threads(search, len(terms), threads)
    counts = np.array([len(docs) for docs, _ in found], dtype=np.int64)
    docs = np.concatenate([docs for docs, _ in found] or [np.empty(0)]).astype(np.int32)
    return Ranked(counts, docs, np.concatenate([scores for _, scores in found] or [np.empty(0)]))
