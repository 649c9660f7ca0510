"""The kinds of systems of grounded generation, by key."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, model_validator

from adducir.core.recipe import Recipe
from adducir.core.registry import Family
from adducir.studies.grounded_generation.hindsight.recipe import PhaseRecipe

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from adducir.experiments.context import Context


class GroundedSystem(Recipe):
    """A row of the tables: a retriever and a generator."""

    ranks_by: ClassVar[str] = "model"
    """What ranks passages: ``model``, the retriever; under any other name :meth:`rank` does."""

    def rank(
        self, passages: Sequence[str], queries: Sequence[str], depth: int, context: "Context"
    ) -> "tuple[NDArray[Any], NDArray[Any]]":
        """The passages that stand first, where the retriever does not rank.

        Called once with the inputs in place of the retriever, once with the guide's queries.
        """
        raise NotImplementedError

    def settings(self) -> Mapping[str, Any]:
        """What a ranking of :meth:`rank` depends on beside texts: part of its fingerprint."""
        return {} if self.ranks_by == "model" else self.model_dump(mode="json")

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

    ranks_by: ClassVar[str] = "bm25"
    bm25: Annotated[dict[str, str], Field(max_length=0)]

    def rank(
        self, passages: Sequence[str], queries: Sequence[str], depth: int, context: "Context"
    ) -> "tuple[NDArray[Any], NDArray[Any]]":
        from adducir.studies.grounded_generation.hindsight.closed import bm25_ranking

        return bm25_ranking(passages, queries, depth, threads=context.threads)

    def settings(self) -> Mapping[str, Any]:
        """None: its name says all."""
        return {}


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
