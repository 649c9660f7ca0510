"""The interface of generators: P(y | x, z), with gradient, and the generated texts.

The generator without a network is a mixture of unigram models of the passage and the collection::

    log P(y|x,z) = sum over the words w of y of log(lambda P(w|z) + (1 - lambda) P(w|C))

This is Jelinek-Mercer query likelihood with y as the query. P(w|z) is the share of w among the
passage's words, P(w|C) its share in the collection with one added to every word's count and to that
of the unknown word. The probabilities of all texts of n words add up to 1. lambda, the only
parameter, is the weight of the passage.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

if TYPE_CHECKING:
    from adducir.studies.grounded_generation.generators.kinds import Decoding

Numbers = NDArray[np.int64]
_WORD = re.compile(r"\w+")


class Generator(torch.nn.Module, ABC):
    """P(y | x, z): the probability of a target, given an input and a passage."""

    pairs: ClassVar[int] = 128  # of context and passage, computed at a time without gradient
    pair_length: int | None = None  # tokens of a pair with its target; None: no network reads them

    @abstractmethod
    def read(self, inputs: Sequence[str], targets: Sequence[str], passages: Sequence[str]) -> Any:
        """All inputs, targets and passages in the form that the generator computes with."""

    @abstractmethod
    def log_likelihood(self, read: Any, contexts: Numbers, passages: Numbers) -> torch.Tensor:
        """(B, k) log P(y|x,z) of whole targets, with gradient: (B,) contexts, (B, k) passages.

        No value depends on the others in the batch.
        """

    def likelihoods(
        self, read: Any, contexts: Numbers, passages: Numbers, tokens: int | None = None
    ) -> torch.Tensor:
        """(n, k) values of :meth:`log_likelihood` without gradient, some pairs at a time."""
        count = most = passages.shape[1]
        pairs = self.pairs
        if tokens is not None and self.pair_length is not None:
            pairs = most = max(1, min(pairs, tokens // self.pair_length))
        size, cuts = max(1, pairs // count), range(most, count, most)
        with torch.inference_mode():
            likelihoods = [
                [
                    self.log_likelihood(read, contexts[first : first + size], some)
                    for some in np.split(passages[first : first + size], cuts, axis=1)
                ]
                for first in range(0, len(contexts), size)
            ]
            return torch.cat([torch.cat(parts, dim=1) for parts in likelihoods])

    @abstractmethod
    def write(self, read: Any, pairs: Numbers, plan: "Decoding", tokens: int | None) -> list[str]:
        """The generated text for each of (n, 2) pairs of a context and a passage, by number."""


@dataclass(frozen=True)
class _Read:
    """Words of targets and passages."""

    words: dict[str, int]  # V words and their numbers; V is the unknown word's
    targets: Numbers  # (n, longest) numbers of the targets' words; -1 is padding
    pairs: Numbers  # (P,) passage * (V + 1) + word of the passages' words, sorted
    shares: NDArray[np.float64]  # (P,) P(w|z) of each pair
    starts: Numbers  # (N + 1,) the first pair of each passage
    background: NDArray[np.float64]  # (V + 1,) P(w|C)


class Lexical(Generator):
    """The mixture; ``share`` is the initial lambda."""

    pairs: ClassVar[int] = 4096

    def __init__(self, share: float = 0.5) -> None:
        super().__init__()
        self.logit = torch.nn.Parameter(torch.tensor(share).logit())

    def read(self, inputs: Sequence[str], targets: Sequence[str], passages: Sequence[str]) -> _Read:
        texts = [words_of(text) for text in passages]
        words = sorted({word for some in texts for word in some})
        numbers = {word: number for number, word in enumerate(words)}
        size = len(words) + 1
        numbers_of_texts = [
            np.array([numbers[word] for word in some], dtype=np.int64) for some in texts
        ]
        keys = [place * size + some for place, some in enumerate(numbers_of_texts)]
        pairs, counts = np.unique(np.concatenate([*keys, []]).astype(np.int64), return_counts=True)
        lengths = np.array([len(some) for some in numbers_of_texts], dtype=np.int64)
        rows = [[numbers.get(word, len(words)) for word in words_of(target)] for target in targets]
        padded = np.full((len(rows), max(map(len, rows), default=0)), -1, dtype=np.int64)
        for place, row in enumerate(rows):
            padded[place, : len(row)] = row
        totals = np.bincount(
            np.concatenate([*numbers_of_texts, []]).astype(np.int64), minlength=size
        )
        return _Read(
            numbers,
            padded,
            pairs,
            counts / lengths[pairs // size],
            np.searchsorted(pairs, np.arange(len(numbers_of_texts) + 1) * size),
            (totals + 1) / (totals.sum() + size),
        )

    def log_likelihood(self, read: _Read, contexts: Numbers, passages: Numbers) -> torch.Tensor:
        words = read.targets[contexts][:, None, :]
        mask, word_numbers = words >= 0, words.clip(min=0)
        keys = passages[:, :, None] * len(read.background) + word_numbers
        places = np.searchsorted(read.pairs, keys).clip(max=len(read.pairs) - 1)
        shares = np.where(read.pairs[places] == keys, read.shares[places], 0.0)
        inside, outside = self._tensor(shares), self._tensor(read.background[word_numbers])
        share = self.logit.sigmoid()
        likelihood = (share * inside + (1 - share) * outside).log()
        return (likelihood * self._tensor(mask)).sum(dim=-1)

    def _tensor(self, values: Any) -> torch.Tensor:
        return torch.as_tensor(values).to(self.logit)

    def write(self, read: Any, pairs: Numbers, plan: "Decoding", tokens: int | None) -> list[str]:
        """The most probable text without repeated words; ``max_length`` counts words.

        Without that condition it would repeat the most probable word.
        """
        share, words = float(self.logit.detach().sigmoid()), list(read.words)
        del tokens
        texts = []
        for _, number in pairs:
            mixture = (1 - share) * read.background[:-1]
            some = slice(*read.starts[number : number + 2])
            mixture[read.pairs[some] % len(read.background)] += share * read.shares[some]
            best = np.argsort(-mixture, kind="stable")[: plan.max_length]
            texts.append(" ".join(words[word] for word in best))
        return texts


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())
