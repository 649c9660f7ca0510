"""In-batch negatives (InfoNCE) that leave out false negatives; see :mod:`.training`."""

from collections.abc import Iterable
from typing import Any

import torch
from sentence_transformers.sentence_transformer.losses import CachedMultipleNegativesRankingLoss
from sentence_transformers.util import (
    all_gather,
    all_gather_with_grad,
    dot_score,
    get_rank,
    get_world_size,
)


class InBatchNegatives(CachedMultipleNegativesRankingLoss):
    """Each context against the batch's spans, except those with the same text as its own."""

    def __init__(self, model: Any, scale: float = 1.0, tokens: int | None = None) -> None:
        super().__init__(model, scale=scale, similarity_fct=dot_score, mini_batch_num_tokens=tokens)

    def calculate_loss(
        self, reps: Any, labels: Any = None, *, with_backward: bool = False
    ) -> torch.Tensor:
        """The mean over this process's contexts; spans that share a label have the same text."""
        contexts, spans = (torch.cat(list(parts)) for parts in reps)
        places, device = torch.arange(len(contexts), device=labels.device), labels.device
        first = 0
        if get_world_size() > 1 and torch.is_grad_enabled():  # all validate the same batches
            counts = all_gather(torch.tensor([len(contexts)], device=device)).tolist()
            spans, labels = (
                torch.cat([rows, rows.new_zeros((max(counts) - len(rows), *rows.shape[1:]))])
                for rows in (spans, labels)
            )
            spans, labels = all_gather_with_grad(spans), all_gather(labels)
            # Batches of processes differ in size.
            kept = torch.cat([torch.arange(max(counts)) < count for count in counts]).to(device)
            spans, labels, first = spans[kept], labels[kept], sum(counts[: get_rank()])
        gold = first + places
        false = labels[gold][:, None] == labels[None, :]
        false[places, gold] = False
        scores = self.similarity_fct(contexts, spans) * self.scale
        loss = torch.nn.functional.cross_entropy(scores.masked_fill(false, -torch.inf), gold)
        if with_backward:
            loss.backward()  # type: ignore[no-untyped-call]
            loss = loss.detach()
        return loss

    def forward(self, sentence_features: Iterable[Any], labels: torch.Tensor) -> torch.Tensor:
        if self.mini_batch_num_tokens is not None:
            return super().forward(sentence_features, labels)
        return self.calculate_loss(
            [[self.model(batch)["sentence_embedding"]] for batch in sentence_features], labels
        )
