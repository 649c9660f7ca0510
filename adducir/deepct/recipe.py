"""The recipe of a term weighter: ``deepct/NAME.yaml`` makes the model ``deepct/NAME/``."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from adducir.core.recipe import Recipe
from adducir.deepct.settings import NAMED, PassageRecipe
from adducir.deepct.targets import Keys
from adducir.training.recipe import ModelRecipe, Several
from adducir.training.sources import CorpusPart, WithoutPart


class TopicsPart(Recipe):
    """Topics and judgements, for query term recall.

    Attributes:
        field: The topics' field that is the query.
        grade: The least grade of a judgement that makes the topic a query of the document.
    """

    source: str
    qrels: Several
    field: str | None = None
    grade: int = 1


class HeldOutPart(Recipe):
    """What is kept from training.

    Attributes:
        share: Of the documents, or of the groups: for validation.
        test: The share that training never sees, for `adducir deepct evaluate`.
        by: The field whose documents stay together, such as ``topic``; by default documents are
            held out one by one.
    """

    share: Annotated[float, Field(ge=0, lt=1)] = 0.1
    test: Annotated[float, Field(ge=0, lt=1)] = 0.0
    by: str | None = None
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0


class DeepCTRecipe(ModelRecipe):
    """A whole recipe; see docs/deepct.md for its keys.

    Exactly one of ``reference`` and ``topics`` says where targets come from. ``training_length`` is
    how many tokens of a passage training reads, the special ones included; the rest is weighted
    without having been learnt from.
    """

    kind: Literal["deepct"] = "deepct"
    corpus: CorpusPart
    text: Several
    reference: Several = ()
    topics: TopicsPart | None = None
    without: WithoutPart = WithoutPart()
    settings: Literal["adducir", "original"] = "adducir"
    keys: Keys = "words"
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
