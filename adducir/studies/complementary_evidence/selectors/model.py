"""The complementary model (Mou et al., 2020, section 2.2): P(p|q), and vectors of p and q.

One encoder reads the question alone, and each passage with its question; the last layer's hidden
states represent them. A fully connected layer with a sigmoid on a passage's vector gives P(p|q). So
each passage is encoded once for a question, whatever sets it may come into.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from adducir.core.errors import InputError
from adducir.models.loading import load_tokenizer, longest_input
from adducir.models.machine import Precision, computing_in, seed_of
from adducir.models.sources import ModelSource
from adducir.studies.complementary_evidence.questions import EvidenceQuestion, SelectedSet
from adducir.studies.complementary_evidence.selectors.beam import select_sets
from adducir.studies.complementary_evidence.selectors.network import Vectoriser
from adducir.studies.complementary_evidence.selectors.reading import EncodedQuestion, Reader
from adducir.studies.complementary_evidence.selectors.settings import Selection, Settings

HEAD_FILE = "head.safetensors"


class States(NamedTuple):
    """What a network makes of a batch of questions, padded to the one with most passages.

    Attributes:
        logits: (Q, K) of P(p|q), before the sigmoid.
        vectors: (Q, K, d) the passages' vectors.
        question: (Q, d) the questions' vectors.
        mask: (Q, K) bool, True at passages.
    """

    logits: Tensor
    vectors: Tensor
    question: Tensor
    mask: Tensor


Made = TypeVar("Made")


class EvidenceModel(torch.nn.Module, Generic[Made]):
    """What the models that select evidence have in common.

    Args:
        encoder: The network that says how many tokens are read.
        tokenizer: Its fast tokenizer.
    """

    reads_together: ClassVar[bool] = True
    """Whether a passage is read with its question."""

    def __init__(self, encoder: Vectoriser, tokenizer: Any, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self._tokenizer = tokenizer
        most = longest_input(encoder.network.config, tokenizer)
        length = most if settings.length is None else min(settings.length, most)
        self._reader = Reader(tokenizer, length)

    def read(self, question: EvidenceQuestion) -> EncodedQuestion:
        """What the networks read of a question and its passages."""
        return self._reader.read(question, together=self.reads_together)

    @torch.inference_mode()
    def states(
        self,
        batch: Sequence[EncodedQuestion],
        *,
        tokens: int | None = None,
        precision: Precision = "float32",
    ) -> Made:
        """What :meth:`forward` makes of questions, without a gradient."""
        self.eval()
        with computing_in(precision, self):
            found: Made = self(batch, tokens)
            return found


class ComplementaryModel(EvidenceModel[States]):
    """The encoder with its relevance head."""

    def __init__(self, encoder: Vectoriser, tokenizer: Any, settings: Settings) -> None:
        super().__init__(encoder, tokenizer, settings)
        self.encoder = encoder
        self.head = torch.nn.Linear(encoder.width, 1)

    @classmethod
    def untrained(cls, base: ModelSource, settings: Settings, seed: int) -> "ComplementaryModel":
        """A pretrained encoder with a new head: weights from N(0, 0.02), bias 0, as BERT's heads.

        Raises:
            InputError, MachineError: The encoder cannot be loaded.
        """
        torch.manual_seed(seed_of(seed, "head"))
        model = cls(Vectoriser.load(base, settings.pooling), load_tokenizer(base), settings)
        with torch.no_grad():
            model.head.weight.normal_(0.0, 0.02)
            model.head.bias.zero_()
        return model.eval()

    @classmethod
    def load(cls, folder: Path) -> "ComplementaryModel":
        """A trained model.

        Raises:
            InputError: There is none in the folder.
        """
        settings = Settings.load(folder)
        source = ModelSource(str(folder), folder)
        model = cls(Vectoriser.load(source, settings.pooling), load_tokenizer(source), settings)
        load_head(model.head, folder)
        return model.eval()

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), tokenizer and settings."""
        self.encoder.network.save_pretrained(folder)
        self._tokenizer.save_pretrained(folder)
        save_file(self.head.state_dict(), folder / HEAD_FILE)
        self.settings.save(folder)

    def forward(self, batch: Sequence[EncodedQuestion], tokens: int | None = None) -> States:
        """Vectors and logits of questions; no value depends on the batch (to rounding).

        Args:
            tokens: Padded tokens that are computed at a time.
        """
        question, vectors, mask = vectors_of(self.encoder, batch, tokens)
        logits = self.head(vectors)[..., 0]
        return States(logits, vectors, question, mask)

    def choose(
        self, questions: Sequence[EvidenceQuestion], states: States, selection: Selection
    ) -> list[SelectedSet]:
        """The best set of each question by beam search, passages in the order they were taken.

        Args:
            selection: The weights of g, and L, M and N.
        """
        found = select_sets(
            states.logits.sigmoid(),
            states.vectors,
            states.question,
            states.mask,
            selection.weights,
            selection.search,
        )
        best, scores = found.members[:, 0].tolist(), found.scores[:, 0].tolist()
        return [
            SelectedSet(
                question.id,
                tuple(question.passages[number].id for number in members if number >= 0),
                score if np.isfinite(score) else 0.0,
            )
            for question, members, score in zip(questions, best, scores, strict=True)
        ]


def mask_of(counts: Sequence[int], device: torch.device) -> Tensor:
    """(Q, K) True at the passages of questions with so many each; K is 1 or more."""
    numbers = torch.arange(max(1, *counts, 1), device=device)
    return numbers[None] < torch.tensor(list(counts), device=device)[:, None]


def vectors_of(
    encoder: Vectoriser, batch: Sequence[EncodedQuestion], tokens: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """(Q, d) vectors of questions, (Q, K, d) of their passages, and (Q, K) where there is one."""
    inputs = [one.question for one in batch]
    inputs += [passage for one in batch for passage in one.passages]
    found = encoder.vectors(inputs, tokens)
    mask = mask_of([len(one.passages) for one in batch], found.device)
    passages = found.new_zeros((*mask.shape, found.shape[1]))
    passages = passages.masked_scatter(mask[..., None], found[len(batch) :])
    return found[: len(batch)], passages, mask


def load_head(head: torch.nn.Module, folder: Path) -> None:
    """Set the weights of a head from a model's folder.

    Raises:
        InputError: There are none, or others.
    """
    path = folder / HEAD_FILE
    try:
        head.load_state_dict(load_file(path))
    except (OSError, RuntimeError, SafetensorError) as error:
        raise InputError(f"the head's weights cannot be loaded: {error}.", path=path) from error
