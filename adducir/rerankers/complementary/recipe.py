"""The recipes of models that select evidence: ``rerankers/NAME.yaml`` makes ``rerankers/NAME/``.

``kind: complementary`` is the model of Mou et al. (2020); with both weights 0 it is their baseline,
the relevance-only ranker. ``kind: drn`` is their other baseline, DRN with BERT.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from adducir.corpora.spans.splitting import DEFAULT_SHARES, check_shares
from adducir.models.sources import MINILM
from adducir.models.training import TrainingRecipe
from adducir.rerankers.complementary.losses import MARGIN
from adducir.rerankers.complementary.network import Pooling
from adducir.rerankers.complementary.settings import Positive, Weight
from adducir.study.errors import UsageError
from adducir.study.recipe import Recipe

Several = str | tuple[str, ...]
Weightings = Weight | Annotated[tuple[Weight, ...], Field(min_length=1)]
Numbers = Positive | Annotated[tuple[Positive, ...], Field(min_length=1)]


class EvidenceData(Recipe):
    """The questions to learn from.

    Attributes:
        train: Files of questions with true sets and labelled sets.
        validation: Files of questions, none of them in ``train``. Without them, questions of
            ``train`` are held out by ``shares``.
        shares: The shares of the questions of ``train``; those of ``test`` are not looked at.
        seed: Of that division.
        without: Files of questions that are left out: those that a study tests on.
        passages: ``all``: relevance is learnt from all passages; ``sets``: from those of the
            labelled sets, which takes less time where pools are large.
    """

    train: Several
    validation: Several = ()
    shares: dict[Literal["train", "validation", "test"], float] | None = None
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0
    without: Several = ()
    passages: Literal["all", "sets"] = "all"

    @model_validator(mode="after")
    def _fits(self) -> "EvidenceData":
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
        size: Passages of a set.
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


class EvidenceRecipe(Recipe):
    """The keys that both kinds have.

    Attributes:
        description: For readers.
        base: The pretrained encoder.
        tokenizer: The model whose tokenizer it takes, if it has none of its own.
        length: Tokens of an input; by default what the model can read, 512 at most.
        pooling: The vector of an input: the first token's, or the mean of the passage's own.
        layers: The topmost layers that are trained; by default all, and the embeddings. What the
            others make of the texts is computed once, and kept in memory.
        data: What to learn from.
        training: How.
    """

    description: str = ""
    base: str = MINILM
    tokenizer: str | None = None
    length: Annotated[int, Field(ge=8)] | None = None
    pooling: Pooling = "first"
    layers: Positive | None = None
    data: EvidenceData
    training: EvidenceTraining = EvidenceTraining()

    @field_validator("data", "training", "weights", "selection", mode="before", check_fields=False)
    @classmethod
    def _said(cls, value: Any) -> Any:
        if value is None:
            raise ValueError("is empty; write its keys below it, or leave it out")
        return value


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


def listed(value: Several) -> tuple[str, ...]:
    """One name or several, as several."""
    return (value,) if isinstance(value, str) else value


def choices(value: float | tuple[float, ...]) -> tuple[float, ...]:
    """One value or several, as several."""
    return value if isinstance(value, tuple) else (value,)
