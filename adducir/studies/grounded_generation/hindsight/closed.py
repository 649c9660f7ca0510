"""Closed sets: the first r passages of retriever and guide for each context, with their scores.

The passages are encoded in shards, then contexts are ranked in shards (:mod:`.closed_work`): of the
passages' vectors one part is held at a time, and the best passages so far; where contexts have
candidates, the scores of these. So memory does not grow with the passages.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from adducir.encoders.maxsim import MultiVectors, maxsim_packed
from adducir.indexes.candidates import Best, Ranking, rank
from adducir.models.arrays import Stored
from adducir.models.machine import Precision, computing_in
from adducir.studies.grounded_generation.hindsight.model import Data, Hindsight, Scorer
from adducir.studies.grounded_generation.hindsight.samplers import Closed
from adducir.studies.grounded_generation.hindsight.token_work import Inputs, Readable
from adducir.studies.grounded_generation.hindsight.vectors import Live, Numbers, Padded, Vectors

QUERIES = 64
"""Queries that are ranked at a time."""

Floats = NDArray[np.float32]
Ranked = tuple[Numbers, Floats]
"""(n, r) passages and scores, the best first; of equal ones the first in the corpus."""
Parts = Callable[[str], Iterator[MultiVectors]]
"""The vectors of a side's passages, a part at a time."""


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
    retriever_scores: NDArray[np.float32]
    guide: Numbers
    guide_scores: NDArray[np.float32]

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
        return (
            ClosedSets(*(one[:count] for one in values)),
            ClosedSets(*(one[count:] for one in values)),
        )

    @classmethod
    def joined(cls, each: "Sequence[ClosedSets]") -> "ClosedSets":
        """Those of several contexts, one behind the other."""
        values = zip(*(vars(one).values() for one in each), strict=True)
        return cls(*(np.concatenate(some) for some in values))


@dataclass(frozen=True)
class ClosedRequest:
    """What closed sets are made of: weights as they are, contexts and passages.

    Attributes:
        model: The three parts, of which the generator takes no part.
        data: What they read.
        contexts: (n,) numbers of contexts.
        depth: r; fewer where there are fewer passages.
        candidates: (n, c) passages that are scored for each context by the retriever, and by the
            guide; None for all.
        precision: Of the layers that passages go through, where they are trained.
    """

    model: Hindsight
    data: Data
    contexts: Numbers
    depth: int
    candidates: tuple[Numbers, Numbers] | None = None
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        self.model.eval()

    @cached_property
    def guide_reads_as_retriever(self) -> bool:
        """Whether both have the same weights and passages: the guide begins as the retriever."""
        one, two = self.model.retriever.state_dict(), self.model.guide.state_dict()
        mine, theirs = (
            vectors.inputs if isinstance(vectors, Live) else vectors
            for vectors in (self.data.retriever_passages, self.data.guide_passages)
        )
        return mine is theirs and all(torch.equal(one[name], two[name]) for name in one)

    @cached_property
    def passages(self) -> Mapping[str, Readable]:
        """The passages that are encoded, by the side that does so."""
        if self.guide_reads_as_retriever:
            return {"retriever": self._read_by_retriever(self._needed("retriever", "guide"))}
        sides = ("retriever", "guide") if self.model.add_prior else ("retriever",)
        guide = self.model.guide, self.data.guide_passages, self._needed("guide")
        return {
            "retriever": self._read_by_retriever(self._needed(*sides)),
            "guide": _readable(*guide, self.precision),
        }

    def _read_by_retriever(self, numbers: Numbers) -> Readable:
        scorer, passages = self.model.retriever, self.data.retriever_passages
        return _readable(scorer, passages, numbers, self.precision)

    def _needed(self, *sides: str) -> Numbers:
        """The passages that are scored by any of these sides, rising."""
        if self.candidates is None:
            return np.arange(len(self.data.retriever_passages))
        own = dict(zip(("retriever", "guide"), self.candidates, strict=True))
        return np.unique(np.concatenate([np.unique(own[side]) for side in sides]))

    def ranked(self, rows: Numbers, parts: Parts) -> ClosedSets:
        """The closed sets of some of the contexts, by their places.

        Which of them are ranked together decides the last digits of scores, but for whole runs of
        :data:`QUERIES` contexts.
        """
        model, data, contexts = self.model, self.data, self.contexts[rows]
        retriever = _Side(model.retriever, data.inputs, contexts)
        guide = _Side(model.guide, data.hindsight, contexts)
        if self.candidates is None:
            of_p, of_q = self._best_of_all(retriever, guide, parts)
        else:
            own, others = (one[rows] for one in self.candidates)
            of_own, of_others = self._scores(retriever, guide, own, others, parts)
            of_p, of_q = _best(own, of_own, self.depth), _best(others, of_others, self.depth)
        return ClosedSets(contexts, *of_p, *of_q)

    def _scores(
        self, retriever: "_Side", guide: "_Side", own: Numbers, others: Numbers, parts: Parts
    ) -> tuple[Floats, Floats]:
        """The (n, c) scores of each side's candidates."""
        wanted = [_Wanted("retriever", retriever, own)]
        encoder = "retriever" if self.guide_reads_as_retriever else "guide"
        wanted.append(_Wanted(encoder, guide, others))
        if self.model.add_prior:
            wanted.append(_Wanted("retriever", retriever, others))
        found = [np.empty(one.candidates.shape, dtype=np.float32) for one in wanted]
        for name, texts in self.passages.items():
            first = 0
            for vectors in parts(name):
                some = texts.numbers[first : first + len(vectors)]
                first += len(vectors)
                for one, scores in zip(wanted, found, strict=True):
                    if one.encoder == name:
                        one.side.score(one.candidates, some, vectors, scores)
        of_own, of_others, *prior = found
        return of_own, sum(prior, of_others)

    def _best_of_all(
        self, retriever: "_Side", guide: "_Side", parts: Parts
    ) -> tuple[Ranked, Ranked]:
        """The best of all passages, for retriever and guide."""
        depth, count, first = self.depth, len(self.data.retriever_passages), 0
        best = [Best(len(side), min(depth, count)) for side in (retriever, guide)]
        of_guide = None if self.guide_reads_as_retriever else parts("guide")
        for vectors in parts("retriever"):
            best[0].add(_first(retriever.of_all(vectors), depth), first)
            scores = guide.of_all(vectors if of_guide is None else next(of_guide))
            if self.model.add_prior:
                prior = retriever.of_all(vectors)
                scores = (one + other for one, other in zip(scores, prior, strict=True))
            best[1].add(_first(scores, depth), first)
            first += len(vectors)
        of_p, of_q = (
            (one.ranking.numbers.astype(np.int64), one.ranking.scores.astype(np.float32))
            for one in best
        )
        return of_p, of_q


