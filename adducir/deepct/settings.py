"""What determines how a term weighter reads a text; it is kept beside the weights.

Two named settings:

``original``
    As AdeDZY/DeepCT trains: the words are BERT's basic words, the weight of a word is the raw logit
    of its first word piece, stop words and punctuation marks are in the loss with target 0, and the
    input has 128 pieces. What lies behind them is lost there; here it is a passage of its own.
``adducir``
    The words are those of the index, their weight is the sigmoid of the first piece's logit, stop
    words are not in the loss and have weight 0, and a passage has 510 pieces.
"""

from functools import cached_property
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from adducir.core.recipe import Recipe
from adducir.deepct.passages import Unit
from adducir.deepct.targets import Keys
from adducir.models.artifacts import ModelSettings


class PassageRecipe(Recipe):
    """How texts are cut into passages; see :func:`adducir.deepct.passages.passages`."""

    length: Annotated[int, Field(ge=1)] = 510
    overlap: Annotated[int, Field(ge=0)] = 0
    unit: Unit = "pieces"

    @model_validator(mode="after")
    def _fits(self) -> "PassageRecipe":
        if self.overlap >= self.length:
            raise ValueError("`overlap` must be less than `length`")
        return self


class Settings(ModelSettings):
    """What a term weighter does.

    Attributes:
        text: The fields whose words are weighted.
        keys: What counts as a word: see :mod:`adducir.deepct.targets`.
        activation: What makes a weight of the logit of a word's first piece.
        stop_words: Words whose weight is 0, since the loss left them out and nothing was learned
            about them; in lower case, sorted.
    """

    file: ClassVar = "deepct.json"
    what: ClassVar = "no term weighter"

    text: tuple[str, ...]
    keys: Keys = "words"
    activation: Literal["sigmoid", "none"] = "sigmoid"
    passages: PassageRecipe = PassageRecipe()
    stop_words: tuple[str, ...] = ()

    @cached_property
    def silent(self) -> frozenset[str]:
        """The stop words, for looking up."""
        return frozenset(self.stop_words)


NAMED = {
    "original": {
        "keys": "original",
        "activation": "none",
        "stop_words_in_loss": True,
        "passages": {"length": 126},
    },
    "adducir": {},
}
"""What the named settings say; a recipe's own keys go before."""
