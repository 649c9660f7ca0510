"""What every generator has: P(y | x, z), with gradient, and the texts that it writes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, model_validator

from adducir.core.recipe import Recipe

Numbers = NDArray[np.int64]
OPEN = ("no_repeat_ngram_size", "length_penalty", "early_stopping")
"""Keys of :class:`Decoding` that the checkpoint decides unless the recipe does."""


class Decoding(Recipe):
    """How texts are written from the first passages; docs/hindsight.md has the keys."""

    passages: Annotated[int, Field(ge=1)] = 8
    best: Annotated[int, Field(ge=1)] = 5
    beams: Annotated[int, Field(ge=1)] = 4
    max_length: Annotated[int, Field(ge=1)] = 40
    min_length: Annotated[int, Field(ge=0)] = 5
    no_repeat_ngram_size: Annotated[int, Field(ge=0)] | None = None
    length_penalty: float | None = None
    early_stopping: bool | None = None

    @model_validator(mode="after")
    def _best_are_written(self) -> "Decoding":
        if "best" in self.model_fields_set and self.best > self.passages:
            raise ValueError(
                f"`best: {self.best}` needs as many texts, but `passages` is {self.passages}"
            )
        return self


class Generator(torch.nn.Module, ABC):
    """P(y | x, z): the probability of a target, given an input and a passage.

    Attributes:
        pairs: Pairs of context and passage that are computed at a time without gradient.
        pair_length: Tokens of a pair with its target, at most; None where no network reads them.
    """

    pairs: ClassVar[int] = 128
    pair_length: int | None = None

    @abstractmethod
    def read(self, inputs: Sequence[str], targets: Sequence[str], passages: Sequence[str]) -> Any:
        """All inputs, targets and passages as the generator computes with them."""

    @abstractmethod
    def log_likelihood(self, read: Any, contexts: Numbers, passages: Numbers) -> torch.Tensor:
        """(B, k) log P(y|x,z) of whole targets, with gradient.

        No value depends on which others are computed beside it.

        Args:
            read: From :meth:`read`.
            contexts: (B,) numbers of contexts.
            passages: (B, k) numbers of passages.
        """

    def likelihoods(
        self, read: Any, contexts: Numbers, passages: Numbers, tokens: int | None = None
    ) -> torch.Tensor:
        """(n, k) what :meth:`log_likelihood` gives, without gradient, some pairs at a time."""
        count = most = passages.shape[1]
        pairs = self.pairs
        if tokens is not None and self.pair_length is not None:
            pairs = most = max(1, min(pairs, tokens // self.pair_length))
        size, cuts = max(1, pairs // count), range(most, count, most)
        with torch.inference_mode():
            each = [
                [
                    self.log_likelihood(read, contexts[first : first + size], some)
                    for some in np.split(passages[first : first + size], cuts, axis=1)
                ]
                for first in range(0, len(contexts), size)
            ]
            return torch.cat([torch.cat(parts, dim=1) for parts in each])

    @abstractmethod
    def write(
        self,
        read: Any,
        contexts: Numbers,
        passages: Numbers,
        decoding: Decoding,
        tokens: int | None = None,
    ) -> list[str]:
        """The text of each of n pairs of a context and a passage, by their numbers."""
