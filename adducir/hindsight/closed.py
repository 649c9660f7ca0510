"""Closed sets: the first r passages of retriever and guide for each context, with their scores."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from adducir.core.progress import SILENT, Progress
from adducir.encoders.maxsim import MultiVectors, maxsim_packed
from adducir.hindsight.model import Data, Hindsight, Scorer
from adducir.hindsight.samplers import Closed
from adducir.hindsight.vectors import Numbers, Vectors, kept_vectors
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
    found: list[Ranked] = []
    sides = (
        ("retriever", model.retriever, data.inputs, data.retriever_passages),
        ("guide", model.guide, data.hindsight, data.guide_passages),
    )
    for number, (name, scorer, queries, passages) in enumerate(sides):
        some = None if candidates is None else candidates[number]
        encoded = encoded_passages(scorer, passages, some, name, parts, progress)
        found.append(_ranked(scorer, queries, contexts, encoded, depth, some))
    if model.add_prior:
        found[1] = _with_prior(model, data, contexts, found[1])
    (of_p, scores_p), (of_q, scores_q) = found
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
    lengths = [16] * len(needed)
    made = kept_vectors(batch, lengths, parts=kept, name=name, progress=progress)
    if some is None:
        return made
    counts = np.zeros(len(passages), dtype=np.int64)
    counts[needed] = np.diff(made.starts)
    return MultiVectors(made.values, np.concatenate(([0], np.cumsum(counts))))


def _ranked(
    scorer: Scorer,
    queries: Vectors,
    contexts: Numbers,
    passages: MultiVectors,
    depth: int,
    candidates: Numbers | None,
) -> Ranked:
    depth = min(depth, len(passages))
    scale = float(scorer.log_scale.detach().exp())
    numbers, values = [], []
    for first in range(0, len(contexts), _QUERIES):
        some = contexts[first : first + _QUERIES]
        with torch.inference_mode():
            vectors, mask = scorer.side(queries, some, "query")
        packed = _packed(vectors, mask)
        if candidates is None:
            found = maxsim_packed(packed, passages) * scale
            places = np.argsort(-found, axis=1, kind="stable")[:, :depth]
            numbers.append(places)
        else:
            own = candidates[first : first + _QUERIES]
            found = _scores_of(packed, passages, own) * scale
            order = np.lexsort((own, -found), axis=1)[:, :depth]
            places = order
            numbers.append(np.take_along_axis(own, order, axis=1))
        values.append(np.take_along_axis(found, places, axis=1).astype(np.float32))
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


def _with_prior(model: Hindsight, data: Data, contexts: Numbers, ranked: Ranked) -> Ranked:
    """The guide's list with the retriever's scores added, in that order."""
    passages, scores = ranked
    values = scores.astype(np.float64)
    with torch.inference_mode():
        for first in range(0, len(contexts), _QUERIES):
            some = slice(first, first + _QUERIES)
            prior = model.compute(data, contexts[some], passages[some], {"retriever"}).retriever
            if prior is not None:
                values[some] += prior.cpu().numpy()
    order = np.argsort(-values, axis=1, kind="stable")
    values = np.take_along_axis(values, order, axis=1)
    return np.take_along_axis(passages, order, axis=1), values.astype(np.float32)
