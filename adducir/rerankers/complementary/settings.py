"""How a trained model reads and selects: kept beside its weights, in ``evidence.json``."""

from itertools import product
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from adducir.models.settings import settings_in, write_settings
from adducir.rerankers.complementary.beam import BeamSettings
from adducir.rerankers.complementary.scoring import Weights
from adducir.study.errors import InputError
from adducir.study.recipe import Recipe

SETTINGS_FILE = "evidence.json"

Kind = Literal["complementary", "drn"]
Positive = Annotated[int, Field(ge=1)]
Weight = Annotated[float, Field(ge=0)]


class Selection(Recipe):
    """How sets are selected with a complementary model; see :func:`.beam.select_sets`.

    Attributes:
        size: L, passages of a set.
        beam: M, sets kept.
        candidates: N, the passages that sets are made of.
        diversity: The weight of diversity in g.
        compactness: The weight of compactness in g.
    """

    size: Positive = 2
    beam: Positive = 3
    candidates: Positive = 4
    diversity: Weight = 1.0
    compactness: Weight = 1.0

    @model_validator(mode="after")
    def _fits(self) -> "Selection":
        if self.candidates < self.size:
            raise ValueError(f"{self.candidates} candidates make no set of {self.size}")
        return self

    @property
    def weights(self) -> Weights:
        """The weights of g."""
        return Weights(self.diversity, self.compactness)

    @property
    def search(self) -> BeamSettings:
        """L, M and N."""
        return BeamSettings(self.size, self.beam, self.candidates)


class DRNSelection(Recipe):
    """How DRN selects.

    Attributes:
        size: Passages of a set.
        novelty: What novelty counts where relevance counts one minus this.
    """

    size: Positive = 2
    novelty: Annotated[float, Field(ge=0, le=1)] = 0.5


class Settings(Recipe):
    """What a trained model's use needs to know.

    Attributes:
        kind: The model.
        length: Tokens of an input.
        pooling: What makes a vector of an input.
        slices: Of DRN's tensor networks.
        selection: How sets are selected, where nothing else is asked for.
    """

    kind: Kind = "complementary"
    length: Annotated[int, Field(ge=8)] | None = None
    pooling: Literal["first", "mean"] = "first"
    slices: Positive = 4
    selection: Selection | DRNSelection = Selection()


def save_settings(folder: Path, settings: Settings) -> None:
    """Write the settings into a model's folder."""
    write_settings(folder / SETTINGS_FILE, settings.model_dump(mode="json"))


def load_settings(folder: Path) -> Settings:
    """Read what :func:`save_settings` wrote.

    Raises:
        InputError: There is nothing, or it is damaged.
    """
    if not (folder / SETTINGS_FILE).is_file():
        raise InputError(
            f"this is no model that selects evidence: it holds no {SETTINGS_FILE}.",
            path=folder,
            mend="Name a folder that `adducir train` made of a recipe of that kind.",
        )
    return settings_in(folder / SETTINGS_FILE, Settings)


def variants(choices: dict[str, tuple[float, ...]]) -> list[dict[str, float]]:
    """Every combination of the values of some keys, the last key's changing fastest."""
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
