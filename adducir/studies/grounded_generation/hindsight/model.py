"""Retriever, guide and generator as one network, and the vectors that the first two compare."""

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from adducir.core.errors import InputError
from adducir.core.many_texts import read_texts
from adducir.encoders.kinds import encoder_source
from adducir.encoders.model import DualEncoder
from adducir.encoders.ranking import MultiVectors
from adducir.encoders.reading import LengthPart
from adducir.encoders.statement import RECIPE
from adducir.models.folders import Side
from adducir.models.sources import model_source
from adducir.rerankers.colbert import ColBERTRecipe, LateInteraction
from adducir.studies.grounded_generation.generators.generator import Generator
from adducir.studies.grounded_generation.hindsight.recipe import PARTS, Part, TowersRecipe

Numbers = NDArray[np.int64]
Padded = tuple[torch.Tensor, torch.Tensor]
"""(n, T, D) vectors and their (n, T) mask."""
Computed = Mapping[Part, torch.Tensor]
"""(B, k) for B examples: scores of retriever and guide, not normalised, and the generator's l."""
_KEPT_LENGTH = 16  # tokens that a stored vector counts as, when an adapter computes it


class Network(torch.nn.Module):
    """The layers before an adapter, of one tower or both."""

    def __init__(self, recipe: TowersRecipe, folder: Path) -> None:
        super().__init__()
        self._length = recipe.query_length
        self.projection: torch.Tensor | None = None
        self._late: dict[Side, LateInteraction] = {}
        if recipe.vectors == "one":
            # Two frozen towers would be identical.
            is_as_it_is = recipe.towers == "separate" and recipe.network == "frozen"
            source = replace(encoder_source(recipe.base, folder), is_base=True)
            pooling = source.stated("query").facts["pooling"]
            is_open = (pooling.value, pooling.source) == ("first", RECIPE)
            self._dual = DualEncoder.load(
                source,
                pooling="mean" if is_open else None,  # of a plain transformer
                lengths=LengthPart(context=recipe.query_length, span=recipe.document_length),
                towers=None if is_as_it_is else recipe.towers,
            )
            self.towers: torch.nn.Module = self._dual.model
            return
        query, document = recipe.query_length, recipe.document_length
        reading = ColBERTRecipe(query_length=query, document_length=document)
        model = model_source(recipe.base, folder)
        query_model = LateInteraction.load(model, reading)
        document_model = (
            query_model if recipe.towers == "shared" else LateInteraction.load(model, reading)
        )
        self.projection = query_model.projection
        if query_model.layers and self.projection is None:
            message = (
                f"{recipe.base} projects vectors by several layers, which is not supported here."
            )
            raise InputError(message)
        # The adapter projects unit vectors: without a bias that is equivalent.
        query_model.layers, document_model.layers = [], []
        self._late = {"query": query_model, "document": document_model}
        named = {"shared" if query_model is document_model else "query": query_model.network}
        if query_model is not document_model:
            named["document"] = document_model.network
        self.towers = torch.nn.ModuleDict(named)

    def read(self, texts: Sequence[str], side: Side) -> Sequence[Any]:
        """Tokens; a long query keeps its end. Texts in a file are read on demand."""
        return read_texts(texts, partial(self._read, side=side))

    def _read(self, texts: Sequence[str], side: Side) -> list[Any]:
        if side == "document":
            late = self._late.get(side)
            return list(late.documents(texts) if late else self._dual.inputs.documents(texts))
        if late := self._late.get(side):
            return list(late.queries(_endings(late.tokenizer, texts, late.room_of_queries)))
        inputs = self._dual.inputs
        room = min(self._length, inputs.query.longest) - 2
        return list(inputs.queries(_endings(inputs.query.tokenizer, texts, room)))

    def forward(self, inputs: Sequence[Any], side: Side) -> Padded:
        if not self._late:
            states = self._dual.forward(inputs, side)[:, None]
            return states, states.new_ones(len(inputs), 1)
        features = self._late[side].read(inputs)
        return self._late[side].vectors(features), features["counts"].float()


def _endings(tokenizer: Any, texts: Sequence[str], room: int) -> list[str]:
    encoded = tokenizer.backend_tokenizer.encode_batch(list(texts), add_special_tokens=False)
    return [
        text if len(encoding.ids) <= room else text[encoding.offsets[-room][0] :]
        for text, encoding in zip(texts, encoded, strict=True)
    ]


class Kept:
    """The precomputed vectors of texts, by number."""

    def __init__(self, vectors: MultiVectors, device: torch.device) -> None:
        self.of, self.inputs, self.device = vectors, vectors, None
        self._values = torch.from_numpy(vectors.values).to(device)
        self._is_single = len(vectors.values) == len(vectors)

    def batch(self, numbers: Numbers) -> Padded:
        if self._is_single:
            vectors = self._values[torch.from_numpy(numbers)][:, None]
            return vectors, vectors.new_ones(len(numbers), 1)
        counts = np.diff(self.of.starts)[numbers]
        places = np.arange(counts.max(initial=1))
        mask = places < counts[:, None]
        rows = np.where(mask, self.of.starts[numbers][:, None] + places, 0)
        device = self._values.device
        return self._values[torch.from_numpy(rows)], torch.from_numpy(mask).to(device)

    def lengths(self, numbers: Numbers) -> list[int]:
        return [_KEPT_LENGTH] * len(numbers)


