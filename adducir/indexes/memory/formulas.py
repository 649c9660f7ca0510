"""Any retrieval model over a memory index, by its formula on arrays.

Only documents that hold a term of the query are ranked. Lengths are exact and scores doubles, or,
of a model that is :attr:`~adducir.indexes.models.Model.like_lucene`, lengths are those that Lucene
keeps in one byte, and what a posting adds and its document's sum are rounded to floats.
"""

from typing import cast

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.memory.files import Arrays
from adducir.indexes.memory.norms import LENGTHS
from adducir.indexes.memory.searching import Ranked, Terms, ranked_by
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
    precision = np.float32 if model.like_lucene else np.float64

    def sums_of(query: int) -> tuple[Array, Array]:
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
        return sums.astype(precision), seen

    return ranked_by(sums_of, len(terms), arrays.documents if depth is None else depth, threads)
