"""Batches of examples as one matrix of scores, for models that encode queries and texts apart.

A row of the training data is a query and its candidates: positives, then hard negatives. A step
draws one positive and some negatives of each row; every query of the batch is then scored against
every candidate. Batches larger than memory are computed in pieces with the same gradient
(GradCache, Gao et al., 2021) by sentence-transformers. With several processes, a query is scored
against the candidates of all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers.base.losses.gradcache import CachedLossMixin
from sentence_transformers.util import all_gather, all_gather_with_grad, get_rank, get_world_size

from adducir.training.data import drawn
from adducir.training.losses import Loss, ScoredBatch

ROW = {
    "query": "[int32]",  # token ids
    "texts": "[int32]",  # token ids of all candidates, one after the other
    "lengths": "[int32]",  # of each candidate
    "same": "[int64]",  # a number per candidate; the same for equal texts
    "positives": "int32",  # how many candidates are positives; they come first
    "scores": "[float32]",  # a teacher's, of each candidate; empty without
    "asks": "int64",  # a number shared by equal queries
    "group": "int32",
}
"""The columns of the rows, for :func:`adducir.training.data.stored`."""

Features = dict[str, Any]
PASS_TOKENS = 16_384, 512
"""The fewest tokens that are worth a pass of their own, on an accelerator and on CPUs."""


@dataclass(frozen=True)
class CandidateFacts:
    """What is known of a batch's C candidates and Q queries besides their tokens.

    Attributes:
        row: (C,) the query that a candidate belongs to; its first is its positive.
        same: (C,) a number per text; the same for equal texts.
        teacher: (C,) a teacher's scores, NaN where there is none.
        relevant: (Q, P) the texts' numbers of all positives of a query, repeated to fill the row.
        asks: (Q,) a number shared by equal queries.
    """

    row: torch.Tensor
    same: torch.Tensor
    teacher: torch.Tensor
    relevant: torch.Tensor
    asks: torch.Tensor

    @classmethod
    def of(cls, batch: Mapping[str, torch.Tensor]) -> "CandidateFacts":
        return cls(*(batch[name] for name in cls.__dataclass_fields__))


def packed(
    rows: Sequence[Mapping[str, Any]], most: int, seed: int, epoch: int | None
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]], dict[str, torch.Tensor]]:
    """Token ids of a batch's queries and candidates, and the fields of :class:`CandidateFacts`.

    Args:
        rows: Rows with the columns of :data:`ROW`.
        most: The maximum number of negatives per query.
        seed: For what is drawn.
        epoch: The epoch; None for validation.
    """
    texts, row, same, teacher = (list[Any]() for _ in range(4))
    for number, columns in enumerate(rows):
        chosen, scores = drawn(columns, most, seed, epoch)
        ids = np.split(columns["texts"].astype(np.int64), np.cumsum(columns["lengths"])[:-1])
        texts += [ids[place] for place in chosen]
        row += [number] * len(chosen)
        same += [columns["same"][chosen]]
        teacher += [scores]
    relevant = [columns["same"][: int(columns["positives"])] for columns in rows]
    widest = max(map(len, relevant))
    return (
        [columns["query"].astype(np.int64) for columns in rows],
        texts,
        {
            "row": torch.tensor(row),
            "same": torch.from_numpy(np.concatenate(same).astype(np.int64)),
            "teacher": torch.from_numpy(np.concatenate(teacher).astype(np.float32)),
            "relevant": torch.from_numpy(
                np.stack([np.pad(some, (0, widest - len(some)), "edge") for some in relevant])
            ),
            "asks": torch.tensor([int(columns["asks"]) for columns in rows]),
        },
    )


@dataclass(eq=False)
class MatrixLoss(CachedLossMixin):
    """A loss of the matrix of a batch, computed at once or in pieces."""

    model: Callable[[Features], Any]  # vectors of some texts, as {"sentence_embedding": (n, ...)}
    score: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # (Q, C), with gradient
    loss: Loss
    temperature: float = 1.0  # divides the scores unless the loss has its own
    mini_batch_num_tokens: int | None = None  # of a piece; None: all at once
    by_length: bool = False  # whether pieces have texts of similar lengths
    regulariser: Callable[[torch.Tensor, torch.Tensor], Any] | None = None  # of vectors, added
    mini_batch_size: int = 1
    _orders: list[torch.Tensor] = field(default_factory=list)

    def __call__(
        self, queries: Features, texts: Features, candidates: CandidateFacts
    ) -> torch.Tensor:
        """The mean over this process's queries."""
        known: Any = candidates
        sides = [queries, texts]
        if self.by_length:
            lengths = [side["attention_mask"].sum(1) for side in sides]
            self._orders = [length.argsort(descending=True, stable=True) for length in lengths]
            sides = [
                {k: v[order] if isinstance(v, torch.Tensor) else v for k, v in side.items()}
                for side, order in zip(sides, self._orders, strict=True)
            ]
        if self.mini_batch_num_tokens is not None:
            return self.forward_cached(sides, known)
        return self.calculate_loss([self._embedded(side) for side in sides], known)

    def _embedded(self, side: Features) -> list[torch.Tensor]:
        if not self.by_length:
            return [self.model(side)["sentence_embedding"]]
        least = PASS_TOKENS[side["input_ids"].device.type == "cpu"]
        ranges = similar(side["attention_mask"].sum(1).tolist(), least)
        with_grad = torch.is_grad_enabled()
        return [
            self.embed_minibatch(side, *ends, with_grad, copy_random_state=False)[0]
            for ends in ranges
        ]

    def calculate_loss(
        self, reps: Any, labels: Any = None, *, with_backward: bool = False
    ) -> torch.Tensor:
        queries, texts = (_joined(parts) for parts in reps)
        if self.by_length:  # in their order again
            queries, texts = (
                vectors[order.argsort()]
                for vectors, order in zip((queries, texts), self._orders, strict=True)
            )
        penalty = self.regulariser(queries, texts) if self.regulariser else 0.0
        loss = self.loss(self._matrix(queries, texts, labels)) + penalty
        if with_backward:
            loss.backward()  # type: ignore[no-untyped-call]
            loss = loss.detach()
        return loss

    def _matrix(
        self, queries: torch.Tensor, texts: torch.Tensor, known: CandidateFacts
    ) -> ScoredBatch:
        device = queries.device
        is_first = torch.diff(known.row, prepend=known.row.new_tensor([-1])) != 0
        # Positives of an equal query are relevant to this one, too.
        answers = torch.where(is_first, known.asks[known.row], known.row.new_tensor(-1))
        row, same, teacher = known.row, known.same, known.teacher
        positive = is_first.nonzero()[:, 0]
        if self.loss.in_batch and get_world_size() > 1 and torch.is_grad_enabled():
            # All processes validate the same batches.
            counts = all_gather(torch.tensor([len(texts)], device=device)).tolist()
            own = row.new_full((sum(counts),), -1)
            silent = teacher.new_full((sum(counts),), torch.nan)
            first = sum(counts[: get_rank()])
            own[first : first + len(row)] = row
            silent[first : first + len(row)] = teacher
            texts, same, answers = (_gathered(values, counts) for values in (texts, same, answers))
            row, teacher, positive = own, silent, positive + first
        places = torch.arange(len(queries), device=device)
        false = answers == known.asks[:, None]
        for relevant in known.relevant.T:
            false |= same == relevant[:, None]
        # Nor is another copy of such a text a negative.
        different, text = torch.unique(same, return_inverse=True)
        queries_of, columns = false.nonzero(as_tuple=True)
        by_text = false.new_zeros((len(queries), len(different)))
        by_text[queries_of, text[columns]] = True
        false |= by_text[:, text]
        false[places, positive] = False
        mine = row == places[:, None]
        taught = teacher.where(mine, torch.nan)
        is_taught = not bool(teacher.isnan().all())
        return ScoredBatch(
            scores=self.score(queries, texts),
            positive=positive,
            own=mine,
            false=false,
            teacher=taught if is_taught else None,
            temperature=self.temperature,
        )


