"""Any retrieval model over a memory index, by its formula on arrays.

Only documents that hold a term of the query are ranked. Lengths are exact and scores doubles, or,
of a model that is :attr:`~adducir.indexes.models.Model.like_lucene`, lengths are those that Lucene
keeps in one byte, and what a posting adds and its document's sum are rounded to floats.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.memory.files import Arrays, Places, Totals
from adducir.indexes.memory.norms import LENGTHS
from adducir.indexes.memory.searching import Ranked, Terms, ranked_by
from adducir.indexes.models import Model, Statistics


@dataclass(frozen=True, eq=False)
class Factors:
    """A model over one index.

    Attributes:
        terms: (V,) the factor of each term.
        lengths: (N,) the factor of each document.
        background: (V,) what each term adds to documents that lack it; None for nothing.
    """

    model: Model
    terms: Array
    lengths: Array
    background: Array | None

    @classmethod
    def of(cls, model: Model, totals: Totals, documents: int) -> "Factors":
        """Compute the factors.

        Args:
            totals: The whole index.
            documents: How many documents the corpus has, those without a term included.
        """
        statistics = Statistics(
            documents=documents,
            filled=totals.documents,
            tokens=cast(int, totals.tokens),
            frequencies=np.diff(totals.offsets),
            occurrences=np.asarray(totals.collection),
            lengths=np.asarray(LENGTHS[totals.norms] if model.like_lucene else totals.lengths),
        )
        factors = model.term_factors(statistics)
        return cls(model, factors, model.length_factors(statistics), model.background(factors))


def rank_by_formula(
    arrays: Arrays,
    terms: Terms,
    factors: Factors,
    places: Places | None = None,
    *,
    depth: int | None,
    threads: int,
) -> Ranked:
    """Rank the documents by a model.

    Args:
        arrays: The index, or a part of it.
        terms: Numbers of the whole index.
        factors: Of the whole index.
        places: Where the part stands in the index.
        depth: Hits a query, at most; None for all.

    Returns:
        Documents by their numbers in ``arrays``.
    """
    model, background = factors.model, factors.background
    precision = np.float32 if model.like_lucene else np.float64
    numbers = terms.numbers if places is None else places.of_terms(terms.numbers)
    lengths = factors.lengths if places is None else factors.lengths[places.docs]

    def sums_of(query: int) -> tuple[Array, Array]:
        sums, seen = np.zeros(arrays.documents), np.zeros(arrays.documents, dtype=bool)
        for n in range(terms.starts[query], terms.starts[query + 1]):
            term, number, weight = terms.numbers[n], numbers[n], np.float64(terms.weights[n])
            if background is not None:
                sums += weight * background[term]
            if number < 0:
                continue
            part = slice(arrays.offsets[number], arrays.offsets[number + 1])
            docs, tfs = arrays.docs[part], arrays.tfs[part].astype(np.float64)
            added = model.impacts(factors.terms[term], tfs, lengths[docs])
            if background is not None:
                added = added - background[term]
            sums[docs] += (weight * added).astype(precision)
            seen[docs] = True
        return sums.astype(precision), seen

    return ranked_by(sums_of, len(terms), arrays.documents if depth is None else depth, threads)
