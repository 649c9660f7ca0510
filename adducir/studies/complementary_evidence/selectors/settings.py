"""How a trained model reads and selects: kept beside its weights, in ``evidence.json``."""

from itertools import product
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from adducir.models.artifacts import ModelSettings
from adducir.studies.complementary_evidence.selectors.beam import BeamSettings
from adducir.studies.complementary_evidence.selectors.scoring import Weights
from adducir.studies.complementary_evidence.selectors.selector import Selector

Kind = Literal["complementary", "drn"]
Positive = Annotated[int, Field(ge=1)]
Weight = Annotated[float, Field(ge=0)]


class Selection(Selector):
    """How sets are selected with a complementary model; see :func:`.beam.select_sets`."""

    trained: ClassVar = "adducir.studies.complementary_evidence.selectors.model:ComplementaryModel"

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

    trained: ClassVar = "adducir.studies.complementary_evidence.selectors.drn:DRNModel"

    size: Positive = Field(default=2, description="Passages of a set.")
    novelty: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="What novelty counts, where relevance counts 1 less this.",
    )


class Settings(ModelSettings):
    """What a trained model's use needs to know.

    Attributes:
        length: Tokens of an input.
        pooling: What makes a vector of an input.
        slices: Of DRN's tensor networks.
    """

    file: ClassVar = "evidence.json"
    what: ClassVar = "no model that selects evidence"

    kind: Kind = "complementary"
    length: Annotated[int, Field(ge=8)] | None = None
    pooling: Literal["first", "mean"] = "first"
    slices: Positive = 4
    selection: Selection | DRNSelection = Selection()


def variants(choices: dict[str, tuple[float, ...]]) -> list[dict[str, float]]:
    """Every combination of the values of some keys, the last key's changing fastest."""
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
