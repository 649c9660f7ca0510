"""What a term weighter learns: mean squared error between its words' weights and their targets."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adducir.deepct.examples import Example
from adducir.deepct.model import TermWeighter
from adducir.deepct.words import words
from adducir.models.learning import ExampleLearner

if TYPE_CHECKING:
    import torch


class Lesson:
    """Examples as arrays: token ids, and the targets of those words that are in the loss.

    Args:
        weighter: What is to learn.
        examples: The passages.
        stop_words_in_loss: Whether stop words are in the loss.
        longest: Tokens of a passage that are read; by default what the model can read.

    Attributes:
        encoded: The passages.
        places: For each passage, where in its ids the first piece of each word in the loss stands.
        targets: The words' targets.
    """

    def __init__(
        self,
        weighter: TermWeighter,
        examples: Sequence[Example],
        *,
        stop_words_in_loss: bool,
        longest: int | None = None,
    ) -> None:
        whole = weighter.settings.keys == "words"
        texts = [example.text for example in examples]
        inside = [words(text, whole=whole) for text in texts]
        self.encoded = weighter.encode(texts, inside, longest)
        self.places: list[NDArray[np.int64]] = []
        self.targets: list[NDArray[np.float32]] = []
        for one, example in zip(self.encoded, examples, strict=True):
            counts = one.firsts >= 0
            if not stop_words_in_loss:
                counts &= ~np.array(example.is_stop, dtype=bool)
            self.places.append(one.firsts[counts])
            self.targets.append(np.array(example.targets, dtype=np.float32)[counts])
        self.lengths = [len(one.ids) for one in self.encoded]

    def __len__(self) -> int:
        return len(self.encoded)


class DeepCTLearner(ExampleLearner[Lesson]):
    """Learns words' weights; the losses are the words' squared errors."""

    def __init__(
        self,
        weighter: TermWeighter,
        lesson: Lesson,
        held_out: Lesson,
        *,
        batch_size: int,
        seed: int,
    ) -> None:
        super().__init__(weighter.model, lesson, held_out, batch_size=batch_size, seed=seed)
        self._weighter = weighter

    def _losses(self, lesson: Lesson, batch: NDArray[np.int64]) -> "tuple[torch.Tensor, int]":
        logits = self._weighter.logits([lesson.encoded[number] for number in batch])
        rows = np.repeat(np.arange(len(batch)), [len(lesson.places[number]) for number in batch])
        columns = _joined([lesson.places[number] for number in batch])
        targets = _joined([lesson.targets[number] for number in batch])
        return squared_errors(self._weighter, logits, rows, columns, targets), len(rows)


def squared_errors(
    weighter: TermWeighter,
    logits: "torch.Tensor",
    rows: NDArray[Any],
    columns: NDArray[Any],
    targets: NDArray[Any],
) -> "torch.Tensor":
    """The sum of squared differences between words' weights and targets.

    Args:
        weighter: Makes weights of logits.
        logits: (passages, tokens).
        rows: The passage of each word.
        columns: The place of each word's first piece.
        targets: The target of each word.
    """
    import torch

    device = logits.device
    found = logits[torch.from_numpy(rows).to(device), torch.from_numpy(columns).to(device)]
    wanted = torch.from_numpy(targets).to(device)
    return ((weighter.activate(found) - wanted) ** 2).sum()


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0)
