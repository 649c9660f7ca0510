"""What every reranker is: a recipe, ``rerankers/NAME.yaml``, that loads a model.

A model scores pairs of query and text (:class:`Pointwise`); each kind has a file with its keys.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from adducir.core.json_lines import json_object
from adducir.core.recipe import Recipe
from adducir.models.artifacts import write_settings
from adducir.models.machine import Precision
from adducir.models.work import PLAIN, Running, computed
from adducir.training.recipe import Several

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from adducir.models.sources import ModelSource

Length = Annotated[int, Field(ge=1)]
Pair = tuple[str, str]
Scores = NDArray[np.float64]

SETTINGS_FILE = "reranker.json"
"""How a trained reranker reads texts: kept beside its weights."""
_OF_TRAINING = {"kind", "description", "base", "tokenizer", "examples", "held_out", "training"}


class Pointwise(ABC):
    """A network with its tokenizer; a kind gives ``encode`` and ``values``, or ``scores``."""

    network: Any = None
    tokenizer: Any
    running: Running = PLAIN

    def to(self, device: "torch.device") -> None:
        if self.network is not None:
            self.network.to(device)

    def encode(self, pairs: Sequence[Pair]) -> Sequence[Any]:
        """What the network reads of each pair; its ``len()`` is in tokens."""
        raise NotImplementedError

    def values(self, batch: Sequence[Any]) -> "torch.Tensor":
        """(n,) the scores of encoded pairs."""
        raise NotImplementedError

    def scores(self, pairs: Sequence[Pair]) -> Scores:
        """(n,) scores of pairs, greater for better; they depend on others only if listwise."""
        inputs = self.encode(pairs)

        def compute(numbers: NDArray[np.int64]) -> list[float]:
            return self.values([inputs[n] for n in numbers]).double().tolist()

        found = computed(self.network, list(map(len, inputs)), compute, self.running)
        return np.array(found, dtype=float)


class RerankerRecipe(Recipe):
    """The keys of every reranker; a subclass adds those of its kind.

    Attributes:
        is_listwise: Whether it puts lists in order: a score depends on the other texts of a query.
        classes: Endings of the classes of transformers that its weights may be of, by their
            configuration; none where any are taken.
        scores: What :meth:`scale` says, where it is the same for all models of the kind.
        kind: What distinguishes this recipe from others.
        description: For readers.
        model: The kind of model.
        base: Its weights: a folder, ``minilm`` or a name of the Hugging Face Hub; empty for a
            kind that has none.
        tokenizer: Where the tokenizer comes from, if the weights bring none.
        fields: The document's fields that are read; by default those that the index has.
        precision: What the network computes in.
        batch_tokens: Padded tokens in a batch; by default what suits the device.
    """

    is_listwise: ClassVar[bool] = False
    classes: ClassVar[tuple[str, ...]] = ()
    scores: ClassVar[str] = ""

    kind: Literal["reranker"] = "reranker"
    description: str = ""
    model: str
    base: str
    tokenizer: str | None = None
    fields: Several = ()
    precision: Precision = "float32"
    batch_tokens: Length | None = None

    @property
    def fingerprint_inputs(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude=_OF_TRAINING | {"fields", "batch_tokens"})

    def save(self, folder: "Path") -> None:
        write_settings(folder / SETTINGS_FILE, self.model_dump(mode="json", exclude=_OF_TRAINING))

    @classmethod
    def fits(cls, source: "ModelSource") -> bool:
        """Whether a model without a recipe is one of this kind, by what its files say."""
        return False

    @abstractmethod
    def load(self, source: "ModelSource") -> Pointwise:
        """The model, on the CPU; a kind whose ``base`` is empty does not look at ``source``."""

    def scale(self, source: "ModelSource") -> str:
        """What its scores are, in a few words; the model is not loaded for that."""
        return self.scores


def has_architecture(source: "ModelSource", *endings: str) -> bool:
    """Whether a model is of a class whose name ends so, such as ``ForSequenceClassification``."""
    names = json_object(source.local() / "config.json").get("architectures")
    return isinstance(names, list) and any(str(name).endswith(endings) for name in names)
