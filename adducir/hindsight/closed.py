"""Closed sets: the first r passages of retriever and guide for each context, with their scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from adducir.core.progress import SILENT, Progress
from adducir.encoders.maxsim import MultiVectors, maxsim_packed
from adducir.hindsight.model import Data, Hindsight, Scorer
from adducir.hindsight.samplers import Closed
from adducir.hindsight.vectors import Live, Numbers, Vectors, kept_vectors
from adducir.models.shards import read_shard, write_shard

_QUERIES = 64
"""Queries that are ranked at a time."""

Ranked = tuple[Numbers, NDArray[np.float32]]
"""(n, r) passages and scores, the best first; of equal ones the first in the corpus."""


@dataclass(frozen=True)
class ClosedSets:
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

    def save(self, path: Path) -> None:
        """Write them (safetensors)."""
        write_shard(path, dict(vars(self)))

    @classmethod
    def load(cls, path: Path) -> "ClosedSets":
        """Read them.

        Raises:
            ArtifactError: The file is damaged.
        """
        return cls(**read_shard(path))


def closed_sets(
    model: Hindsight,
    data: Data,
    contexts: Numbers,
    depth: int,
    *,
    candidates: tuple[Numbers, Numbers] | None = None,
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
        parts: A folder that keeps passages' vectors, so that a kill loses little.
        progress: Notified of each text whose vectors are computed.
    """
    model.eval()
    own, others = candidates or (None, None)
    # The guide's candidates are scored by the retriever, too, where its score is added.
    needed = np.concatenate(candidates, axis=1) if candidates and model.add_prior else own
    passages = encoded_passages(
        model.retriever, data.retriever_passages, needed, "retriever", parts, progress
    )
    prior = [_Side(model.retriever, data.inputs, passages)]
    of_p, scores_p = _ranked(prior, contexts, depth, own)
    if not model.add_prior:
        prior.clear()
    passages = encoded_passages(model.guide, data.guide_passages, others, "guide", parts, progress)
    guide = _Side(model.guide, data.hindsight, passages)
    of_q, scores_q = _ranked([guide, *prior], contexts, depth, others)
    return ClosedSets(contexts, of_p, scores_p, of_q, scores_q)


def encoded_passages(
    scorer: Scorer,
    passages: Vectors,
    some: Numbers | None,
    name: str,
    parts: Path | None,
    progress: Progress,
) -> MultiVectors:
    """The vectors of all passages behind the adapter; of those that nobody needs, none."""
    needed = np.arange(len(passages)) if some is None else np.unique(some)

    def batch(numbers: Numbers) -> tuple[torch.Tensor, torch.Tensor]:
        return scorer.side(passages, needed[numbers], "document")

    # Those of a frozen network are made in no time: nothing needs to be kept.
    kept = None if scorer.network is None else parts
    texts = passages.inputs if isinstance(passages, Live) else None
    lengths = [16 if texts is None else len(texts[number]) for number in needed]
    made = kept_vectors(batch, lengths, parts=kept, name=name, progress=progress)
    if some is None:
        return made
    counts = np.zeros(len(passages), dtype=np.int64)
    counts[needed] = np.diff(made.starts)
    return MultiVectors(made.values, np.concatenate(([0], np.cumsum(counts))))


@dataclass(frozen=True)
class _Side:
    """A scorer with its queries and all passages."""

    scorer: Scorer
    queries: Vectors
    passages: MultiVectors

    def scores(self, contexts: Numbers, candidates: Numbers | None) -> NDArray[np.float32]:
        """(n, c) scores of each context's own candidates; None for all passages."""
        with torch.inference_mode():
            packed = _packed(*self.scorer.side(self.queries, contexts, "query"))
        if candidates is None:
            found = maxsim_packed(packed, self.passages)
        else:
            found = _scores_of(packed, self.passages, candidates)
        return found * float(self.scorer.log_scale.detach().exp())


def _ranked(
    sides: Sequence[_Side], contexts: Numbers, depth: int, candidates: Numbers | None
) -> Ranked:
    """The best passages by the sum of the sides' scores."""
    numbers, values = [], []
    for first in range(0, len(contexts), _QUERIES):
        some = contexts[first : first + _QUERIES]
        own = None if candidates is None else candidates[first : first + _QUERIES]
        found, *others = (side.scores(some, own) for side in sides)
        found = sum(others, found)
        if own is None:
            order = np.argsort(-found, axis=1, kind="stable")[:, :depth]
            numbers.append(order)
        else:
            order = np.lexsort((own, -found), axis=1)[:, :depth]
            numbers.append(np.take_along_axis(own, order, axis=1))
        values.append(np.take_along_axis(found, order, axis=1).astype(np.float32))
    return np.concatenate(numbers).astype(np.int64), np.concatenate(values)


def _packed(vectors: torch.Tensor, mask: torch.Tensor) -> MultiVectors:
    rows, known = vectors.float().cpu().numpy(), mask.bool().cpu().numpy()
    parts = [row[which] for row, which in zip(rows, known, strict=True)]
    return MultiVectors.of(parts, rows.shape[2])


def _scores_of(
    queries: MultiVectors, passages: MultiVectors, candidates: Numbers
) -> NDArray[np.float32]:
    """(n, c) scores of each query's own candidates."""
    found = np.empty(candidates.shape, dtype=np.float32)
    for row, own in enumerate(candidates):
        parts = [passages.rows(number, number + 1).values for number in own]
        some = MultiVectors.of(parts, passages.values.shape[1])
        found[row] = maxsim_packed(queries.rows(row, row + 1), some)[0]
    return found