class Live:
    """The vectors of texts, computed on demand, with gradient."""

    def __init__(self, network: Network, texts: Sequence[str], side: Side) -> None:
        self.network, self.side, self.inputs = network, side, network.read(texts, side)
        self.device = next(network.parameters()).device

    def batch(self, numbers: Numbers) -> Padded:
        return self.network([self.inputs[number] for number in numbers], self.side)

    def lengths(self, numbers: Numbers) -> list[int]:
        return [len(self.inputs[number]) for number in numbers]


Vectors = Kept | Live


class Adapter(torch.nn.Module):
    """A matrix after a tower, then normalisation; initially the projection or the identity."""

    def __init__(self, kind: str | int, width: int, projection: torch.Tensor | None) -> None:
        super().__init__()
        first = torch.eye(width) if projection is None else projection.clone()
        self.weight: torch.Tensor | None = None
        if kind == "full":
            self.weight = torch.nn.Parameter(first)
        elif projection is not None:
            self.register_buffer("weight", first)
        self.low: torch.nn.ParameterList | None = None
        if isinstance(kind, int):
            down = torch.nn.init.normal_(torch.empty(kind, width), std=width**-0.5)
            self.low = torch.nn.ParameterList([down, torch.zeros(len(first), kind)])

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """(..., dimensions) of (..., D)."""
        adapted = vectors if self.weight is None else vectors @ self.weight.T
        if self.low is not None:
            adapted = adapted + (vectors @ self.low[0].T) @ self.low[1].T
        return torch.nn.functional.normalize(adapted, dim=-1)


class Scorer(torch.nn.Module):
    """P or Q: scores of queries and passages; if trained, the network has its own layers."""

    def __init__(
        self,
        recipe: TowersRecipe,
        width: int,
        projection: torch.Tensor | None,
        network: Network | None = None,
    ) -> None:
        super().__init__()
        self.network = network
        query = Adapter(recipe.adapter, width, projection)
        shared = recipe.towers == "shared"
        document = query if shared else Adapter(recipe.adapter, width, projection)
        self.adapters = torch.nn.ModuleDict({"query": query, "document": document})
        scale = recipe.scale or (20.0 if recipe.vectors == "one" else 1.0)
        self.log_scale = torch.nn.Parameter(torch.tensor(scale).log(), recipe.train_scale)

    def side(self, vectors: Vectors, numbers: Numbers, side: Side) -> Padded:
        side_vectors, mask = vectors.batch(numbers)
        return self.adapters[side](side_vectors), mask

    def scores(
        self, queries: Vectors, contexts: Numbers, passages: Vectors, sampled: Numbers
    ) -> torch.Tensor:
        """(B, k) scores of the (B, k) sampled passages of (B,) contexts, each encoded once."""
        different, places = np.unique(sampled, return_inverse=True)
        query, mask = self.side(queries, contexts, "query")
        document, document_mask = self.side(passages, different, "document")
        which = torch.from_numpy(places.reshape(sampled.shape)).to(document.device)
        products = maxsim((query[:, None], mask[:, None]), (document[which], document_mask[which]))
        return products * self.log_scale.exp()


def maxsim(queries: Padded, documents: Padded) -> torch.Tensor:
    """(...) scores of (..., Tq, D) queries and (..., Td, D) documents, with gradient.

    A document without a vector scores minus infinity, a query without one 0.
    """
    products = queries[0] @ documents[0].transpose(-1, -2)
    hidden = documents[1].bool().logical_not().unsqueeze(-2)
    best = products.masked_fill(hidden, float("-inf")).amax(dim=-1)
    return best.masked_fill(queries[1].bool().logical_not(), 0.0).sum(dim=-1)


@dataclass(frozen=True)
class Data:
    """The parts' inputs: queries of retriever and guide, passages, the generator's texts."""

    inputs: Vectors
    hindsight: Vectors
    retriever_passages: Vectors
    guide_passages: Vectors
    texts: Any


class Hindsight(torch.nn.Module):
    """Retriever P, guide Q (by default and initially a copy of P) and generator."""

    def __init__(
        self, retriever: Scorer, generator: Generator, guide: Scorer | None = None
    ) -> None:
        super().__init__()
        self.retriever = retriever
        self.guide = guide or copy.deepcopy(retriever)
        self.generator = generator

    def compute(
        self, data: Data, contexts: Numbers, sampled: Numbers, parts: Collection[Part] = PARTS
    ) -> Computed:
        """The parts' scores of (B, k) sampled passages for (B,) contexts."""
        computed: dict[Part, torch.Tensor] = {}
        if "retriever" in parts:
            arguments = data.inputs, contexts, data.retriever_passages, sampled
            computed["retriever"] = self.retriever.scores(*arguments)
        if "guide" in parts:
            arguments = data.hindsight, contexts, data.guide_passages, sampled
            computed["guide"] = self.guide.scores(*arguments)
        if "generator" in parts:
            computed["generator"] = self.generator.log_likelihood(data.texts, contexts, sampled)
        return computed
