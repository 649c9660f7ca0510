"""What a pointwise cross-encoder learns: to tell relevant texts from others, pair by pair.

With one label the loss is binary cross-entropy of the logit, with two it is cross-entropy of the
classes (Nogueira and Cho, 2019); a label between 0 and 1 is a probability of the class "relevant".
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from adducir.models.learning import ExampleLearner
from adducir.rerankers.cross_encoder import CrossEncoder
from adducir.rerankers.examples import Example

if TYPE_CHECKING:
    import torch


class Lesson:
    """Examples as arrays.

    Attributes:
        encoded: What the network reads of each pair.
        labels: (n,) float32.
        lengths: Tokens of each pair.
    """

    def __init__(self, model: CrossEncoder, made: Sequence[Example]) -> None:
        self.encoded = model.encode([(one.query, one.text) for one in made])
        self.labels = np.array([one.label for one in made], dtype=np.float32)
        self.lengths = [len(one) for one in self.encoded]

    def __len__(self) -> int:
        return len(self.encoded)


class RerankerLearner(ExampleLearner[Lesson]):
    """Learns pairs' labels; the losses are the pairs'."""

    def __init__(
        self,
        reranker: CrossEncoder,
        lesson: Lesson,
        held_out: Lesson,
        *,
        batch_size: int,
        seed: int,
    ) -> None:
        super().__init__(reranker.network, lesson, held_out, batch_size=batch_size, seed=seed)
        self._reranker = reranker

    def _losses(self, lesson: Lesson, batch: NDArray[np.int64]) -> "tuple[torch.Tensor, int]":
        import torch

        logits = self._reranker.logits([lesson.encoded[number] for number in batch])
        labels = torch.from_numpy(lesson.labels[batch]).to(logits.device)
        return pair_losses(logits, labels).sum(), len(batch)


def pair_losses(logits: "torch.Tensor", labels: "torch.Tensor") -> "torch.Tensor":
    """The loss of each pair.

    Args:
        logits: (n, 1) or (n, 2).
        labels: (n,) probabilities that a pair is relevant.
    """
    import torch

    if logits.shape[1] == 1:
        losses: torch.Tensor = torch.nn.functional.binary_cross_entropy_with_logits(
            logits[:, 0], labels, reduction="none"
        )
        return losses
    chances = torch.stack([1 - labels, labels], dim=1)
    return torch.nn.functional.cross_entropy(logits, chances, reduction="none")
