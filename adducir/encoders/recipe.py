"""The recipe of a dual encoder: ``encoders/NAME.yaml`` makes the encoder ``encoders/NAME/``."""

from typing import Annotated, Literal

from pydantic import Field

from adducir.core.recipe import Recipe
from adducir.encoders.settings import ContextPart, LengthPart, Similarity, Towers
from adducir.training.division import DataPart
from adducir.training.recipe import ModelRecipe, TrainingRecipe

COSINE_TEMPERATURE = 0.05
"""Cosines lie between -1 and 1: undivided, they could not distinguish one span from a hundred."""


class BatchPart(Recipe):
    """How batches are made up.

    Attributes:
        by: ``group``: all of one book or question, so that negatives are of it as well;
            ``filled-group``: the same, always of ``batch_size``, with items that are in other
            batches as well (RELiC's official code); ``random``: of all.
        equal_texts: Spans whose text is that of a context's own: ``masked``, no negatives of it,
            or ``negatives``, as the papers have it.
        negatives: Hard negatives of each span that are read, at most: the first of its own in the
            file of spans.
        at_once: Padded tokens that are computed at a time. What is larger is computed in pieces,
            and once more in the backward pass, so that memory does not limit the batch size:
            gradient caching (see :mod:`adducir.encoders.pieces`). None for no limit.
    """

    by: Literal["group", "filled-group", "random"] = "random"
    equal_texts: Literal["masked", "negatives"] = "masked"
    negatives: Annotated[int, Field(ge=0)] = 0
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


class EncoderRecipe(ModelRecipe):
    """A whole recipe; see docs/encoders.md for its keys."""

    kind: Literal["dual-encoder"] = "dual-encoder"
    towers: Towers = "separate"
    pooling: Literal["first", "mean", "pooler"] | None = None
    similarity: Similarity | None = None
    temperature: Annotated[float, Field(gt=0)] | None = None
    context: ContextPart = ContextPart()
    lengths: LengthPart = LengthPart()
    data: DataPart
    batches: BatchPart = BatchPart()
    training: EncoderTraining = EncoderTraining()
