"""The recipe of a dual encoder: ``encoders/NAME.yaml`` makes the encoder ``encoders/NAME/``."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from adducir.corpora.spans.splitting import DEFAULT_SHARES, check_shares
from adducir.encoders.settings import ContextPart, LengthPart, Similarity, Towers
from adducir.models.sources import MINILM
from adducir.models.training import TrainingRecipe
from adducir.study.errors import UsageError
from adducir.study.recipe import Recipe

Several = str | tuple[str, ...]

COSINE_TEMPERATURE = 0.05
"""Cosines lie between -1 and 1: undivided, they could not tell one span from a hundred."""


class DataPart(Recipe):
    """The masked spans to learn from.

    Attributes:
        train: Files of spans.
        validation: Files of spans; none of their groups may be in ``train``. Without them, groups
            of ``train`` are held out by ``shares``.
        shares: The shares of the groups of ``train``; those of ``test`` are not looked at.
        seed: Of that division.
        without: Files of spans whose groups are left out of training and validation: the books or
            questions that a study tests on.
    """

    train: Several
    validation: Several = ()
    shares: dict[Literal["train", "validation", "test"], float] | None = None
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0
    without: Several = ()

    @model_validator(mode="after")
    def _fits(self) -> "DataPart":
        if not listed(self.train):
            raise ValueError("`train` names no file")
        if self.validation and self.shares:
            raise ValueError("`shares` divide `train`, and mean nothing beside `validation`")
        try:
            check_shares(self.divided)
        except UsageError as error:
            raise ValueError(error.what.rstrip(".")) from error
        return self

    @property
    def divided(self) -> dict[str, float]:
        """The shares, default or not."""
        return {f"{name}": share for name, share in (self.shares or DEFAULT_SHARES).items()}


class BatchPart(Recipe):
    """How batches are made up.

    Attributes:
        by: ``group``: all of one book or question, so that negatives are of it as well;
            ``random``: of all.
        at_once: Padded tokens that are computed at a time. What is larger is computed in pieces,
            and once more in the backward pass, so that memory does not limit the batch size;
            the gradient is that of the whole batch. None for no limit.
    """

    by: Literal["group", "random"] = "random"
    at_once: Annotated[int, Field(ge=1)] | None = 16384


class EncoderTraining(TrainingRecipe):
    """The papers' settings where they state them: Adam, 1e-5, 10 epochs, early stopping.

    RELiC has batches of 100 and EGRET states none; a batch's size less one is the number of
    negatives.
    """

    epochs: Annotated[int, Field(ge=1)] = 10
    batch_size: Annotated[int, Field(ge=2)] = 100
    learning_rate: Annotated[float, Field(gt=0)] = 1e-5
    warmup: Annotated[float, Field(ge=0, lt=1)] = 0.0
    weight_decay: Annotated[float, Field(ge=0)] = 0.0


class EncoderRecipe(Recipe):
    """A whole recipe; see docs/encoders.md for its keys."""

    description: str = ""
    kind: Literal["dual-encoder"] = "dual-encoder"
    base: str = MINILM
    tokenizer: str | None = None
    towers: Towers = "separate"
    pooling: Literal["first", "mean", "pooler"] | None = None
    similarity: Similarity | None = None
    temperature: Annotated[float, Field(gt=0)] | None = None
    context: ContextPart = ContextPart()
    lengths: LengthPart = LengthPart()
    data: DataPart
    batches: BatchPart = BatchPart()
    training: EncoderTraining = EncoderTraining()

    @field_validator("context", "lengths", "data", "batches", "training", mode="before")
    @classmethod
    def _said(cls, value: Any) -> Any:
        if value is None:
            raise ValueError("is empty; write its keys below it, or leave it out")
        return value


def listed(value: Several) -> tuple[str, ...]:
    """One name or several, as several."""
    return (value,) if isinstance(value, str) else value
