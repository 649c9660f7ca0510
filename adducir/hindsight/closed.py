"""Closed sets: the first r passages of retriever and guide for each context, with their scores.

The vectors of one part of the passages are held at a time, and the best passages so far; where
contexts have candidates, the scores of these. So memory does not grow with the passages.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from adducir.core.progress import SILENT, Progress
from adducir.encoders.maxsim import MultiVectors, maxsim_packed
from adducir.hindsight.model import Data, Hindsight, Scorer
from adducir.hindsight.samplers import Closed
from adducir.hindsight.vectors import Live, Numbers, Vectors, kept_vectors
from adducir.indexes.candidates import Ranking
from adducir.indexes.candidates.parts import Best
from adducir.indexes.candidates.ranking import rank
from adducir.models.machine import Precision
from adducir.models.precision import computing_in
from adducir.models.shards import Stored

PART = 1 << 15
"""Passages whose vectors are held at a time, 2.5 GB of ColBERT's; a multiple of the parts that
survive a kill."""
_QUERIES = 64
"""Queries that are ranked at a time."""

Floats = NDArray[np.float32]
Ranked = tuple[Numbers, Floats]
"""(n, r) passages and scores, the best first; of equal ones the first in the corpus."""


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


def closed_sets(
    model: Hindsight,
    data: Data,
    contexts: Numbers,
    depth: int,
    *,
    candidates: tuple[Numbers, Numbers] | None = None,
    precision: Precision = "float32",
    part: int = PART,
    parts: Path | None = None,
    progress: Progress = SILENT,
) -> ClosedSets:
    """Rank passages for contexts with the weights as they are.

    Args:
        model: The three parts.
        data: What they read.
        contexts: (n,) numbers of contexts.
        depth: r; fewer where there are fewer passages.
        candidates: (n, c) passages that are scored for each context by the retriever, and by the
            guide; None for all.
        precision: Of the layers that passages go through, where they are trained.
        part: Passages whose vectors are held at a time.
        parts: A folder that keeps passages' vectors, so that a kill loses little.
        progress: Notified of each text whose vectors are computed.
    """
    model.eval()
    of_retriever = data.inputs, data.retriever_passages
    of_guide = data.hindsight, data.guide_passages
    side = partial(_Side, contexts=contexts, precision=precision, parts=parts, progress=progress)
    retriever = side(model.retriever, *of_retriever, "retriever")
    guide = side(model.guide, *of_guide, "guide")
    # The guide begins as the retriever: then both read passages alike, and these are encoded once.
    encoder = retriever if retriever.reads_as(guide) else guide
    if candidates is None:
        of_p, of_q = _best_of_all(retriever, guide, encoder, depth, part, model.add_prior)
        return ClosedSets(contexts, *of_p, *of_q)
    own, others = candidates
    of_prior = [(retriever, others)] if model.add_prior else []
    if encoder is retriever:
        wanted = [(retriever, own), (guide, others), *of_prior]
        of_own, of_others, *prior = _scores(retriever, part, wanted)
    else:
        of_own, *prior = _scores(retriever, part, [(retriever, own), *of_prior])
        (of_others,) = _scores(guide, part, [(guide, others)])
    of_others = sum(prior, of_others)
    return ClosedSets(contexts, *_best(own, of_own, depth), *_best(others, of_others, depth))


class _Side:
    """A scorer with the queries of n contexts, and the passages that it reads.

    Args:
        scorer: P or Q.
        queries: Of all contexts.
        passages: All passages.
        name: Of the passages' vectors in ``parts``.
        contexts: (n,) numbers of contexts.
        precision: Of a trained network, for the passages.
        parts: A folder that keeps them.
        progress: Notified of each text whose vectors are computed.
    """

    def __init__(
        self,
        scorer: Scorer,
        queries: Vectors,
        passages: Vectors,
        name: str,
        contexts: Numbers,
        precision: Precision,
        parts: Path | None,
        progress: Progress,
    ) -> None:
        self.scorer, self.passages, self.name, self.progress = scorer, passages, name, progress
        # Those of a frozen network are made in no time: nothing needs to be kept.
        self.parts = None if scorer.network is None else parts
        self.precision = precision
        self.scale = float(scorer.log_scale.detach().exp())
        self.contexts = len(contexts)
        with torch.inference_mode():
            self.queries = [
                _packed(*scorer.side(queries, contexts[first : first + _QUERIES], "query"))
                for first in range(0, len(contexts), _QUERIES)
            ]

    def encoded(self, numbers: Numbers) -> MultiVectors:
        """The vectors of some passages behind the adapter."""

        def batch(places: Numbers) -> tuple[torch.Tensor, torch.Tensor]:
            # What is kept of a frozen network was computed once, in single precision.
            if self.scorer.network is None:
                return self.scorer.side(self.passages, numbers[places], "document")
            with computing_in(self.precision, self.scorer.network):
                return self.scorer.side(self.passages, numbers[places], "document")

        texts = self.passages.inputs if isinstance(self.passages, Live) else None
        lengths = [16 if texts is None else len(texts[number]) for number in numbers]
        name = f"{self.name}-{numbers[0]}"
        return kept_vectors(batch, lengths, parts=self.parts, name=name, progress=self.progress)

    def of_all(self, vectors: MultiVectors) -> Iterator[Floats]:
        """Scores of all these passages, for some contexts after the other."""
        for queries in self.queries:
            yield maxsim_packed(queries, vectors) * self.scale

    def reads_as(self, other: "_Side") -> bool:
        """Whether both have the same weights and passages."""
        one, two = self.scorer.state_dict(), other.scorer.state_dict()
        mine, theirs = (
            side.passages.inputs if isinstance(side.passages, Live) else side.passages
            for side in (self, other)
        )
        return mine is theirs and all(torch.equal(one[name], two[name]) for name in one)

    def score(self, own: Numbers, some: Numbers, vectors: MultiVectors, scores: Floats) -> None:
        """Write the scores of those candidates whose vectors these are."""
        for row in range(len(own)):
            which = np.flatnonzero((own[row] >= some[0]) & (own[row] <= some[-1]))
            if not len(which):
                continue
            places = np.searchsorted(some, own[row][which])
            each = [vectors.rows(place, place + 1).values for place in places]
            query = self.queries[row // _QUERIES].rows(row % _QUERIES, row % _QUERIES + 1)
            passages = MultiVectors.of(each, vectors.values.shape[1])
            scores[row, which] = maxsim_packed(query, passages)[0] * self.scale


def _scores(encoder: _Side, part: int, wanted: Sequence[tuple[_Side, Numbers]]) -> list[Floats]:
    """The (n, c) scores of each side's (n, c) candidates, all encoded by one of the sides."""
    found = [np.empty(own.shape, dtype=np.float32) for _, own in wanted]
    needed = np.unique(np.concatenate([np.unique(own) for _, own in wanted]))
    for first in range(0, len(needed), part):
        some = needed[first : first + part]
        vectors = encoder.encoded(some)
        for (side, own), scores in zip(wanted, found, strict=True):
            side.score(own, some, vectors, scores)
    return found


def _best_of_all(
    retriever: _Side,
    guide: _Side,
    encoder: _Side,
    depth: int,
    part: int,
    add_prior: bool,
) -> tuple[Ranked, Ranked]:
    """The best of all passages, for retriever and guide; an encoder reads them for the guide."""
    count = len(retriever.passages)
    best = [Best(side.contexts, min(depth, count)) for side in (retriever, guide)]
    for first in range(0, count, part):
        some = np.arange(first, min(first + part, count))
        vectors = retriever.encoded(some)
        best[0].add(_first(retriever.of_all(vectors), depth), first)
        prior = retriever.of_all(vectors) if add_prior else None
        of_guide = vectors if encoder is retriever else encoder.encoded(some)
        scores = guide.of_all(of_guide)
        if prior is not None:
            scores = (one + other for one, other in zip(scores, prior, strict=True))
        best[1].add(_first(scores, depth), first)
    of_p, of_q = (
        (one.ranking.numbers.astype(np.int64), one.ranking.scores.astype(np.float32))
        for one in best
    )
    return of_p, of_q


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
