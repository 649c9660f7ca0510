"""The passages that are scored for each context, where not all are: the best of BM25 or of vectors.

Only the best of each context are held, and one part of the passages at a time: memory does not grow
with contexts times passages.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from adducir.core.progress import progress
from adducir.indexes.candidates import Best, Ranking, rank, rank_parts
from adducir.indexes.models import BM25
from adducir.models.arrays import Stored
from adducir.studies.grounded_generation.hindsight.building import Problem
from adducir.studies.grounded_generation.hindsight.recipe import ClosedRecipe, GuideRecipe
from adducir.studies.grounded_generation.hindsight.token_work import (
    BLOCK,
    PART,
    Loader,
    Making,
    Readable,
    encoded,
)
from adducir.studies.grounded_generation.hindsight.vectors import Network, readable

Numbers = NDArray[np.int64]
Floats = NDArray[np.float32]
Load = Callable[[torch.device], Mapping[str, Readable]]

_PRODUCTS = 1 << 23
"""Inner products that are held at a time."""


@dataclass(frozen=True)
class Candidates(Stored):
    """The passages that are scored for n contexts.

    Attributes:
        retriever: (n, c) passages that the retriever scores for each context.
        guide: (n, c) those that the guide scores.
    """

    retriever: NDArray[np.int32]
    guide: NDArray[np.int32]

    def of(self, contexts: Numbers) -> tuple[Numbers, Numbers]:
        """Those of some contexts."""
        return (
            self.retriever[contexts].astype(np.int64),
            self.guide[contexts].astype(np.int64),
        )


def candidates_of(
    recipe: ClosedRecipe, problem: Problem, guide: GuideRecipe, load: Load, how: Making
) -> Candidates:
    """The passages that are scored for all contexts, ranked once for every system and seed.

    Args:
        recipe: Whose candidates, and how many.
        problem: Contexts and passages.
        guide: How the guide reads.
        load: Gives another process the texts of :func:`texts_of`.
        how: How shards of vectors are made.

    Raises:
        MachineError: No Java for Lucene's analysis; a network cannot be loaded.
    """
    # The passages are read once for both.
    queries, depth = problem.queries(guide), recipe.candidate_depth
    if recipe.candidates == "bm25":
        with progress().doing("ranking", len(problem.passages), "passages"):
            found, _ = bm25_ranking(problem.passages, queries, depth, threads=how.threads)
    else:
        found = vector_ranking(problem.passages, queries, depth, load, how)
    size = len(problem.contexts)
    return Candidates(found[:size], found[size:])


def texts_of(
    network: Network, passages: Sequence[str], queries: Sequence[str]
) -> Mapping[str, Readable]:
    """What is encoded to rank passages by vectors: each different query, and all passages."""
    different, _ = _different(queries)
    return {
        "queries": readable(network, different, "query", network.device),
        "candidates": readable(network, passages, "document", network.device),
    }


def bm25_ranking(
    passages: Sequence[str], queries: Sequence[str], depth: int, *, threads: int | None = None
) -> tuple[NDArray[np.int32], Floats]:
    """(n, depth) passages and scores of BM25 with Anserini's parameters and analysis.

    Passages without a word of the query follow with 0, in the order of the corpus.
    """
    different, rows = _different(queries)
    found = rank_parts(passages, different, BM25(), depth, threads=threads)
    return found.numbers[rows], found.scores.astype(np.float32)[rows]


def vector_ranking(
    passages: Sequence[str],
    queries: Sequence[str],
    depth: int,
    load: Load,
    how: Making,
    *,
    block: int = BLOCK,
    part: int = PART,
) -> NDArray[np.int32]:
    """(n, depth) passages by the inner product of one vector each; of equal ones the first.

    Args:
        load: Gives the texts of :func:`texts_of`.
        how: How shards of vectors are made.
        block: Texts in a block, whose batches are cut by themselves.
        part: Blocks whose vectors are held at a time.
    """
    different, rows = _different(queries)
    best, first = Best(len(different), min(depth, len(passages))), 0
    counts = {"queries": len(different), "candidates": len(passages)}
    with encoded(Loader(load), counts, how, block) as (vectors, _):
        of_queries = vectors.read("queries").values
        for some in vectors.parts("candidates", part):
            best.add(_products(of_queries, some.values, depth), first)
            first += len(some)
    return best.ranking.numbers[rows]


def _products(queries: Floats, passages: Floats, depth: int) -> Ranking:
    """The best passages of a part by inner products."""
    found = Ranking.empty(len(queries), len(passages), depth)
    step = max(1, _PRODUCTS // max(1, len(passages)))
    for first in range(0, len(queries), step):
        some = slice(first, first + step)
        each = rank((queries[some] @ passages.T).astype(np.float64), depth)
        found.numbers[some], found.scores[some] = each.numbers, each.scores
    return found


def _different(queries: Sequence[str]) -> tuple[list[str], list[int]]:
    """Each query once, and the place of each: most contexts share their input with others."""
    places = {text: place for place, text in enumerate(dict.fromkeys(queries))}
    return list(places), [places[text] for text in queries]
