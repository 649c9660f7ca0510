"""The recipes of models that select evidence: ``rerankers/NAME.yaml`` makes ``rerankers/NAME/``.

``kind: complementary`` is the model of Mou et al. (2020); with both weights 0 it is their baseline,
the relevance-only ranker. ``kind: drn`` is their other baseline, DRN with BERT.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from adducir.core.recipe import Recipe
from adducir.studies.complementary_evidence.selectors.losses import MARGIN
from adducir.studies.complementary_evidence.selectors.network import Pooling
from adducir.studies.complementary_evidence.selectors.settings import (
    DRNSelection,
    Positive,
    Selection,
    Settings,
    Weight,
)
from adducir.training.division import DataPart
from adducir.training.recipe import ModelRecipe, TrainingRecipe

Weightings = Weight | Annotated[tuple[Weight, ...], Field(min_length=1)]
Numbers = Positive | Annotated[tuple[Positive, ...], Field(min_length=1)]


class EvidenceData(DataPart):
    """The questions to learn from; without ``validation``, single questions are held out.

    Attributes:
        passages: ``all``: relevance is learnt from all passages; ``sets``: from those of the
            labelled sets, which takes less time where pools are large.
    """

    passages: Literal["all", "sets"] = "all"


class WeightsPart(Recipe):
    """What the terms of the loss count, where relevance counts 1; 0 leaves a term out."""

    diversity: Weight = 1.0
    compactness: Weight = 1.0


class SelectionPart(Recipe):
    """How sets are selected: one value each, or several to choose from on the validation questions.

    Attributes:
        size: L, passages of a set.
        beam: M, sets kept.
        candidates: N, the passages that sets are made of.
        diversity: Weight in g; by default that of the loss.
        compactness: Weight in g; by default that of the loss.
    """

    size: Positive = 2
    beam: Numbers = 3
    candidates: Numbers = 4
    diversity: Weightings | None = None
    compactness: Weightings | None = None


class DRNSelectionPart(Recipe):
    """How DRN selects.

    Attributes:
        novelty: What novelty counts beside relevance, 0 to 1; several to choose from.
    """

    size: Positive = 2
    novelty: (
        Annotated[float, Field(ge=0, le=1)]
        | Annotated[tuple[Annotated[float, Field(ge=0, le=1)], ...], Field(min_length=1)]
    ) = (0.1, 0.25, 0.5, 0.75, 0.9)


class EvidenceTraining(TrainingRecipe):
    """How a model is trained; a batch is of questions, each with all its passages."""

    batch_size: Annotated[int, Field(ge=1)] = 4
    at_once: Annotated[int, Field(ge=1)] = 16384


class EvidenceRecipe(ModelRecipe):
    """The keys that both kinds have.

    Attributes:
        length: Tokens of an input; by default what the model can read, 512 at most.
        pooling: The vector of an input: the first token's, or the mean of the passage's own.
        layers: The topmost layers that are trained; by default all, and the embeddings. What the
            others make of the texts is computed once, and kept in a file.
    """

    length: Annotated[int, Field(ge=8)] | None = None
    pooling: Pooling = "first"
    layers: Positive | None = None
    data: EvidenceData
    training: EvidenceTraining = EvidenceTraining()


class ComplementaryRecipe(EvidenceRecipe):
    """The complementary model; see docs/evidence-sets.md for its keys."""

    kind: Literal["complementary"] = "complementary"
    weights: WeightsPart = WeightsPart()
    margin: Annotated[float, Field(ge=-1, le=1)] = MARGIN
    selection: SelectionPart = SelectionPart()


class DRNRecipe(EvidenceRecipe):
    """DRN with BERT; see docs/evidence-sets.md for its keys."""

    kind: Literal["drn"]
    slices: Positive = 4
    selection: DRNSelectionPart = DRNSelectionPart()


def grid_of(recipe: ComplementaryRecipe | DRNRecipe) -> dict[str, tuple[float, ...]]:
    """The values of each setting of the selection."""
    details: dict[str, Any] = recipe.selection.model_dump(exclude_none=True)
    if isinstance(recipe, ComplementaryRecipe):
        details = recipe.weights.model_dump() | details
        order = ("size", "beam", "candidates", "diversity", "compactness")
        details = {key: details[key] for key in order}
    return {key: value if isinstance(value, tuple) else (value,) for key, value in details.items()}


def first_settings(recipe: ComplementaryRecipe | DRNRecipe) -> Settings:
    """The model's settings before any choice: the first value of each."""
    first = {key: values[0] for key, values in grid_of(recipe).items()}
    kind = DRNSelection if isinstance(recipe, DRNRecipe) else Selection
    return Settings(
        kind=recipe.kind,
        length=recipe.length,
        pooling=recipe.pooling,
        slices=recipe.slices if isinstance(recipe, DRNRecipe) else 4,
        selection=kind.model_validate(first),
    )
