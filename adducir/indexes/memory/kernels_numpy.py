"""Search without numba: the same scores and rankings, document by document equal, but slower."""

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.memory.scoring import BM25_BYTE, BM25_EXACT, Formula, Postings, Queries


def search(
    postings: Postings,
    formula: Formula,
    queries: Queries,
    first: int,
    last: int,
    out_starts: Array,
    out_docs: Array,
    out_scores: Array,
    out_counts: Array,
) -> None:
    """Rank the documents for some queries; see :func:`.kernels.search` for the arguments."""
    for query in range(first, last):
        sums = np.zeros(postings.documents)
        seen = np.zeros(postings.documents, dtype=bool)
        for n in range(queries.starts[query], queries.starts[query + 1]):
            term = queries.terms[n]
            part = slice(postings.offsets[term], postings.offsets[term + 1])
            docs = postings.docs[part]
            tfs = postings.tfs[part].astype(np.float32)
            weight, mass = queries.weights[n], queries.masses[n]
            sums[docs] += contributions(postings, formula, weight, mass, docs, tfs)
            seen[docs] = True
        start, end = out_starts[query], out_starts[query + 1]
        found = np.flatnonzero(seen)
        docs, scores = best(found, sums[found].astype(np.float32), end - start)
        out_counts[query] = len(docs)
        out_docs[start : start + len(docs)] = docs
        out_scores[start : start + len(docs)] = scores


def contributions(
    postings: Postings,
    formula: Formula,
    weight: np.float32,
    mass: np.float64,
    docs: Array,
    tfs: Array,
) -> Array:
    """(p,) float32: what each posting of a term adds, see :mod:`.scoring`."""
    one = np.float32(1)
    added: Array
    with np.errstate(divide="ignore", invalid="ignore"):  # k1 or mu may be 0
        if formula.kind == BM25_EXACT:
            added = weight * tfs / ((tfs + formula.constant) + formula.parts[docs])
        elif formula.kind == BM25_BYTE:
            factors = formula.factors.astype(np.float32)[postings.norms[docs]]
            added = weight - weight / (one + tfs * factors)
        else:
            logs = np.log(1 + tfs.astype(np.float64) / mass) + formula.factors[postings.norms[docs]]
            scores = np.float64(weight) * logs
            added = np.where(scores > 0, scores, 0).astype(np.float32)
    return added


def best(docs: Array, scores: Array, depth: int) -> tuple[Array, Array]:
    """The ``depth`` best documents and their scores; equal scores in ascending order of documents.

    Args:
        docs: (n,) document numbers, ascending.
        scores: (n,) their scores.
    """
    if len(docs) > depth:
        last = np.partition(scores, len(scores) - depth)[len(scores) - depth] if depth else np.inf
        above = np.flatnonzero(scores > last)
        level = np.flatnonzero(scores == last)[: depth - len(above)]
        kept = np.sort(np.concatenate((above, level)))
        docs, scores = docs[kept], scores[kept]
    order = np.argsort(-scores, kind="stable")
    return docs[order], scores[order]
