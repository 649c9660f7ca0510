"""What an encoder does with contexts and spans; it is kept beside the weights."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from adducir.core.recipe import Recipe
from adducir.models.settings import settings_in, write_settings

SETTINGS_FILE = "encoder.json"
QUERY_FOLDER, DOCUMENT_FOLDER = "query", "document"
"""The folders of the two towers."""

Similarity = Literal["dot", "cosine"]
Towers = Literal["separate", "shared"]
Some = Annotated[int, Field(ge=0)] | None


class ContextPart(Recipe):
    """What is read of a context; see :func:`adducir.datasets.spans.record.context`.

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


class Settings(Recipe):
    """How an encoder reads and compares.

    Attributes:
        towers: Whether contexts and spans have a network each.
        similarity: What compares vectors; with ``cosine`` they have length 1.
    """

    towers: Towers = "shared"
    similarity: Similarity = "dot"
    context: ContextPart = ContextPart(mask=False)
    lengths: LengthPart = LengthPart()


def save_settings(folder: Path, settings: Settings) -> None:
    """Write the settings into a model's folder."""
    write_settings(folder / SETTINGS_FILE, settings.model_dump(mode="json"))


def load_settings(folder: Path) -> Settings:
    """Read the settings of an encoder that Adducir trained.

    Raises:
        InputError: There are none, or they are damaged.
    """
    return settings_in(folder / SETTINGS_FILE, Settings)
