"""What every reranker does: it scores pairs one by one, or puts a list of texts in order."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adducir.models.batches import computed, token_batches
from adducir.models.machine import Precision, computing_in
from adducir.rerankers.inputs import encoded

if TYPE_CHECKING:
    import torch

Pair = tuple[str, str]
"""A query and a text."""

Scored = tuple[NDArray[np.int64], NDArray[np.float64]]
"""The numbers of some pairs, and their scores."""


class Network(ABC):
    """What all models have.

    Attributes:
        network: The network, in evaluation mode.
        tokenizer: Its fast tokenizer.
        precision: What the network computes in; ``bfloat16`` is exact to about 1e-2.
        tokens: Padded tokens in a batch; no score depends on it (to 1e-5).
    """

    network: Any
    tokenizer: Any
    precision: Precision = "float32"
    tokens: int | None = None

    def count_pieces(self, chunks: list[str]) -> list[int]:
        """The tokens of each of some chunks of text, without special ones."""
        return [len(one) for one in encoded(self.tokenizer, chunks)]

    def to(self, device: "torch.device") -> None:
        """Move the network to a device."""
        self.network.to(device)


class Pointwise(Network):
    """A model whose score of a pair depends on nothing but the pair."""

    @abstractmethod
    def scored(self, pairs: Sequence[Pair]) -> Iterator[Scored]:
        """Scores batch by batch, as they are computed; each pair comes once."""

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """(n,) the scores of pairs; of two texts for one query, the better has the greater."""
        found = np.zeros(len(pairs))
        for numbers, values in self.scored(pairs):
            found[numbers] = values
        return found


class Joint(Pointwise):
    """A model that reads query and text in one input."""

    @abstractmethod
    def encode(self, pairs: Sequence[Pair]) -> Sequence[Any]:
        """What the network reads of each pair; its ``len()`` is in tokens."""

    @abstractmethod
    def values(self, batch: Sequence[Any]) -> "torch.Tensor":
        """(n,) the scores of encoded pairs."""

    def scored(self, pairs: Sequence[Pair]) -> Iterator[Scored]:
        """Scores in batches of like length, the longest first."""
        import torch

        inputs = self.encode(pairs)

        def compute(numbers: NDArray[np.int64]) -> NDArray[np.float64]:
            with torch.inference_mode(), computing_in(self.precision, self.network):
                found = self.values([inputs[number] for number in numbers])
                values: NDArray[np.float64] = found.double().cpu().numpy()
                return values

        self.network.eval()
        yield from computed(
            token_batches([len(one) for one in inputs], self.tokens, self.network.device), compute
        )


class Listwise(Network):
    """A model that puts a window of texts in order."""

    @abstractmethod
    def order(self, query: str, texts: Sequence[str]) -> NDArray[np.int64]:
        """The numbers of a window's texts, the best first."""
