"""A transformer that makes a vector of each input: the first token's, or a mean."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from adducir.models.batches import DEFAULT_TOKENS, computed, token_batches
from adducir.models.loading import load_model
from adducir.models.sources import ModelSource
from adducir.rerankers.complementary.reading import Input
from adducir.rerankers.inputs import padded

Pooling = Literal["first", "mean"]
"""The vector of an input: its first token's, or the mean over the tokens it is of."""


class Vectoriser(torch.nn.Module):
    """A network and how its last layer becomes a vector.

    Args:
        network: A model of transformers.
        pooling: The first token's vector, or the mean over the passage's own tokens (the
            question's, of a question alone).
    """

    def __init__(self, network: Any, pooling: Pooling) -> None:
        super().__init__()
        self.network = network
        self.pooling = pooling
        self._has_types = int(getattr(network.config, "type_vocab_size", 0) or 0) > 1
        self._filler = int(network.config.pad_token_id or 0)

    @classmethod
    def load(cls, source: ModelSource, pooling: Pooling, *, whole: bool = True) -> "Vectoriser":
        """The network of a source.

        Raises:
            InputError, MachineError: It cannot be loaded.
        """
        return cls(load_model(source, whole=whole), pooling)

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return int(self.network.config.hidden_size)

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        found: torch.device = self.network.device
        return found

    def forward(self, batch: Sequence[Input]) -> Tensor:
        """(n, d) the vectors of one batch, in single precision."""
        ids, mask = padded([one.ids for one in batch], self._filler, self.device)
        options = {"input_ids": ids, "attention_mask": mask}
        if self._has_types:
            options["token_type_ids"] = padded([one.types for one in batch], 0, self.device)[0]
        states: Tensor = self.network(**options).last_hidden_state.float()
        if self.pooling == "first":
            return states[:, 0]
        own = padded([one.own for one in batch], 0, self.device)[0].to(states.dtype)[..., None]
        return (states * own).sum(1) / own.sum(1).clamp(min=1)

    def vectors(self, inputs: Sequence[Input], tokens: int = DEFAULT_TOKENS) -> Tensor:
        """(n, d) the vectors of inputs in their order, computed in pieces of like length.

        Args:
            inputs: Any number of inputs.
            tokens: Padded tokens of a piece. With a gradient, several pieces are computed once more
                in the backward pass, so that memory does not limit the number of inputs.
        """
        if not inputs:
            return torch.zeros(0, self.width, device=self.device)
        pieces = token_batches([len(one) for one in inputs], tokens)
        again = torch.is_grad_enabled() and len(pieces) > 1

        def compute(numbers: NDArray[np.int64]) -> Tensor:
            piece = [inputs[number] for number in numbers]
            made: Tensor = checkpoint(self, piece, use_reentrant=False) if again else self(piece)
            return made

        parts = list(computed(pieces, compute))
        back = np.argsort(np.concatenate([numbers for numbers, _ in parts]), kind="stable")
        return torch.cat([part for _, part in parts])[torch.from_numpy(back).to(self.device)]
