"""The kinds of systems of grounded generation, by key."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from adducir.core.recipe import Recipe
from adducir.core.registry import Family
from adducir.hindsight.recipe import PhaseRecipe


class GroundedSystem(Recipe):
    """A row of the tables: a retriever and a generator."""

    ranks_by: ClassVar[Literal["model", "bm25"]] = "model"
    """Whether passages are ranked by the retriever, or by BM25."""

    @property
    def phases(self) -> Sequence[PhaseRecipe]:
        """How it is trained; no phases where it is not."""
        return ()

    @property
    def samples(self) -> Sequence[int]:
        """The numbers of passages that it samples."""
        return [phase.sample.k for phase in self.phases]


class LexicalSystem(GroundedSystem):
    """BM25 in the retriever's place, and the generator as it is.

    Attributes:
        bm25: Nothing: ``{}``.
    """

    ranks_by: ClassVar[Literal["model", "bm25"]] = "bm25"
    bm25: Annotated[dict[str, str], Field(max_length=0)]


class UntrainedSystem(GroundedSystem):
    """Retriever, guide and generator as they are before training.

    Attributes:
        untrained: Nothing: ``{}``.
    """

    untrained: Annotated[dict[str, str], Field(max_length=0)]


class TrainedSystem(GroundedSystem):
    """Retriever, guide and generator, trained.

    Attributes:
        train: The phases, in their order.
    """

    train: Annotated[tuple[PhaseRecipe, ...], Field(min_length=1)]

    @property
    def phases(self) -> Sequence[PhaseRecipe]:
        """See :attr:`GroundedSystem.phases`."""
        return self.train

    @model_validator(mode="after")
    def _begins(self) -> "TrainedSystem":
        if not self.train[0].rounds:
            raise ValueError("the first phase needs closed sets: `rounds` of 1 or more")
        return self


GROUNDED_SYSTEMS = Family(
    "grounded_systems",
    GroundedSystem,
    {
        "bm25": f"{__name__}:LexicalSystem",
        "untrained": f"{__name__}:UntrainedSystem",
        "train": f"{__name__}:TrainedSystem",
    },
    what="kind of system",
)
