"""The keys of retriever, guide and phases; see docs/hindsight.md."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from adducir.core.recipe import Recipe
from adducir.models.machine import Precision
from adducir.models.sources import MINILM
from adducir.studies.grounded_generation.hindsight.losses import LossName
from adducir.training.recipe import TrainingRecipe

Length = Annotated[int, Field(ge=1)]


class RetrieverRecipe(Recipe):
    """What retriever and guide start from, and what of it is trained.

    Attributes:
        base: The checkpoint that both start from.
        vectors: ``one`` for each text (a dual encoder), or ``colbert``: one for each token, with
            the checkpoint's projection and markers.
        network: Whether the encoder's layers are ``trained``, or ``frozen``: the vectors of all
            texts are then computed once, and only what stands behind them is trained.
        adapter: What stands behind the layers of each tower: ``full``, a matrix that begins as the
            checkpoint's projection or as the identity; a number, of the rank of a matrix that is
            added to that; ``none``.
        towers: Whether queries and passages share layers and adapter.
        query_length: Tokens of a query; a long one keeps its end.
        document_length: Tokens of a passage; a long one keeps its beginning.
        scale: What scores are multiplied by; None for 20 with one vector, the cosine's usual
            factor, and 1 with several, as ColBERT sums.
        train_scale: Whether the factor is trained.
    """

    base: str = MINILM
    vectors: Literal["one", "colbert"] = "one"
    network: Literal["frozen", "trained"] = "frozen"
    adapter: Literal["none", "full"] | Annotated[int, Field(ge=1)] = 16
    towers: Literal["shared", "separate"] = "separate"
    query_length: Length = 64
    document_length: Length = 180
    scale: Annotated[float, Field(gt=0)] | None = None
    train_scale: bool = False

    @model_validator(mode="after")
    def _trains(self) -> "RetrieverRecipe":
        if self.network == "frozen" and self.adapter == "none" and not self.train_scale:
            raise ValueError("nothing is trained: `network: trained` or an `adapter` is needed")
        return self


class GuideRecipe(Recipe):
    """How the guide reads input and target.

    Attributes:
        order: Which stands first.
        separator: What stands between them.
    """

    order: Literal["input-target", "target-input"] = "input-target"
    separator: str = " | "

    def query(self, input_: str, target: str) -> str:
        """The guide's query."""
        both = (input_, target) if self.order == "input-target" else (target, input_)
        return self.separator.join(both)


class ClosedRecipe(Recipe):
    """The closed sets of a round.

    Attributes:
        depth: r, passages of each list.
        candidates: ``all``: every passage is scored with the weights of that moment; ``bm25``:
            only the first ``candidate_depth`` of BM25.
        candidate_depth: How many of them.
        precision: What the layers of a trained network compute passages in; training and queries
            keep theirs. ``bfloat16`` is exact to about 1e-2.
    """

    depth: Length = 100
    candidates: Literal["all", "bm25"] = "all"
    candidate_depth: Length = 1000
    precision: Precision = "float32"

    @model_validator(mode="after")
    def _fits(self) -> "ClosedRecipe":
        if self.candidates != "all" and self.candidate_depth < self.depth:
            raise ValueError("`candidate_depth` must be `depth` or more")
        return self


class SampleRecipe(Recipe):
    """How passages are sampled.

    Attributes:
        k: Passages of an example.
        sampler: ``guide`` or ``retriever``: drawn from that list; ``top``: the first of the
            retriever's; ``mixture``: from the retriever's list with probability ``alpha``, else
            from the guide's.
        temperature: Of the scores in a draw.
    """

    k: Length = 8
    sampler: Literal["guide", "retriever", "top", "mixture"] = "mixture"
    alpha: Annotated[float, Field(ge=0, le=1)] = 0.0
    temperature: Annotated[float, Field(gt=0)] = 1.0


class PhaseRecipe(Recipe):
    """A part of the training, with a loss and a schedule of its own.

    Attributes:
        loss: The objective; the parts that it does not train are frozen.
        rounds: How often closed sets are made anew, and training goes on with them; 0 for the
            closed sets of the phase before.
        sample: The passages of each example, drawn anew in each epoch.
        validation: The passages of the validation loss.
        training: Epochs, rates (of parts, by ``parameter_groups``), patience, what else is frozen.
    """

    loss: LossName = "elbo"
    rounds: Annotated[int, Field(ge=0)] = 1
    sample: SampleRecipe = SampleRecipe()
    validation: SampleRecipe = SampleRecipe(k=100, sampler="top")
    training: TrainingRecipe = TrainingRecipe()


Nothing = Annotated[dict[str, str], Field(max_length=0)]


class GroundedSystem(Recipe):
    """A row of the tables: one of the three.

    Attributes:
        bm25: BM25 in the retriever's place, and the generator as it is: ``{}``.
        untrained: All three parts as they are before training: ``{}``.
        train: All three, trained phase by phase.
    """

    bm25: Nothing | None = None
    untrained: Nothing | None = None
    train: tuple[PhaseRecipe, ...] = ()

    @property
    def by_model(self) -> bool:
        """Whether the retriever ranks."""
        return self.bm25 is None

    @model_validator(mode="after")
    def _fits(self) -> "GroundedSystem":
        given = self.bm25 is not None, self.untrained is not None, bool(self.train)
        if sum(given) != 1:
            raise ValueError("one of `bm25`, `untrained` and `train` is needed")
        if self.train and not self.train[0].rounds:
            raise ValueError("the first phase needs closed sets: `rounds` of 1 or more")
        return self
