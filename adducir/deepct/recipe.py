"""The recipe of a term weighter, and the settings that are kept beside its weights."""

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from adducir.core.recipe import Recipe
from adducir.deepct.terms import Tokenization, Unit
from adducir.models.artifacts import ModelSettings
from adducir.training.data import CorpusPart, HeldOut
from adducir.training.leaks import WithoutPart
from adducir.training.recipe import ModelRecipe, Several


class PassageRecipe(Recipe):
    """How texts are cut into passages; see :func:`adducir.deepct.terms.passages`."""

    length: Annotated[int, Field(ge=1)] = 510
    unit: Unit = "pieces"


class Settings(ModelSettings):
    """What a term weighter does."""

    file: ClassVar = "deepct.json"
    what: ClassVar = "not a term weighter"

    text: tuple[str, ...]  # the fields whose words are weighted
    tokenization: Tokenization = "lucene"  # see terms.py
    activation: Literal["sigmoid", "none"] = "sigmoid"  # of a word's first piece
    passages: PassageRecipe = PassageRecipe()
    stop_words: tuple[str, ...] = ()  # nothing was learned about them: weight 0; sorted

    @cached_property
    def silent(self) -> frozenset[str]:
        return frozenset(self.stop_words)


NAMED = {
    "original": {
        "tokenization": "bert",
        "activation": "none",
        "stop_words_in_loss": True,
        "passages": {"length": 126},
    },
    "adducir": {},
}
"""What the named settings say; a recipe's own keys override them.

``original`` is what AdeDZY/DeepCT does: the weight of one of BERT's basic words is the raw logit of
its first word piece, stop words and punctuation marks are in the loss with target 0, and the input
has 128 pieces. What lies beyond is lost there; here it is a passage of its own.
"""


class TopicsPart(Recipe):
    """Topics and judgements, for query term recall."""

    source: str
    qrels: Several
    field: str | None = None  # the topics' field that is the query
    grade: int = 1  # the least that makes a topic a query of the document


class HeldOutPart(HeldOut):
    """What is kept from training: shares of the documents, or of groups of them."""

    by: str | None = None  # the field whose documents stay together


class DeepCTRecipe(ModelRecipe):
    """A whole recipe; see docs/deepct.md for its keys."""

    kind: Literal["deepct"] = "deepct"
    corpus: CorpusPart
    text: Several
    reference: Several = ()
    topics: TopicsPart | None = None
    without: WithoutPart = WithoutPart()
    settings: Literal["adducir", "original"] = "adducir"
    tokenization: Tokenization = "lucene"
    activation: Literal["sigmoid", "none"] = "sigmoid"
    stop_words_in_loss: bool = False
    stopwords: str = "english"
    passages: PassageRecipe = PassageRecipe()
    training_length: Annotated[int, Field(ge=3)] | None = None
    keep_empty: bool = True
    most: Annotated[int, Field(ge=1)] | None = None
    held_out: HeldOutPart = HeldOutPart()

    @model_validator(mode="before")
    @classmethod
    def _named_settings(cls, data: Any) -> Any:
        """What the named settings say, where the recipe itself says nothing."""
        if not isinstance(data, dict) or data.get("settings") not in NAMED:
            return data
        named: dict[str, Any] = NAMED[data["settings"]]
        merged = {**named, **data}
        for key, value in named.items():
            if isinstance(value, dict) and isinstance(data.get(key), dict):
                merged[key] = {**value, **data[key]}
        return merged

    @model_validator(mode="after")
    def _one_supervision(self) -> "DeepCTRecipe":
        if bool(self.reference) == (self.topics is not None):
            raise ValueError(
                "targets come from exactly one of `reference` (fields) and `topics` (with qrels)"
            )
        return self
