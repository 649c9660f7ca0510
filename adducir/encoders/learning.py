"""What an encoder learns: to put a context nearer to its own span than to others of its batch."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.checkpoint import checkpoint

from adducir.corpora.spans.record import MaskedSpan
from adducir.encoders.contrast import contrast
from adducir.encoders.model import DualEncoder, Tower
from adducir.encoders.reading import Ids
from adducir.encoders.recipe import BatchPart
from adducir.encoders.sampling import Batches, grouped_batches, random_batches
from adducir.models.batches import token_batches
from adducir.models.machine import seed_of

_VALIDATION = "validation"


class Lesson:
    """Spans as token ids.

    Attributes:
        contexts: Of each span's context.
        spans: Of each span.
        same: (n,) numbers, equal for spans of equal text, or of the same candidate.
        groups: The group of each.
    """

    def __init__(self, encoder: DualEncoder, spans: Sequence[MaskedSpan]) -> None:
        self.contexts = encoder.read_contexts(spans)
        self.spans = encoder.read_documents([span.text for span in spans])
        self.same = equal_spans(spans)
        self.groups = [span.group for span in spans]

    def __len__(self) -> int:
        return len(self.spans)

    def batches(self, part: BatchPart, size: int, seed: int) -> Batches:
        """The numbers of the spans of each batch."""
        if part.by == "group":
            return grouped_batches(self.groups, size, seed)
        return random_batches(len(self), size, seed)


def equal_spans(spans: Sequence[MaskedSpan]) -> NDArray[np.int64]:
    """(n,) numbers, equal for spans that answer each other's contexts: of equal text."""
    numbers: dict[str, int] = {}
    texts = (" ".join(span.text.split()) for span in spans)
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)


class EncoderLearner:
    """Training spans, held-out spans, and the loss.

    Attributes:
        model: The encoder.
    """

    def __init__(
        self,
        encoder: DualEncoder,
        lesson: Lesson,
        held_out: Lesson,
        *,
        batches: BatchPart,
        batch_size: int,
        temperature: float,
        seed: int,
    ) -> None:
        self.model: torch.nn.Module = encoder
        self._encoder, self._lesson, self._held_out = encoder, lesson, held_out
        self._part, self._size, self._seed = batches, batch_size, seed
        self._temperature = temperature

    def batches(self, epoch: int) -> Batches:
        """The numbers of the spans of each step."""
        return self._lesson.batches(self._part, self._size, seed_of(self._seed, "epoch", epoch))

    def size(self, batch: NDArray[np.int64]) -> int:
        """How many spans a batch has."""
        return len(batch)

    def loss(self, batch: NDArray[np.int64]) -> torch.Tensor:
        """The contrast within the batch."""
        return self._contrast(self._lesson, batch)

    def validate(self) -> float | None:
        """The mean contrast of the held-out spans, in batches that are always the same ones."""
        if not len(self._held_out):
            return None
        seed = seed_of(self._seed, _VALIDATION)
        total = 0.0
        for batch in self._held_out.batches(self._part, self._size, seed):
            total += float(self._contrast(self._held_out, batch)) * len(batch)
        return total / len(self._held_out)

    def _contrast(self, lesson: Lesson, batch: NDArray[np.int64]) -> torch.Tensor:
        contexts = self._vectors(self._encoder.query, lesson.contexts, batch)
        spans = self._vectors(self._encoder.document, lesson.spans, batch)
        same = torch.from_numpy(lesson.same[batch]).to(spans.device)
        return contrast(contexts, spans, same, self._temperature)

    def _vectors(
        self, tower: Tower, inputs: Sequence[Ids], batch: NDArray[np.int64]
    ) -> torch.Tensor:
        """Vectors of a batch, with gradient; computed in pieces where it is large."""
        chosen = [inputs[number] for number in batch]
        lengths = [len(one) for one in chosen]
        limit = self._part.at_once
        if limit is None or max(lengths) * len(lengths) <= limit:
            return tower.forward(chosen)
        pieces = token_batches(lengths, limit)
        found: list[torch.Tensor] = []
        for numbers in pieces:
            piece = [chosen[number] for number in numbers]
            vectors = (
                checkpoint(tower.forward, piece, use_reentrant=False)
                if torch.is_grad_enabled()
                else tower.forward(piece)
            )
            found.append(vectors)
        back = np.argsort(np.concatenate(pieces), kind="stable")
        return torch.cat(found)[torch.from_numpy(back).to(found[0].device)]
