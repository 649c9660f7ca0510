"""What is learnt of questions with labelled sets: the three terms of the loss."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from adducir.corpora.evidence_sets.record import EvidenceQuestion
from adducir.models.learning import ExampleLearner
from adducir.models.machine import Precision
from adducir.rerankers.complementary.losses import LossTerms, complementary_loss
from adducir.rerankers.complementary.model import ComplementaryModel
from adducir.rerankers.complementary.reading import EncodedQuestion
from adducir.rerankers.complementary.scoring import Weights

_PADDING = -1


class Lesson:
    """Questions as a network reads them, with their truths.

    Attributes:
        questions: The questions.
        encoded: What the network reads of each.
        lengths: Tokens of each, with all its passages.
    """

    def __init__(
        self,
        model: "Learns",
        questions: Sequence[EvidenceQuestion],
        precision: Precision = "float32",
    ) -> None:
        self.questions = list(questions)
        encoded = [model.read(question) for question in questions]
        self.encoded = model.prepared(encoded, precision)
        self.lengths = [len(one) for one in self.encoded]

    def __len__(self) -> int:
        return len(self.questions)


class Learns(Protocol):
    """A model that reads questions."""

    def read(self, question: EvidenceQuestion) -> EncodedQuestion:
        """What the network reads of a question and its passages."""

    def prepared(
        self, encoded: Sequence[EncodedQuestion], precision: Precision = "float32"
    ) -> list[EncodedQuestion]:
        """The same with what frozen layers make of it."""


@dataclass(frozen=True)
class Truth:
    """What is true of a batch of questions; see :func:`.losses.complementary_loss`.

    Attributes:
        relevant: (Q, K) bool.
        sets: (Q, S, L) int64, padded with -1.
        labels: (Q, S) bool.
    """

    relevant: Tensor
    sets: Tensor
    labels: Tensor

    @classmethod
    def of(
        cls, questions: Sequence[EvidenceQuestion], passages: int, device: torch.device
    ) -> "Truth":
        """The truth about questions, padded to ``passages`` passages."""
        sets = [question.sets for question in questions]
        most = max((len(some) for some in sets), default=0)
        largest = max((len(one.members) for some in sets for one in some), default=1)
        relevant = np.zeros((len(questions), passages), dtype=bool)
        members = np.full((len(questions), most, largest), _PADDING, dtype=np.int64)
        labels = np.zeros((len(questions), most), dtype=bool)
        for row, question in enumerate(questions):
            relevant[row, sorted(question.relevant)] = True
            for place, one in enumerate(question.sets):
                members[row, place, : len(one.members)] = one.members
                labels[row, place] = one.label
        found = (torch.from_numpy(one).to(device) for one in (relevant, members, labels))
        return cls(*found)


class ComplementaryLearner(ExampleLearner[Lesson]):
    """Learns by the loss of equation 4, of each question."""

    def __init__(
        self,
        model: ComplementaryModel,
        lesson: Lesson,
        held_out: Lesson,
        *,
        weights: Weights,
        margin: float,
        batch_size: int,
        seed: int,
        tokens: int | None = None,
    ) -> None:
        super().__init__(model, lesson, held_out, batch_size=batch_size, seed=seed, tokens=tokens)
        self._weights, self._margin = weights, margin

    def terms(self, lesson: Lesson, batch: NDArray[np.int64]) -> LossTerms:
        """The loss of some questions and its terms."""
        states = self.model([lesson.encoded[number] for number in batch], self._tokens)
        questions = [lesson.questions[number] for number in batch]
        truth = Truth.of(questions, states.mask.shape[1], states.mask.device)
        return complementary_loss(
            states.logits,
            states.vectors,
            states.question,
            truth.relevant,
            states.mask,
            truth.sets,
            truth.labels,
            self._weights,
            self._margin,
        )

    def _losses(self, lesson: Lesson, batch: NDArray[np.int64]) -> tuple[Tensor, int]:
        return self.terms(lesson, batch).total * len(batch), len(batch)


def chunks(lengths: Sequence[int], budget: int) -> Iterator[range]:
    """Cut items into runs in their order, each of at most ``budget`` tokens or of one item."""
    first = total = 0
    for number, length in enumerate(lengths):
        if number > first and total + length > budget:
            yield range(first, number)
            first, total = number, 0
        total += length
    if first < len(lengths):
        yield range(first, len(lengths))
