"""What an encoder does with contexts and spans; it is kept beside the weights."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from adducir.core.recipe import Recipe
from adducir.models.artifacts import ModelSettings

QUERY_FOLDER, DOCUMENT_FOLDER = "query", "document"
"""The folders of the two towers."""

Similarity = Literal["dot", "cosine"]
Towers = Literal["separate", "shared"]
Some = Annotated[int, Field(ge=0)] | None


class ContextPart(Recipe):
    """What is read of a context; see :func:`adducir.corpora.spans.context`.

    Attributes:
        left: Sentences on the left of the mask, the nearest; None for all, 0 for none.
        right: Sentences on the right.
        words: Words of each side, the nearest, after the cut to sentences; None for all.
        tokens: The model's tokens of each side, the nearest, after that; None for all.
        mask: Whether the tokenizer's mask token stands in place of the span.
    """

    left: Some = None
    right: Some = None
    words: Some = None
    tokens: Some = None
    mask: bool = True


class LengthPart(Recipe):
    """Tokens that are read at most, special ones included; None for what the network can.

    Attributes:
        context: Of a context. What is too much is cut at its outer ends.
        span: Of a span or document, cut at its end.
    """

    context: Annotated[int, Field(ge=4)] | None = None
    span: Annotated[int, Field(ge=3)] | None = None


class Settings(ModelSettings):
    """How an encoder reads and compares.

    Attributes:
        towers: Whether contexts and spans have a network each.
        similarity: What compares vectors; with ``cosine`` they have length 1.
    """

    file: ClassVar = "encoder.json"
    what: ClassVar = "no encoder that Adducir trained"

    towers: Towers = "shared"
    similarity: Similarity = "dot"
    context: ContextPart = ContextPart(mask=False)
    lengths: LengthPart = LengthPart()
