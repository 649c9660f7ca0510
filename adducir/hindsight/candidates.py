"""The passages that are scored for each context, where not all are: the best of BM25 or of vectors.

Only the best of each context are held, and one part of the passages at a time: memory does not grow
with contexts times passages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from adducir.core.progress import SILENT, Progress
from adducir.encoders.kinds import Side
from adducir.hindsight.building import Problem
from adducir.hindsight.recipe import ClosedRecipe, GuideRecipe, RetrieverRecipe
from adducir.hindsight.vectors import Live, Network, kept_vectors
from adducir.indexes.candidates import Ranking, rank_parts
from adducir.indexes.candidates.parts import Best
from adducir.indexes.candidates.ranking import rank
from adducir.indexes.models import BM25
from adducir.models.shards import Stored
from adducir.models.sources import MINILM

Numbers = NDArray[np.int64]
Floats = NDArray[np.float32]

PART = 1 << 15
"""Passages whose vectors are held at a time; a multiple of the parts that survive a kill."""
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
    recipe: ClosedRecipe,
    problem: Problem,
    guide: GuideRecipe,
    folder: Path,
    device: torch.device,
    *,
    threads: int | None = None,
    parts: Path | None = None,
    progress: Progress = SILENT,
) -> Candidates:
    """The candidates of all contexts; the same in every round, and for every system and seed.

    Args:
        recipe: Whose candidates, and how many.
        problem: Contexts and passages.
        guide: How the guide reads.
        folder: The study's, where relative paths start.
        device: Where vectors are computed.
        parts: A folder that keeps vectors of passages, so that a kill loses little.
        progress: Notified of each passage.

    Raises:
        MachineError: No Java for Lucene's analysis; a network cannot be loaded.
    """
    # The passages are read once for both: the guide's queries are behind the retriever's.
    queries, depth = [*problem.inputs, *problem.hindsight(guide)], recipe.candidate_depth
    progress.start("ranking", len(problem.passages), "passages")
    try:
        if recipe.candidates == "bm25":
            found, _ = bm25_ranking(
                problem.passages, queries, depth, threads=threads, progress=progress
            )
        else:
            network = Network(RetrieverRecipe(base=MINILM), folder).eval().to(device)
            found = vector_ranking(
                network, problem.passages, queries, depth, parts=parts, progress=progress
            )
    finally:
        progress.finish()
    size = len(problem.contexts)
    return Candidates(found[:size], found[size:])


def bm25_ranking(
    passages: Sequence[str],
    queries: Sequence[str],
    depth: int,
    *,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> tuple[NDArray[np.int32], Floats]:
    """(n, depth) passages and scores of BM25 with Anserini's parameters and analysis.

    Passages without a word of the query follow with 0, in the order of the corpus.
    """
    different, rows = _different(queries)
    found = rank_parts(passages, different, BM25(), depth, threads=threads, progress=progress)
    return found.numbers[rows], found.scores.astype(np.float32)[rows]


def vector_ranking(
    network: Network,
    passages: Sequence[str],
    queries: Sequence[str],
    depth: int,
    *,
    part: int = PART,
    parts: Path | None = None,
    progress: Progress = SILENT,
) -> NDArray[np.int32]:
    """(n, depth) passages by the inner product of one vector each; of equal ones the first."""
    different, rows = _different(queries)
    of_queries = _encoded(network, different, "query")
    best = Best(len(different), min(depth, len(passages)))
    for first in range(0, len(passages), part):
        some = passages[first : first + part]
        vectors = _encoded(network, some, "document", parts, f"candidates-{first}", progress)
        best.add(_products(of_queries, vectors, depth), first)
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


def _encoded(
    network: Network,
    texts: Sequence[str],
    side: Side,
    parts: Path | None = None,
    name: str = "",
    progress: Progress = SILENT,
) -> Floats:
    """(n, D) vectors."""
    live = Live(network, texts, side)
    lengths = [len(one) for one in live.inputs]
    return kept_vectors(
        live.batch, lengths, parts=parts, name=name, device=network.device, progress=progress
    ).values