def _readable(
    scorer: Scorer, passages: Vectors, numbers: Numbers, precision: Precision
) -> Readable:
    """Passages whose vectors behind the adapter can be computed."""

    def batch(some: Numbers) -> Padded:
        # What is kept of a frozen network was computed once, in single precision.
        if scorer.network is None:
            return scorer.side(passages, some, "document")
        with computing_in(precision, scorer.network):
            return scorer.side(passages, some, "document")

    def lengths(some: Numbers) -> list[int]:
        if isinstance(passages, Live):
            return [len(passages.inputs[number]) for number in some]
        return [16] * len(some)

    def read(some: Numbers) -> Inputs:
        return Inputs(lengths(some), lambda places: batch(some[places]))

    return Readable(read, numbers)


class _Side:
    """A scorer with the queries of n contexts.

    Args:
        scorer: P or Q.
        queries: Of all contexts.
        contexts: (n,) numbers of contexts.
    """

    def __init__(self, scorer: Scorer, queries: Vectors, contexts: Numbers) -> None:
        self.scale = float(scorer.log_scale.detach().exp())
        self.contexts = len(contexts)
        with torch.inference_mode():
            self.queries = [
                _packed(*scorer.side(queries, contexts[first : first + QUERIES], "query"))
                for first in range(0, len(contexts), QUERIES)
            ]

    def __len__(self) -> int:
        return self.contexts

    def of_all(self, vectors: MultiVectors) -> Iterator[Floats]:
        """Scores of all these passages, for some contexts after the other."""
        for queries in self.queries:
            yield maxsim_packed(queries, vectors) * self.scale

    def score(self, own: Numbers, some: Numbers, vectors: MultiVectors, scores: Floats) -> None:
        """Write the scores of those candidates whose vectors these are."""
        for row in range(len(own)):
            which = np.flatnonzero((own[row] >= some[0]) & (own[row] <= some[-1]))
            if not len(which):
                continue
            places = np.searchsorted(some, own[row][which])
            each = [vectors.rows(place, place + 1).values for place in places]
            query = self.queries[row // QUERIES].rows(row % QUERIES, row % QUERIES + 1)
            passages = MultiVectors.of(each, vectors.values.shape[1])
            scores[row, which] = maxsim_packed(query, passages)[0] * self.scale


class _Wanted(NamedTuple):
    """The candidates that a side scores, and which side encodes them."""

    encoder: str
    side: _Side
    candidates: Numbers


def _first(scores: Iterator[Floats], depth: int) -> Ranking:
    """The best passages of a part."""
    each = [rank(one.astype(np.float64), depth) for one in scores]
    numbers = np.concatenate([one.numbers for one in each])
    return Ranking(numbers, np.concatenate([one.scores for one in each]))


def _best(candidates: Numbers, scores: Floats, depth: int) -> Ranked:
    """The best candidates; of equal ones the first in the corpus."""
    order = np.lexsort((candidates, -scores), axis=1)[:, :depth]
    numbers = np.take_along_axis(candidates, order, axis=1).astype(np.int64)
    return numbers, np.take_along_axis(scores, order, axis=1)


def _packed(vectors: torch.Tensor, mask: torch.Tensor) -> MultiVectors:
    rows, known = vectors.float().cpu().numpy(), mask.bool().cpu().numpy()
    parts = [row[which] for row, which in zip(rows, known, strict=True)]
    return MultiVectors.of(parts, rows.shape[2])
