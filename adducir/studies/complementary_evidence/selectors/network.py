"""A transformer that makes a vector of each input: the first token's, or a mean."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from adducir.core.errors import InputError
from adducir.models.batches import computed, padded, token_batches
from adducir.models.loading import load_model
from adducir.models.machine import Precision, computing_in
from adducir.models.sources import ModelSource
from adducir.studies.complementary_evidence.selectors.reading import Input

Pooling = Literal["first", "mean"]
"""The vector of an input: its first token's, or the mean over the tokens it is of."""


class Vectoriser(torch.nn.Module):
    """A network and how its last layer becomes a vector.

    Args:
        pooling: The first token's vector, or the mean over the passage's own tokens (the
            question's, of a question alone).
    """

    def __init__(self, network: Any, pooling: Pooling) -> None:
        super().__init__()
        self.network = network
        self.pooling = pooling
        self._trained: int | None = None
        self._has_types = int(getattr(network.config, "type_vocab_size", 0) or 0) > 1
        self._filler = int(network.config.pad_token_id or 0)

    @classmethod
    def load(cls, source: ModelSource, pooling: Pooling) -> "Vectoriser":
        """The network of a source.

        Raises:
            InputError, MachineError: It cannot be loaded.
        """
        return cls(load_model(source), pooling)

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return int(self.network.config.hidden_size)

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        found: torch.device = self.network.device
        return found

    def freeze(self, layers: int | None) -> None:
        """Leave all but the topmost layers as they are.

        Args:
            layers: How many are trained; None for all, with the embeddings.

        Raises:
            InputError: The network's layers are not known.
        """
        if layers is None:
            return
        stack = self._stack()
        for parameter in self.network.parameters():
            parameter.requires_grad_(False)
        self._trained = min(layers, len(stack))
        for layer in stack[len(stack) - self._trained :]:
            for parameter in layer.parameters():
                parameter.requires_grad_(True)

    def prepared(
        self,
        inputs: Sequence[Input],
        *,
        precision: Precision = "float32",
        tokens: int | None = None,
    ) -> list[NDArray[np.float32]]:
        """What the frozen layers make of inputs, which has to be computed only once.

        Args:
            tokens: Padded tokens that are computed at a time.

        Returns:
            Of each input the (tokens, d) states that enter the trained layers.
        """
        self.eval()
        frozen = slice(0, len(self._stack()) - (self._trained or 0))
        found: list[Any] = [None] * len(inputs)
        with torch.inference_mode(), computing_in(precision, self), self._layers(frozen):
            for numbers in token_batches([len(one) for one in inputs], tokens, self.device):
                some = [inputs[number] for number in numbers]
                for number, one, states in zip(numbers, some, self._whole(some), strict=True):
                    found[number] = states[: len(one)].cpu().numpy()
        return found

    @contextmanager
    def _layers(self, chosen: slice) -> Iterator[None]:
        """Let the network have some of its layers only."""
        stack = self._stack()
        self.network.encoder.layer = stack[chosen]
        try:
            yield
        finally:
            self.network.encoder.layer = stack

    def _stack(self) -> Any:
        """The network's layers."""
        stack = getattr(getattr(self.network, "encoder", None), "layer", None)
        if stack is None:
            raise InputError(
                f"the layers of a {type(self.network).__name__} are not known, so that none can be "
                "frozen.",
                hint="Leave `layers` out.",
            )
        return stack

    def _whole(self, batch: Sequence[Input]) -> Tensor:
        """(n, longest, d) the last layer's states, from the ids."""
        ids, mask = padded([one.ids for one in batch], self._filler, self.device)
        options = {"input_ids": ids, "attention_mask": mask}
        if self._has_types:
            options["token_type_ids"] = padded([one.types for one in batch], 0, self.device)[0]
        states: Tensor = self.network(**options).last_hidden_state.float()
        return states

    def _upper(self, batch: Sequence[Input]) -> Tensor:
        """The same, from the states below the trained layers."""
        from transformers.masking_utils import create_bidirectional_mask

        _, mask = padded([one.ids for one in batch], self._filler, self.device)
        below = np.zeros((*mask.shape, self.width), dtype=np.float32)
        for row, one in enumerate(batch):
            below[row, : len(one)] = one.below
        states = torch.from_numpy(below).to(self.device)
        wide = create_bidirectional_mask(
            config=self.network.config, inputs_embeds=states, attention_mask=mask
        )
        with self._layers(slice(len(self._stack()) - (self._trained or 0), None)):
            made: Tensor = self.network.encoder(states, attention_mask=wide).last_hidden_state
        return made

    def forward(self, batch: Sequence[Input]) -> Tensor:
        """(n, d) the vectors of one batch, in single precision."""
        is_prepared = all(one.below is not None for one in batch)
        states = self._upper(batch) if is_prepared else self._whole(batch)
        if self.pooling == "first":
            return states[:, 0]
        own = padded([one.own for one in batch], 0, self.device)[0].to(states.dtype)[..., None]
        return (states * own).sum(1) / own.sum(1).clamp(min=1)

    def vectors(self, inputs: Sequence[Input], tokens: int | None = None) -> Tensor:
        """(n, d) the vectors of inputs in their order, computed in pieces of like length.

        Args:
            inputs: Any number of inputs.
            tokens: Padded tokens of a piece. With a gradient, several pieces are computed once more
                in the backward pass, so that memory does not limit the number of inputs.
        """
        if not inputs:
            return torch.zeros(0, self.width, device=self.device)
        pieces = token_batches([len(one) for one in inputs], tokens, self.device)
        again = torch.is_grad_enabled() and len(pieces) > 1

        def compute(numbers: NDArray[np.int64]) -> Tensor:
            piece = [inputs[number] for number in numbers]
            made: Tensor = checkpoint(self, piece, use_reentrant=False) if again else self(piece)
            return made

        parts = list(computed(pieces, compute))
        back = np.argsort(np.concatenate([numbers for numbers, _ in parts]), kind="stable")
        return torch.cat([part for _, part in parts])[torch.from_numpy(back).to(self.device)]
