"""The keys of retriever, guide and phases; see docs/hindsight.md."""

from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import Field, model_validator

from adducir.core.recipe import Recipe
from adducir.models.machine import Precision
from adducir.models.sources import MINILM
from adducir.training.recipe import TrainingRecipe

Length = Annotated[int, Field(ge=1)]
LossName: TypeAlias = Literal["elbo", "marginal", "reconstruction", "kl"]
Part: TypeAlias = Literal["retriever", "guide", "generator"]
PARTS: tuple[Part, ...] = get_args(Part)
READS: dict[LossName, frozenset[Part]] = {
    "elbo": frozenset(PARTS),
    "marginal": frozenset({"retriever", "generator"}),
    "reconstruction": frozenset({"guide", "generator"}),
    "kl": frozenset({"retriever", "guide"}),
}
"""The parts that each loss uses."""

TRAINS: dict[LossName, frozenset[Part]] = {
    **READS,
    "reconstruction": frozenset({"generator"}),
    "kl": frozenset({"retriever"}),
}
"""The parts that each loss trains; all others are frozen."""


class TowersRecipe(Recipe):
    """The initial retriever and guide, and what is trained.

    A frozen network computes the vectors of all texts once. The adapter, after the layers of each
    tower, is a matrix (``full``) initialised as the checkpoint's projection or the identity, or a
    low-rank matrix added to it. Scores are multiplied by ``scale``.
    """

    base: str = MINILM
    """The checkpoint of both."""
    vectors: Literal["one", "colbert"] = "one"
    """One vector per text, or one per token as in ColBERT."""
    network: Literal["frozen", "trained"] = "frozen"
    """Whether the network is trained."""
    adapter: Literal["none", "full"] | Annotated[int, Field(ge=1)] = 16
    """The rank of the adapter, or full."""
    towers: Literal["shared", "separate"] = "separate"
    """Whether queries and passages share layers and adapter."""
    query_length: Length = 64
    """Tokens of a query, counted from its end."""
    document_length: Length = 180
    """Tokens of a passage, from its beginning."""
    scale: Annotated[float, Field(gt=0)] | None = None
    """The factor of scores; by default 20 with one vector, 1 with several."""
    train_scale: bool = False
    """Whether the factor is trained."""

    @model_validator(mode="after")
    def _trains(self) -> "TowersRecipe":
        if self.network == "frozen" and self.adapter == "none" and not self.train_scale:
            raise ValueError("nothing is trained: `network: trained` or an `adapter` is needed")
        return self


class GuideRecipe(Recipe):
    order: Literal["input-target", "target-input"] = "input-target"
    """What it reads first."""
    separator: str = " | "
    """The text between input and target."""

    def query(self, input_: str, target: str) -> str:
        both = (input_, target) if self.order == "input-target" else (target, input_)
        return self.separator.join(both)


class ClosedRecipe(Recipe):
    """The closed sets of a round: r passages (``depth``) of all, or of BM25's top ones.

    ``precision`` is that of a trained network's layers when encoding passages; training and queries
    have their own. ``bfloat16`` is accurate to about 1e-2.
    """

    depth: Length = 100
    """Passages per list."""
    candidates: Literal["all", "bm25"] = "all"
    """What is scored for each context: all passages, or BM25's top ones."""
    candidate_depth: Length = 1000
    """How many of BM25's."""
    precision: Precision = "float32"
    """The precision of a trained network when it encodes passages."""

    @model_validator(mode="after")
    def _fits(self) -> "ClosedRecipe":
        if self.candidates != "all" and self.candidate_depth < self.depth:
            raise ValueError("`candidate_depth` must be `depth` or more")
        return self


class SampleRecipe(Recipe):
    """How the k passages of an example are sampled.

    ``guide`` or ``retriever``: drawn from that list; ``top``: the top of the retriever's;
    ``mixture``: from the retriever's list with probability ``alpha``, else from the guide's.
    """

    k: Length = 8
    """Passages per example."""
    sampler: Literal["guide", "retriever", "top", "mixture"] = "mixture"
    """Where they come from."""
    alpha: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The probability of the retriever's list in a mixture."""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    """The temperature of the scores in a draw."""


class PhaseRecipe(Recipe):
    """A phase of training, with its own loss and schedule.

    The parts that the loss does not train are frozen. Each round rebuilds the closed sets; 0
    rounds: those of the previous phase. Passages are resampled in each epoch.
    """

    loss: LossName = "elbo"
    """What is minimised."""
    rounds: Annotated[int, Field(ge=0)] = 1
    """How often the phase rebuilds closed sets and trains."""
    sample: SampleRecipe = SampleRecipe()
    """The passages of each example."""
    validation: SampleRecipe = SampleRecipe(k=100, sampler="top")
    """The passages of the validation loss."""
    training: TrainingRecipe = TrainingRecipe()
    """How to train."""


Nothing = Annotated[dict[str, str], Field(max_length=0)]


class GroundedSystem(Recipe):
    """A row of the tables: BM25 as retriever, all parts untrained, or trained."""

    bm25: Nothing | None = None
    """BM25 as retriever: an empty mapping."""
    untrained: Nothing | None = None
    """All parts untrained: an empty mapping."""
    train: tuple[PhaseRecipe, ...] = ()
    """The phases of training."""

    @property
    def by_model(self) -> bool:
        return self.bm25 is None

    @model_validator(mode="after")
    def _fits(self) -> "GroundedSystem":
        stated = self.bm25 is not None, self.untrained is not None, bool(self.train)
        if sum(stated) != 1:
            raise ValueError("one of `bm25`, `untrained` and `train` is needed")
        if self.train and not self.train[0].rounds:
            raise ValueError("the first phase needs closed sets: `rounds` must be 1 or more")
        return self
