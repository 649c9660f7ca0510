"""The recipe of a term weighter, and the settings stored beside its weights."""

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from adducir.core.recipe import Recipe, Several
from adducir.corpora.reading import QrelsReading, TopicReading
from adducir.deepct.terms import Tokenization, Unit
from adducir.models.artifacts import ModelSettings
from adducir.training.data import CorpusPart, HeldOut
from adducir.training.leaks import WithoutPart
from adducir.training.recipe import ModelRecipe


class PassageRecipe(Recipe):
    """How texts are split into passages; see :func:`adducir.deepct.terms.passages`."""

    length: Annotated[int, Field(ge=1)] = 510
    unit: Unit = "pieces"


class TermWeighterSettings(ModelSettings):
    """What a term weighter does."""

    file: ClassVar = "deepct.json"
    what: ClassVar = "not a term weighter"

    text: tuple[str, ...]  # the fields with the words to weight
    tokenization: Tokenization = "lucene"  # see terms.py
    activation: Literal["sigmoid", "none"] = "sigmoid"  # of a word's first piece
    passages: PassageRecipe = PassageRecipe()
    stop_words: tuple[str, ...] = ()  # not trained, so weight 0; sorted

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
"""The named settings; a recipe's own keys override them.

``original`` follows AdeDZY/DeepCT: the weight of a BERT basic word is the raw logit of its first
word piece, stop words and punctuation are in the loss with target 0, and inputs have 128 pieces.
There the rest is lost; here it becomes further passages.
"""


class TopicsPart(TopicReading, QrelsReading):
    """Topics and judgements, for query term recall."""

    source: str
    qrels: Several
    field: str | None = None  # the topics' field with the query
    grade: int = 1  # the lowest grade that makes a topic a query of the document


class HeldOutPart(HeldOut):
    """What is held out from training: shares of the documents, or of groups of them."""

    by: str | None = None  # documents with the same value of this field stay together


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
        """Fill in the named settings for keys that the recipe omits."""
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
