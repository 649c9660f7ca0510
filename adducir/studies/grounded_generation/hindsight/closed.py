"""Closed sets: the top r passages of retriever and guide for each context, with their scores.

Only one chunk of passage vectors is in memory at a time, so memory does not grow with the passages.

A training step uses k passages from an example's closed set. They are drawn without replacement by
softmax(score / temperature): a Gumbel variable is added to each log-weight, and the k largest are
taken, which is equivalent to drawing one after another from the rest (Yellott, 1977; Kool et al.,
ICML 2019).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from adducir.encoders.ranking import MultiVectors, maxsim_packed
from adducir.indexes.candidates import Best, Ranking, rank, rank_parts
from adducir.indexes.models import BM25
from adducir.models.artifacts import Stored, read_shard
from adducir.models.machine import computing_in
from adducir.models.work import Arrays, in_order
from adducir.studies.grounded_generation.hindsight.model import (
    Data,
    Hindsight,
    Numbers,
    Padded,
    Scorer,
    Vectors,
)
from adducir.studies.grounded_generation.hindsight.recipe import ClosedRecipe, SampleRecipe

BLOCK = 8192  # texts per chunk of vectors
QUERIES = 64  # queries ranked at a time
CONTEXTS = 8 * QUERIES  # in a chunk of closed sets

Floats = NDArray[np.float32]
Load = Callable[[torch.device], "ClosedRequest"]
Compute = Callable[["ClosedRequest", Numbers, int | None], Arrays]


@dataclass(frozen=True)
class Candidates(Stored):
    """(n, c) passages that retriever and guide score for all n contexts, unless all are scored."""

    retriever: NDArray[np.int32]
    guide: NDArray[np.int32]


def bm25_ranking(
    passages: Sequence[str], queries: Sequence[str], depth: int, *, threads: int | None = None
) -> tuple[NDArray[np.int32], Floats]:
    """(n, depth) passages and scores of BM25 with Anserini's parameters and analysis.

    Passages without a query term follow with score 0, in corpus order.
    """
    places = {text: place for place, text in enumerate(dict.fromkeys(queries))}
    rows = [places[text] for text in queries]  # most contexts share their inputs
    ranking = rank_parts(passages, list(places), BM25(), depth, threads=threads)
    return ranking.numbers[rows], ranking.scores.astype(np.float32)[rows]


@dataclass(frozen=True)
class ClosedSets(Stored):
    """Closed sets of n contexts: (n,) numbers of contexts, (n, r) passages and scores."""

    contexts: Numbers
    retriever: Numbers
    retriever_scores: Floats
    guide: Numbers
    guide_scores: Floats

    def split(self, count: int) -> tuple["ClosedSets", "ClosedSets"]:
        values = vars(self).values()
        first, others = (
            (values_[:count] for values_ in values),
            (values_[count:] for values_ in values),
        )
        return ClosedSets(*first), ClosedSets(*others)

    def sample(self, row: int, recipe: SampleRecipe, seed: int) -> Numbers:
        """(k,) distinct passages of a context, or fewer if its lists are shorter."""
        draw = np.random.default_rng(seed)
        of_retriever = recipe.sampler in ("retriever", "top")
        if recipe.sampler == "mixture":
            of_retriever = bool(draw.random() < recipe.alpha)
        passages: Numbers = (self.retriever if of_retriever else self.guide)[row]
        if recipe.sampler != "top":
            scores = self.retriever_scores if of_retriever else self.guide_scores
            keys = scores[row].astype(np.float64) / recipe.temperature
            order = np.argsort(-(keys + draw.gumbel(size=len(keys))), kind="stable")
            passages = passages[order]
        return passages[: recipe.k]


@dataclass(frozen=True)
class ClosedRequest:
    """The inputs for closed sets of (n,) contexts; without candidates, all passages are scored."""

    model: Hindsight
    data: Data
    contexts: Numbers
    recipe: ClosedRecipe
    candidates: Candidates | None = None

    @cached_property
    def encoded_by(self) -> Mapping[str, str]:
        """Which part encodes passages for each: the guide starts as the retriever."""
        retriever, two = self.model.retriever.state_dict(), self.model.guide.state_dict()
        same = self.data.retriever_passages.inputs is self.data.guide_passages.inputs
        same = same and all(torch.equal(retriever[name], two[name]) for name in retriever)
        return {"retriever": "retriever", "guide": "retriever" if same else "guide"}

    @cached_property
    def encoded(self) -> Mapping[str, Numbers]:
        """By part, the passages that it encodes, ascending."""
        numbers: dict[str, Numbers] = {}
        for part, encoder in self.encoded_by.items():
            passages = np.arange(len(self.data.retriever_passages.inputs))
            if self.candidates is not None:
                passages = np.unique(getattr(self.candidates, part)[self.contexts])
            numbers[encoder] = np.union1d(numbers.get(encoder, passages), passages).astype(np.int64)
        return numbers

    def encode(self, places: Numbers, tokens: int | None, part: str) -> Arrays:
        scorer: Scorer = getattr(self.model.eval(), part)
        passages: Vectors = getattr(self.data, f"{part}_passages")
        network, precision = scorer.network, self.recipe.precision

        def batch(numbers: Numbers) -> Padded:
            # A frozen network's vectors were computed once, in single precision.
            with nullcontext() if network is None else computing_in(precision, network):
                return scorer.side(passages, numbers, "document")

        return encoded(passages, self.encoded[part][places], tokens, batch)

    def rank(
        self, rows: Numbers, tokens: int | None, files: Mapping[str, Sequence[Path]]
    ) -> Arrays:
        """The closed sets of some contexts, from the vectors by part; ties keep corpus order.

        The last digits of scores depend on which contexts are ranked together.
        """
        del tokens
        contexts, columns = self.contexts[rows], list[Any]()
        inputs = {"retriever": self.data.inputs, "guide": self.data.hindsight}
        for part, encoder in self.encoded_by.items():
            scorer: Scorer = getattr(self.model.eval(), part)
            queries = []
            with torch.inference_mode():
                for first in range(0, len(contexts), QUERIES):
                    some = contexts[first : first + QUERIES]
                    vectors_of_side, mask = scorer.side(inputs[part], some, "query")
                    queries.append(MultiVectors.of(_unpadded(vectors_of_side, mask)))
            scale, vectors = float(scorer.log_scale.detach().exp()), map(_held, files[encoder])
            if self.candidates is None:
                best, first = Best(len(contexts), self.recipe.depth), 0
                for held in vectors:
                    products = (maxsim_packed(some, held) * scale for some in queries)
                    rankings = [
                        rank(product.astype(np.float64), self.recipe.depth) for product in products
                    ]
                    numbers = np.concatenate([ranking.numbers for ranking in rankings])
                    best.add(
                        Ranking(numbers, np.concatenate([ranking.scores for ranking in rankings])),
                        first,
                    )
                    first += len(held)
                ranked = best.ranking
                columns += [ranked.numbers.astype(np.int64), ranked.scores.astype(np.float32)]
            else:
                candidates = getattr(self.candidates, part)[contexts].astype(np.int64)
                scores = _scores(queries, vectors, scale, self.encoded[encoder], candidates)
                order = np.lexsort((candidates, -scores), axis=1)[:, : self.recipe.depth]
                columns += (
                    np.take_along_axis(values, order, axis=1) for values in (candidates, scores)
                )
        return vars(ClosedSets(contexts, *columns))


def _scores(
    queries: Sequence[MultiVectors],
    parts: Iterable[MultiVectors],
    scale: float,
    numbers: Numbers,
    candidates: Numbers,
) -> Floats:
    """Scores of each context's candidates; ``numbers`` are the parts' passages."""
    scores, first = np.empty(candidates.shape, dtype=np.float32), 0
    for vectors in parts:
        some = numbers[first : first + len(vectors)]
        first += len(vectors)
        for row, row_candidates in enumerate(candidates):
            which = np.flatnonzero((row_candidates >= some[0]) & (row_candidates <= some[-1]))
            if len(which):
                places = np.searchsorted(some, row_candidates[which])
                vectors_of_places = [vectors.rows(place, place + 1).values for place in places]
                query = queries[row // QUERIES].rows(row % QUERIES, row % QUERIES + 1)
                documents = MultiVectors.of(vectors_of_places)
                scores[row, which] = maxsim_packed(query, documents)[0] * scale
    return scores


def encoded(
    texts: Vectors,
    numbers: Numbers,
    tokens: int | None,
    batch: Callable[[Numbers], Padded] | None = None,
) -> Arrays:
    """The vectors of texts, by ``batch`` or as is, in batches of a number of padded tokens."""

    def compute(some: Numbers) -> list[Any]:
        with torch.inference_mode():
            return _unpadded(*(batch or texts.batch)(numbers[some]))

    vectors = in_order(texts.lengths(numbers), compute, tokens=tokens, device=texts.device)
    return vars(MultiVectors.of(vectors))


def _unpadded(vectors: torch.Tensor, mask: torch.Tensor) -> list[Floats]:
    rows, is_token = vectors.float().cpu().numpy(), mask.bool().cpu().numpy()
    return [row[which] for row, which in zip(rows, is_token, strict=True)]


@lru_cache(maxsize=2)
def _held(path: Path) -> MultiVectors:
    return MultiVectors(**read_shard(path))


def closed_sets(
    load: Load, device: torch.device, chunks: Callable[[str, int, int, Load, Compute], list[Path]]
) -> ClosedSets:
    """Rank passages for contexts with the current weights.

    ``chunks`` computes arrays (name, number of items, chunk size) and returns files.
    """
    request, files = load(device), dict[str, list[Path]]()
    for part, numbers in request.encoded.items():
        compute = partial(ClosedRequest.encode, part=part)
        files[part] = chunks(part, len(numbers), BLOCK, load, compute)
    ranking = partial(ClosedRequest.rank, files=files)
    ranked = chunks("closed", len(request.contexts), CONTEXTS, load, ranking)
    _held.cache_clear()
    shards = [vars(ClosedSets.load(path)) for path in ranked]
    return ClosedSets(
        **{name: np.concatenate([shard[name] for shard in shards]) for name in shards[0]}
    )
