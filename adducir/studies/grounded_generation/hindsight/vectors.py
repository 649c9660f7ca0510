"""The vectors of texts, one or several each: kept ones of a frozen network, or with gradient."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from adducir.core.names import read_texts
from adducir.encoders.kinds import Side
from adducir.encoders.maxsim import MultiVectors
from adducir.encoders.model import DualEncoder
from adducir.encoders.reading import LengthPart
from adducir.encoders.sources import encoder_source
from adducir.models.sources import model_source
from adducir.rerankers.colbert import ColBERTRecipe, LateInteraction, Reading
from adducir.studies.grounded_generation.hindsight.recipe import RetrieverRecipe
from adducir.studies.grounded_generation.hindsight.work import Encodable, Numbers

Padded = tuple[torch.Tensor, torch.Tensor]
"""(n, T, D) vectors and (n, T) which of them count."""


class Vectors(Protocol):
    """The vectors of some texts, by number."""

    def __len__(self) -> int: ...

    def batch(self, numbers: Numbers) -> Padded:
        """The vectors of these texts."""


class Kept:
    """Vectors that are there already.

    Args:
        of: The vectors.
        device: Where they are computed with.
    """

    def __init__(self, of: MultiVectors, device: torch.device) -> None:
        self.of = of
        self._values = torch.from_numpy(of.values).to(device)
        self._is_single = len(of.values) == len(of)

    def __len__(self) -> int:
        return len(self.of)

    def batch(self, numbers: Numbers) -> Padded:
        if self._is_single:
            found = self._values[torch.from_numpy(numbers)][:, None]
            return found, found.new_ones(len(numbers), 1)
        counts = np.diff(self.of.starts)[numbers]
        places = np.arange(counts.max(initial=1))
        mask = places < counts[:, None]
        rows = np.where(mask, self.of.starts[numbers][:, None] + places, 0)
        device = self._values.device
        return self._values[torch.from_numpy(rows)], torch.from_numpy(mask).to(device)


class Network(torch.nn.Module):
    """The layers that texts go through before an adapter: of one tower, or of both.

    Args:
        recipe: Which.
        folder: The study's, where relative paths start.
    """

    def __init__(self, recipe: RetrieverRecipe, folder: Path) -> None:
        super().__init__()
        self._length = recipe.query_length
        self.projection: torch.Tensor | None = None
        if recipe.vectors == "one":
            source = encoder_source(recipe.base, folder)
            # Two towers that are not trained would be the same one twice.
            is_as_it_is = recipe.towers == "separate" and recipe.network == "frozen"
            self._dual = DualEncoder.load(
                source,
                lengths=LengthPart(context=recipe.query_length, span=recipe.document_length),
                towers=None if is_as_it_is else recipe.towers,
            )
            self._late: dict[Side, LateInteraction] = {}
            self.towers: torch.nn.Module = self._dual.model
            return
        reading = Reading(recipe.query_length, recipe.document_length, ColBERTRecipe().markers)
        source_of = model_source(recipe.base, folder)
        one = LateInteraction.load(source_of, reading)
        other = one if recipe.towers == "shared" else LateInteraction.load(source_of, reading)
        self.projection = one.projection
        # Unit vectors are projected by the adapter: without a bias that is the same.
        one.projection = other.projection = None
        self._late = {"query": one, "document": other}
        named = {"shared": one.network} if one is other else {"query": one.network}
        if one is not other:
            named["document"] = other.network
        self.towers = torch.nn.ModuleDict(named)

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return next(self.parameters()).device

    def read(self, texts: Sequence[str], side: Side) -> Sequence[Any]:
        """Tokens; a long query keeps its end. Those of texts in a file are read when needed."""
        return read_texts(texts, partial(self._read, side=side))

    def _read(self, texts: Sequence[str], side: Side) -> list[Any]:
        if not self._late:
            inputs = self._dual.inputs
            if side == "document":
                return list(inputs.documents(texts))
            room = min(self._length, inputs.query.longest) - 2
            return list(inputs.queries(_endings(inputs.query.tokenizer, texts, room)))
        late = self._late[side]
        if side == "document":
            return list(late.documents(texts))
        return list(late.queries(_endings(late.tokenizer, texts, late.room_of_queries)))

    def forward(self, inputs: Sequence[Any], side: Side) -> Padded:
        """Vectors of tokens, with gradient where there is one."""
        if not self._late:
            found = self._dual.forward(inputs, side)[:, None]
            return found, found.new_ones(len(inputs), 1)
        vectors = self._late[side].vectors(inputs)
        mask = torch.zeros(vectors.shape[:2], device=vectors.device)
        for row, one in enumerate(inputs):
            mask[row, : len(one)] = torch.from_numpy(one.counts).to(mask)
        return vectors, mask


class Live:
    """Vectors that are computed whenever they are asked for, with gradient."""

    def __init__(self, network: Network, texts: Sequence[str], side: Side) -> None:
        self.network, self.side = network, side
        self.inputs = network.read(texts, side)

    def __len__(self) -> int:
        return len(self.inputs)

    def batch(self, numbers: Numbers) -> Padded:
        found: Padded = self.network([self.inputs[number] for number in numbers], self.side)
        return found

    def lengths(self, numbers: Numbers) -> list[int]:
        """Their tokens."""
        return [len(self.inputs[number]) for number in numbers]

    def encodable(self) -> Encodable:
        """All of the texts."""
        return Encodable(self.lengths, self.batch, self.network.device)


def _endings(tokenizer: Any, texts: Sequence[str], room: int) -> list[str]:
    """Texts of which so many tokens at the end are left."""
    encoded = tokenizer.backend_tokenizer.encode_batch(list(texts), add_special_tokens=False)
    return [
        text if len(one.ids) <= room else text[one.offsets[-room][0] :]
        for text, one in zip(texts, encoded, strict=True)
    ]
