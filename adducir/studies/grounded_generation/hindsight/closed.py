"""Closed sets: the first r passages of retriever and guide for each context, with their scores.

The passages are encoded in chunks, then contexts are ranked in chunks: the vectors of one chunk of
passages are held at a time, and the best passages so far; where contexts have candidates, the
scores of these. So memory does not grow with the passages.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from adducir.encoders.maxsim import MultiVectors, maxsim_packed
from adducir.indexes.candidates import Best, Ranking, rank, rank_parts
from adducir.indexes.models import BM25
from adducir.models.arrays import Stored
from adducir.models.machine import Precision, computing_in
from adducir.models.work import Arrays
from adducir.studies.grounded_generation.hindsight.model import Data, Hindsight, Scorer
from adducir.studies.grounded_generation.hindsight.samplers import Closed
from adducir.studies.grounded_generation.hindsight.vectors import Live, Padded, Vectors
from adducir.studies.grounded_generation.hindsight.work import (
    Encodable,
    EncodingWork,
    Making,
    NumberedWork,
    Numbers,
    vectors_in,
)

BLOCK = 8192
"""Texts in a chunk of vectors, whose batches are cut by themselves."""
QUERIES = 64
"""Queries that are ranked at a time."""
CONTEXTS = 8 * QUERIES
"""Contexts in a chunk of closed sets."""
_KEPT_LENGTH = 16
"""What the vectors of a frozen network count as tokens, when an adapter computes them."""

Floats = NDArray[np.float32]
Load = Callable[[torch.device], "ClosedRequest"]


@dataclass(frozen=True)
class Candidates(Stored):
    """(n, c) passages that retriever and guide score for all n contexts, where not all are."""

    retriever: NDArray[np.int32]
    guide: NDArray[np.int32]


def bm25_ranking(
    passages: Sequence[str], queries: Sequence[str], depth: int, *, threads: int | None = None
) -> tuple[NDArray[np.int32], Floats]:
    """(n, depth) passages and scores of BM25 with Anserini's parameters and analysis.

    Passages without a word of the query follow with 0, in the order of the corpus.
    """
    places = {text: place for place, text in enumerate(dict.fromkeys(queries))}
    rows = [places[text] for text in queries]  # most contexts share their input with others
    found = rank_parts(passages, list(places), BM25(), depth, threads=threads)
    return found.numbers[rows], found.scores.astype(np.float32)[rows]


@dataclass(frozen=True)
class ClosedSets(Stored):
    """Closed sets of n contexts.

    Attributes:
        contexts: (n,) numbers of the contexts.
        retriever: (n, r) passages of the retriever's lists.
        retriever_scores: (n, r).
        guide: (n, r) passages of the guide's lists.
        guide_scores: (n, r).
    """

    contexts: Numbers
    retriever: Numbers
    retriever_scores: Floats
    guide: Numbers
    guide_scores: Floats

    def of(self, row: int) -> Closed:
        """The lists of one of the contexts."""
        return Closed(
            self.retriever[row],
            self.retriever_scores[row].astype(np.float64),
            self.guide[row],
            self.guide_scores[row].astype(np.float64),
        )

    def split(self, count: int) -> tuple["ClosedSets", "ClosedSets"]:
        """Those of the first contexts, and the others."""
        values = vars(self).values()
        first, rest = (one[:count] for one in values), (one[count:] for one in values)
        return ClosedSets(*first), ClosedSets(*rest)


@dataclass(frozen=True)
class ClosedRequest:
    """What closed sets are made of: weights as they are, contexts and passages.

    Attributes:
        model: The three parts, of which the generator takes no part.
        data: What they read.
        contexts: (n,) numbers of contexts.
        depth: r; fewer where there are fewer passages.
        candidates: What is scored for all contexts; None: every passage.
        precision: Of the layers that passages go through, where they are trained.
    """

    model: Hindsight
    data: Data
    contexts: Numbers
    depth: int
    candidates: Candidates | None = None
    precision: Precision = "float32"

    @cached_property
    def encoded_by(self) -> Mapping[str, str]:
        """Which part encodes the passages of each: the guide begins as the retriever."""
        one, two = self.model.retriever.state_dict(), self.model.guide.state_dict()
        mine, theirs = (
            vectors.inputs if isinstance(vectors, Live) else vectors
            for vectors in (self.data.retriever_passages, self.data.guide_passages)
        )
        same = mine is theirs and all(torch.equal(one[name], two[name]) for name in one)
        return {"retriever": "retriever", "guide": "retriever" if same else "guide"}

    @cached_property
    def encoded(self) -> Mapping[str, Numbers]:
        """By part, the passages that it encodes, rising."""
        found: dict[str, Numbers] = {}
        for part, encoder in self.encoded_by.items():
            own = np.arange(len(self.data.retriever_passages))
            if self.candidates is not None:
                own = np.unique(getattr(self.candidates, part)[self.contexts])
            found[encoder] = np.union1d(found.get(encoder, own), own).astype(np.int64)
        return found

    def encodable(self, part: str) -> Encodable:
        """The passages that a part encodes."""
        scorer: Scorer = getattr(self.model.eval(), part)
        passages: Vectors = getattr(self.data, f"{part}_passages")
        numbers = self.encoded[part]

        def batch(places: Numbers) -> Padded:
            # What is kept of a frozen network was computed once, in single precision.
            if scorer.network is None:
                return scorer.side(passages, numbers[places], "document")
            with computing_in(self.precision, scorer.network):
                return scorer.side(passages, numbers[places], "document")

        def lengths(places: Numbers) -> list[int]:
            if isinstance(passages, Live):
                return passages.lengths(numbers[places])
            return [_KEPT_LENGTH] * len(places)

        device = None if scorer.network is None else scorer.network.device
        return Encodable(lengths, batch, device)

    def ranked(self, rows: Numbers, vectors: Callable[[str], Iterable[MultiVectors]]) -> ClosedSets:
        """The closed sets of some of the contexts, by their places.

        Which of them are ranked together decides the last digits of scores, but for whole runs of
        :data:`QUERIES` contexts.
        """
        contexts, found = self.contexts[rows], list[Any]()
        queries = {"retriever": self.data.inputs, "guide": self.data.hindsight}
        for part, encoder in self.encoded_by.items():
            side = _Side(getattr(self.model.eval(), part), queries[part], contexts)
            if self.candidates is None:
                found += side.best_of_all(vectors(encoder), self.depth)
            else:
                own = getattr(self.candidates, part)[contexts].astype(np.int64)
                found += side.best_of(vectors(encoder), self.encoded[encoder], own, self.depth)
        return ClosedSets(contexts, *found)


class _Side:
    """A scorer with the queries of n contexts; its lists are (n, r) passages and scores.

    The best come first, of equal ones the first in the corpus.
    """

    def __init__(self, scorer: Scorer, queries: Vectors, contexts: Numbers) -> None:
        self.scale = float(scorer.log_scale.detach().exp())
        with torch.inference_mode():
            self.queries = [
                _packed(*scorer.side(queries, contexts[first : first + QUERIES], "query"))
                for first in range(0, len(contexts), QUERIES)
            ]

    def best_of_all(self, parts: Iterable[MultiVectors], depth: int) -> tuple[Numbers, Floats]:
        best, first = Best(sum(map(len, self.queries)), depth), 0
        for vectors in parts:
            each = [
                rank((maxsim_packed(some, vectors) * self.scale).astype(np.float64), depth)
                for some in self.queries
            ]
            numbers = np.concatenate([one.numbers for one in each])
            best.add(Ranking(numbers, np.concatenate([one.scores for one in each])), first)
            first += len(vectors)
        found = best.ranking
        return found.numbers.astype(np.int64), found.scores.astype(np.float32)

    def best_of(
        self, parts: Iterable[MultiVectors], numbers: Numbers, candidates: Numbers, depth: int
    ) -> tuple[Numbers, Floats]:
        """The best of each context's candidates; ``numbers`` are the passages of the parts."""
        scores, first = np.empty(candidates.shape, dtype=np.float32), 0
        for vectors in parts:
            some = numbers[first : first + len(vectors)]
            first += len(vectors)
            for row, own in enumerate(candidates):
                which = np.flatnonzero((own >= some[0]) & (own <= some[-1]))
                if len(which):
                    places = np.searchsorted(some, own[which])
                    each = [vectors.rows(place, place + 1).values for place in places]
                    query = self.queries[row // QUERIES].rows(row % QUERIES, row % QUERIES + 1)
                    documents = MultiVectors.of(each, vectors.values.shape[1])
                    scores[row, which] = maxsim_packed(query, documents)[0] * self.scale
        order = np.lexsort((candidates, -scores), axis=1)[:, :depth]
        best = np.take_along_axis(candidates, order, axis=1)
        return best, np.take_along_axis(scores, order, axis=1)


def _packed(vectors: torch.Tensor, mask: torch.Tensor) -> MultiVectors:
    rows, known = vectors.float().cpu().numpy(), mask.bool().cpu().numpy()
    parts = [row[which] for row, which in zip(rows, known, strict=True)]
    return MultiVectors.of(parts, rows.shape[2])


@dataclass(frozen=True, kw_only=True)
class _Ranking(NumberedWork[ClosedRequest]):
    """The closed sets of contexts, from files of vectors by the part that encodes them."""

    doing: ClassVar[str] = "ranking"
    unit: ClassVar[str] = "contexts"
    vectors: Mapping[str, Sequence[Path]]

    def identity(self) -> Mapping[str, Any]:
        names = {part: [path.name for path in paths] for part, paths in self.vectors.items()}
        return {**super().identity(), "vectors": names}

    def arrays(self, source: ClosedRequest, items: Sequence[int]) -> Arrays:
        parts = lambda name: map(_held, self.vectors[name])  # noqa: E731
        return vars(source.ranked(np.array(items, dtype=np.int64), parts))


@lru_cache(maxsize=2)
def _held(path: Path) -> MultiVectors:
    return vectors_in(path)


def _encodable(load: Load, part: str, device: torch.device) -> Encodable:
    return load(device).encodable(part)


def closed_sets(request: ClosedRequest, load: Load, how: Making) -> ClosedSets:
    """Rank passages for contexts with the weights as they are.

    Args:
        load: Gives another process what ``request`` is here.

    Raises:
        IncompleteError, MachineError, ArtifactError: See :func:`.make_chunks`.
    """
    vectors: dict[str, list[Path]] = {}
    with ExitStack() as stack:
        for part, numbers in request.encoded.items():
            encoding = EncodingWork.of(
                request.encodable(part),
                partial(_encodable, load, part),
                len(numbers),
                BLOCK,
                how,
                name=part,
            )
            vectors[part] = stack.enter_context(encoding.files(how.chunking, keep=bool(vectors)))
        ranking = _Ranking.of(request, load, len(request.contexts), CONTEXTS, how, vectors=vectors)
        files = stack.enter_context(ranking.files(how.chunking, keep=True))
        stack.callback(_held.cache_clear)
        each = [vars(ClosedSets.load(path)) for path in files]
    return ClosedSets(**{name: np.concatenate([one[name] for one in each]) for name in each[0]})