def similar(lengths: Sequence[int], least: int) -> list[tuple[int, int]]:
    """Ranges of descending lengths, the shortest of each at least four fifths of the longest.

    A range with fewer than ``least`` tokens is not worth a pass of its own, and goes on.
    """
    starts = [0]
    for place, length in enumerate(lengths):
        longest = lengths[starts[-1]]
        if 5 * length < 4 * longest and (place - starts[-1]) * longest >= least:
            starts.append(place)
    return [*pairwise([*starts, len(lengths)])]


def _joined(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """Pieces of a batch; of vectors per token, shorter ones are filled with zeros."""
    longest = max(part.shape[1] for part in parts)
    return torch.cat([_filled(part, longest, 1) for part in parts])


def _filled(values: torch.Tensor, size: int, dim: int) -> torch.Tensor:
    shape = [*values.shape]
    if shape[dim] == size:
        return values
    shape[dim] = size - shape[dim]
    return torch.cat([values, values.new_zeros(shape)], dim=dim)


def _gathered(values: torch.Tensor, counts: Sequence[int]) -> torch.Tensor:
    """The rows of all processes, whose batches differ in size."""
    if values.ndim > 2:
        widths = all_gather(torch.tensor([values.shape[1]], device=values.device))
        values = _filled(values, int(widths.max()), 1)
    values = _filled(values, max(counts), 0)
    every = all_gather_with_grad(values) if values.is_floating_point() else all_gather(values)
    kept = torch.cat([torch.arange(max(counts)) < count for count in counts])
    return every[kept.to(values.device)]


def shuffled(
    groups: NDArray[np.integer[Any]], size: int, draw: np.random.Generator, *, by_group: bool
) -> list[NDArray[np.int64]]:
    """Batches of rows in random order, split evenly; ``by_group``: of one group each.

    Rows alone in their group, which would lack negatives, are put together.
    """
    if not by_group:
        return _cut(draw.permutation(len(groups)), size)
    _, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    order = np.argsort(codes, kind="stable")
    members = np.split(order, np.cumsum(counts)[:-1])
    alone = np.concatenate([np.zeros(0, dtype=np.int64), *(m for m in members if len(m) == 1)])
    batches = [
        batch
        for some in (*(m for m in members if len(m) > 1), alone)
        for batch in _cut(draw.permutation(some), size)
    ]
    return [batches[number] for number in draw.permutation(len(batches))]


def _cut(items: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    count = -(-len(items) // size)
    return np.array_split(items, count) if count else []
