"""How a trained model reads and selects: kept beside its weights, in ``evidence.json``."""

from itertools import product
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from adducir.core.errors import InputError
from adducir.core.recipe import Recipe
from adducir.models.settings import settings_in, write_settings
from adducir.selectors.beam import BeamSettings
from adducir.selectors.scoring import Weights
from adducir.selectors.selector import Selector

SETTINGS_FILE = "evidence.json"

Kind = Literal["complementary", "drn"]
Positive = Annotated[int, Field(ge=1)]
Weight = Annotated[float, Field(ge=0)]


class Selection(Selector):
    """How sets are selected with a complementary model; see :func:`.beam.select_sets`."""

    trained: ClassVar = "adducir.selectors.model:ComplementaryModel"

    size: Positive = Field(default=2, description="L, passages of a set.")
    beam: Positive = Field(default=3, description="M, sets kept.")
    candidates: Positive = Field(
        default=4, description="N, the most relevant passages, of which sets are made."
    )
    diversity: Weight = Field(
        default=1.0, description="What the passages' distances count, where relevance counts 1."
    )
    compactness: Weight = Field(
        default=1.0,
        description="What the sum's cosine with the question counts, where relevance counts 1.",
    )

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


class DRNSelection(Selector):
    """How DRN selects."""

    trained: ClassVar = "adducir.selectors.drn:DRNModel"

    size: Positive = Field(default=2, description="Passages of a set.")
    novelty: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="What novelty counts, where relevance counts 1 less this.",
    )


class Settings(Recipe):
    """What a trained model's use needs to know.

    Attributes:
        length: Tokens of an input.
        pooling: What makes a vector of an input.
        slices: Of DRN's tensor networks.
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
            hint="Name a folder that `adducir train` made of a recipe of that kind.",
        )
    return settings_in(folder / SETTINGS_FILE, Settings)


def variants(choices: dict[str, tuple[float, ...]]) -> list[dict[str, float]]:
    """Every combination of the values of some keys, the last key's changing fastest."""
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
