"""Retriever, guide and generator as one network."""

import copy
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from adducir.encoders.kinds import Side
from adducir.encoders.maxsim import maxsim
from adducir.studies.grounded_generation.generators.generator import Generator
from adducir.studies.grounded_generation.hindsight.losses import PARTS, Computed, Part
from adducir.studies.grounded_generation.hindsight.recipe import RetrieverRecipe
from adducir.studies.grounded_generation.hindsight.vectors import Network, Padded, Vectors
from adducir.studies.grounded_generation.hindsight.work import Numbers


class Adapter(torch.nn.Module):
    """A matrix behind a tower, and length 1.

    Args:
        kind: See :class:`adducir.studies.grounded_generation.hindsight.recipe.RetrieverRecipe`.
        width: D of what comes in.
        projection: (dimensions, D) what it begins as; None for the identity.
    """

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
        found = vectors if self.weight is None else vectors @ self.weight.T
        if self.low is not None:
            found = found + (vectors @ self.low[0].T) @ self.low[1].T
        return torch.nn.functional.normalize(found, dim=-1)


class Scorer(torch.nn.Module):
    """P or Q: scores of queries and passages.

    Args:
        recipe: Its recipe.
        width: D of its network's vectors.
        projection: What its adapters begin as.
        network: Its layers, where they are trained.
    """

    def __init__(
        self,
        recipe: RetrieverRecipe,
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
        """The vectors of some texts behind the adapter."""
        found, mask = vectors.batch(numbers)
        return self.adapters[side](found), mask

    def scores(
        self, queries: Vectors, contexts: Numbers, passages: Vectors, sampled: Numbers
    ) -> torch.Tensor:
        """(B, k) scores; a passage that several examples have is encoded once.

        Args:
            queries: Of all contexts.
            contexts: (B,) numbers of contexts.
            passages: All passages.
            sampled: (B, k) numbers of passages.
        """
        different, places = np.unique(sampled, return_inverse=True)
        query, query_mask = self.side(queries, contexts, "query")
        document, document_mask = self.side(passages, different, "document")
        which = torch.from_numpy(places.reshape(sampled.shape)).to(document.device)
        found = maxsim(query[:, None], document[which], query_mask[:, None], document_mask[which])
        return found * self.log_scale.exp()


@dataclass(frozen=True)
class Data:
    """What the parts read.

    Attributes:
        inputs: The retriever's queries, of all contexts.
        hindsight: The guide's queries.
        retriever_passages: All passages, as the retriever reads them.
        guide_passages: The same, as the guide reads them.
        texts: What the generator has read; see :meth:`Generator.read`.
    """

    inputs: Vectors
    hindsight: Vectors
    retriever_passages: Vectors
    guide_passages: Vectors
    texts: Any


class Hindsight(torch.nn.Module):
    """The three parts.

    Args:
        retriever: P.
        guide: Q; by default P once more, which is how it begins.
        generator: P(y|x,z).
    """

    def __init__(
        self, retriever: Scorer, generator: Generator, guide: Scorer | None = None
    ) -> None:
        super().__init__()
        self.retriever = retriever
        self.guide = guide or copy.deepcopy(retriever)
        self.generator = generator

    def compute(
        self,
        data: Data,
        contexts: Numbers,
        sampled: Numbers,
        parts: Collection[Part] = PARTS,
    ) -> Computed:
        """What the parts say of sampled passages, with gradient.

        Args:
            data: What they read.
            contexts: (B,) numbers of contexts.
            sampled: (B, k) numbers of passages.
            parts: Those that are wanted.
        """
        prior = guide = likelihood = None
        if "retriever" in parts:
            prior = self.retriever.scores(data.inputs, contexts, data.retriever_passages, sampled)
        if "guide" in parts:
            guide = self.guide.scores(data.hindsight, contexts, data.guide_passages, sampled)
        if "generator" in parts:
            likelihood = self.generator.log_likelihood(data.texts, contexts, sampled)
        return Computed(prior, guide, likelihood)
