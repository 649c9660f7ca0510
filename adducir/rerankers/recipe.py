"""What all rerankers' recipes have in common: ``rerankers/NAME.yaml``.

Each model's own keys stand in its file.
"""

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from adducir.core.recipe import Recipe
from adducir.models.artifacts import write_settings
from adducir.models.machine import Precision
from adducir.training.recipe import Several

if TYPE_CHECKING:
    from adducir.models.sources import ModelSource
    from adducir.rerankers.scoring import Listwise, Pointwise

Length = Annotated[int, Field(ge=1)]

SETTINGS_FILE = "reranker.json"
"""How a trained reranker reads texts: kept beside its weights."""
_OF_TRAINING = {"kind", "base", "tokenizer", "description", "examples", "held_out", "labels"}
_NOT_DECIDING = frozenset(
    {"kind", "description", "base", "tokenizer", "fields", "passages", "batch_tokens"}
    | {"examples", "held_out", "labels", "training"}
)


class PassagesPart(Recipe):
    """Which part of a document is scored.

    Attributes:
        take: The score of a document is that of its first passage (FirstP), the greatest of its
            passages' (MaxP), or their mean (AvgP; Dai and Callan, SIGIR 2019).
        length: Of a passage. The first passage is by default as long as the model can read; the
            others by default have 150 words, as in the paper.
        stride: From one passage's beginning to the next one's, at most; by default half a length.
        unit: What lengths are counted in.
    """

    take: Literal["first", "best", "mean"] = "first"
    length: Length | None = None
    stride: Length | None = None
    unit: Literal["words", "pieces"] = "words"

    @model_validator(mode="after")
    def _fits(self) -> "PassagesPart":
        if self.stride is not None and self.take == "first":
            raise ValueError("`stride` means nothing where the first passage is taken")
        if self.stride is not None and self.stride > (self.length or 150):
            raise ValueError("`stride` must not be more than `length`: words would be left out")
        return self

    def cut(self) -> tuple[int, int] | None:
        """Length and overlap of passages; None where the model itself cuts the document."""
        if self.take == "first":
            return None if self.length is None else (self.length, 0)
        length = self.length or 150
        return length, length - (self.stride or max(1, length // 2))


class RerankerRecipe(Recipe):
    """The keys of every reranker; a subclass adds those of its kind.

    Attributes:
        is_listwise: Whether it puts lists in order rather than scores pairs; such a kind has the
            keys ``window`` and ``stride``.
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
        passages: Which part of a document is scored.
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
    passages: PassagesPart = PassagesPart()
    precision: Precision = "float32"
    batch_tokens: Length | None = None

    @property
    def fingerprint_inputs(self) -> dict[str, Any]:
        """What determines the score of a pair, beside the weights."""
        return self.model_dump(mode="json", exclude=set(_NOT_DECIDING))

    def save(self, folder: Path) -> None:
        """Write what a trained model's use needs to know of its recipe."""
        details = self.model_dump(mode="json", exclude={*_OF_TRAINING, "training"})
        write_settings(folder / SETTINGS_FILE, details)

    @classmethod
    def fits(cls, source: "ModelSource") -> bool:
        """Whether a model without a recipe is one of this kind, by what its files say."""
        del source
        return False

    @abstractmethod
    def load(self, source: "ModelSource") -> "Pointwise | Listwise":
        """The model, on the processor.

        Args:
            source: Its weights; of a kind whose ``base`` is empty, not to be looked at.

        Raises:
            InputError: It cannot be loaded, or is of another kind.
            MachineError: It cannot be fetched.
        """

    def scale(self, source: "ModelSource") -> str:
        """What its scores are, in a few words; the model is not loaded for that."""
        del source
        return self.scores
