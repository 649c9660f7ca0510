"""The training of models that encode queries and texts apart: dual encoders and their relatives.

A kind says how it reads texts, how a network makes vectors of them, and how vectors are scored.
Examples, batches, what is drawn of a row, and the loss are the same for all.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from adducir.core.errors import InputError
from adducir.core.recipe import Recipe, as_tuple
from adducir.models.folders import SIDES, Side
from adducir.models.machine import seed_of
from adducir.models.work import Numbers, padded
from adducir.training.data import Rows, TrainingData, in_lists, same_number, stored
from adducir.training.example_recipe import ExampleRecipe
from adducir.training.examples import ExampleSource
from adducir.training.losses import InBatchNegatives, Loss
from adducir.training.recipe import TrainingRecipe
from adducir.training.trainable import Trainable

if TYPE_CHECKING:
    import torch
    from datasets import Dataset


class BatchPart(Recipe):
    """How batches are formed: from one group each (a book), or at random."""

    by: Literal["group", "random"] = "random"
    """What shares a batch: texts of one group, or any."""
    mini_batch_num_tokens: Annotated[int, Field(ge=1)] | None = None
    """Tokens computed at a time (GradCache, Gao et al., 2021); by default all."""
    padding: Literal["batch", "pieces"] = "batch"
    """Texts are padded to the longest of the batch, or of pieces of similar length, which is faster
    and draws dropout otherwise."""


class RetrieverSettings(TrainingRecipe):
    """Batches have at least two queries, which are negatives of each other."""

    batch_size: Annotated[int, Field(ge=2)] = 32


class RetrieverRecipe(ExampleRecipe):
    """The keys of models that encode queries and texts apart."""

    batches: BatchPart = BatchPart()
    """How batches are formed."""
    training: RetrieverSettings = RetrieverSettings()


E = TypeVar("E", bound=ExampleRecipe)
R = TypeVar("R", bound=RetrieverRecipe)


class ExampleTraining(Trainable[E]):
    """The training of a model from examples, or of some kinds from other data."""

    unit = "queries"
    default_loss: ClassVar[Loss]
    needs_examples: ClassVar[bool] = False  # then the recipe's base is opened, too
    of_use: ClassVar[tuple[str, ...]] = ()  # keys that do not affect the weights

    def __init__(self, recipe: E, folder: Path) -> None:
        super().__init__(recipe, folder)
        self.criterion: Loss = recipe.loss or self.default_loss
        if recipe.examples is not None:
            fields = as_tuple(recipe.fields)
            self.examples = ExampleSource(recipe.examples, fields, folder, self.criterion)
        elif self.needs_examples:
            hint = "As a `reranker`, it can be named without training."
            message = "the recipe lacks `examples`, so nothing can be trained."
            raise InputError(message, hint=hint if self.artifact == "reranker" else None)
        if self.needs_examples:
            self.base = recipe.source(folder)

    @property
    def settings(self) -> dict[str, Any]:
        unset = {"loss": True} if self.recipe.loss is None else {}
        of_use = dict.fromkeys((*self.of_use, "examples"), True)
        values = self.recipe.fingerprinted({**of_use, **unset, **self.unset})
        return values | ({"examples": self.examples.settings} if self.examples else {})

    @property
    def unset(self) -> dict[str, Any]:
        """Keys left out of the settings, as before there were such keys."""
        return {}

    @cached_property
    def inputs(self) -> dict[str, str]:
        found = self.examples.identity() if self.examples else {}
        return found | {"base": self.base.identity()}


class RetrieverTraining(ExampleTraining[R]):
    """The training of a model that encodes queries and texts apart."""

    default_loss: ClassVar[Loss] = InBatchNegatives(temperature=None)
    readers: Any  # what makes token ids of each side's texts, unless ``ids`` does

    def ids(self, texts: Sequence[str], side: Side) -> Sequence[Numbers]:
        """Token ids of texts, as the network reads them; ``side`` is query or document."""
        read: Sequence[Numbers] = self.readers[side].texts(texts)
        return read

    def padding(self, side: Side) -> int:
        """The id that fills shorter texts."""
        return int(self.readers[side].padding)

    @abstractmethod
    def features(self, ids: "torch.Tensor", mask: "torch.Tensor", side: Side) -> dict[str, Any]:
        """What the network reads of padded ids."""

    def embed(self, model: "torch.nn.Module", features: dict[str, Any]) -> Any:
        """Vectors of a few texts, as ``{"sentence_embedding": (n, ...)}``."""
        return model(features)

    def score(self, queries: "torch.Tensor", texts: "torch.Tensor") -> "torch.Tensor":
        """(Q, C) scores of vectors."""
        return queries @ texts.T

    @property
    def temperature(self) -> float:
        """What divides the scores unless the loss has its own temperature."""
        return 1.0

    def regulariser(self, queries: "torch.Tensor", texts: "torch.Tensor") -> Any:
        """A penalty of vectors, added to the loss, such as FLOPS."""
        return 0.0

    @property
    def unset(self) -> dict[str, Any]:
        return {"batches": {"padding"}} if self.recipe.batches.padding == "batch" else {}

    def dataset(self, folder: Path) -> TrainingData:
        from adducir.training.matrix import ROW

        data = stored(folder, ROW, self.rows)
        if len(data.train) < 2:
            raise InputError(
                f"only {len(data.train)} {self.unit} are left to train on.",
                hint="Check what is held out (`held_out`, `data.shares`) and left out (`without`).",
            )
        return data

    def rows(self, counts: dict[str, Any]) -> Rows:
        """The rows of the examples, with the columns of :data:`.matrix.ROW`."""
        examples, groups = cast("ExampleSource", self.examples), dict[str, int]()
        for some in in_lists(examples.divided(self.recipe.held_out)):
            queries = self.ids([example.query for example, _ in some], "query")
            listed = [[*example.positives, *example.negatives] for example, _ in some]
            texts = iter(self.ids([text for texts in listed for text in texts], "document"))
            for (example, part), query, own in zip(some, queries, listed, strict=True):
                row = row_of(query, [*islice(texts, len(own))], list(map(same_number, own)))
                row["positives"], row["scores"] = len(example.positives), example.scores
                row["asks"] = same_number(example.query)
                row["group"] = groups.setdefault(example.group, len(groups))
                yield part, row
        counts.update(examples.counts)

    def batches(self, data: "Dataset", epoch: int | None) -> list[NDArray[np.int64]]:
        from adducir.training.matrix import shuffled

        recipe = self.recipe
        name = ("validation",) if epoch is None else ("epoch", epoch)
        draw = np.random.default_rng(seed_of(recipe.training.seed, *name))
        groups = np.asarray(data.with_format("numpy")["group"][:])
        size, by_group = recipe.training.batch_size, recipe.batches.by == "group"
        return shuffled(groups, size, draw, by_group=by_group)

    def collate(self, rows: Sequence[Mapping[str, Any]]) -> "dict[str, torch.Tensor]":
        import torch

        from adducir.training.matrix import packed

        cpu, part = torch.device("cpu"), self.recipe.examples
        most = part.negatives if part else 0
        queries, texts, known = packed(rows, most, self.recipe.training.seed, self.epoch)
        batch = dict[str, Any]()
        for side, ids in zip(SIDES, (queries, texts), strict=True):
            batch[f"{side}_ids"], batch[f"{side}_mask"] = padded(ids, self.padding(side), cpu)
        return batch | known

    def loss(self, model: "torch.nn.Module", batch: "dict[str, torch.Tensor]") -> "torch.Tensor":
        from adducir.training.matrix import CandidateFacts, MatrixLoss

        queries, texts = (
            self.features(batch[f"{side}_ids"], batch[f"{side}_mask"], side) for side in SIDES
        )
        loss = MatrixLoss(
            lambda features: self.embed(model, features),
            self.score,
            self.criterion,
            temperature=self.temperature,
            mini_batch_num_tokens=self.recipe.batches.mini_batch_num_tokens,
            by_length=self.recipe.batches.padding == "pieces",
            regulariser=self.regulariser,
        )
        return loss(queries, texts, CandidateFacts.of(batch))


def row_of(query: Numbers, texts: Sequence[Numbers], same: Sequence[int]) -> dict[str, Any]:
    """A row of a query and its candidates; one positive, without a teacher, unless stated."""
    return {
        "query": query,
        "texts": np.concatenate(texts),
        "lengths": [len(text) for text in texts],
        "same": same,
        "positives": 1,
        "scores": (),
    }
