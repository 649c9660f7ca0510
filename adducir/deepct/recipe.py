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
    """The maximum length of a passage."""
    unit: Unit = "pieces"
    """What lengths count: word pieces or words."""


class TermWeighterSettings(ModelSettings):
    """What a term weighter does."""

    file: ClassVar = "deepct.json"
    what: ClassVar = "not a term weighter"

    text: tuple[str, ...]
    """The fields whose words get weights."""
    tokenization: Tokenization = "lucene"
    """What a word is, for Lucene or for BERT."""
    activation: Literal["sigmoid", "none"] = "sigmoid"
    """The activation of a word's first piece; none for its logit."""
    passages: PassageRecipe = PassageRecipe()
    """How texts are split into passages."""
    stop_words: tuple[str, ...] = ()
    """Words that are not trained, so their weight is 0; sorted."""

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
    """The topics: an ir_datasets id or a file."""
    qrels: Several
    """Their judgements, one source or several."""
    field: str | None = None
    """The topics' field with the query."""
    grade: int = 1
    """The lowest grade that makes a topic a query of the document."""


class HeldOutPart(HeldOut):
    """What is held out from training: shares of the documents, or of groups of them."""

    by: str | None = None
    """Documents with the same value of this field stay together."""


class DeepCTRecipe(ModelRecipe):
    """A whole recipe; see docs/deepct.md for its keys."""

    kind: Literal["deepct"] = "deepct"
    """What the recipe trains."""
    corpus: CorpusPart
    """The documents to train on."""
    text: Several
    """The field or fields whose words get weights."""
    reference: Several = ()
    """The field or fields whose words are the targets."""
    topics: TopicsPart | None = None
    """Topics with judgements, for query term recall, instead of `reference`."""
    without: WithoutPart = WithoutPart()
    """The documents to leave out of training (leak control)."""
    settings: Literal["adducir", "original"] = "adducir"
    """The named settings, which the recipe's own keys override."""
    tokenization: Tokenization = "lucene"
    """What a word is, for Lucene or for BERT."""
    activation: Literal["sigmoid", "none"] = "sigmoid"
    """The activation of a word's first piece; none for its logit."""
    stop_words_in_loss: bool = False
    """Whether stop words count in the loss, with target 0."""
    stopwords: str = "english"
    """The stop words: english, nltk, lucene, none, or a file."""
    passages: PassageRecipe = PassageRecipe()
    """How texts are split into passages."""
    training_length: Annotated[int, Field(ge=3)] | None = None
    """Tokens of a passage read in training, special ones included; by default all."""
    keep_empty: bool = True
    """Whether to train on passages without a positive target."""
    most: Annotated[int, Field(ge=1)] | None = None
    """Maximum training passages, drawn by seed; by default all."""
    held_out: HeldOutPart = HeldOutPart()
    """What is held out from training."""

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
