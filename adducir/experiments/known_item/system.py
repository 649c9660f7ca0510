"""What every system of known-item search has, and the family that knows them by key."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

from pydantic import Field

from adducir.core.chunks import Chunking
from adducir.core.recipe import Recipe
from adducir.core.registry import Family
from adducir.encoders.ranking import SpanTask
from adducir.encoders.settings import Some
from adducir.evaluation.gold_ranks import GoldRanks
from adducir.experiments.context import Context
from adducir.experiments.known_item.data import SpanData
from adducir.experiments.sections import SystemEntry, file_name
from adducir.experiments.step import Step

T = TypeVar("T")

ContextName = Annotated[str, Field(pattern=r"^[\w.+/][\w .+/-]*$", max_length=40)]
"""As the papers write them: ``L+R``, ``4/4``."""


class ContextRecipe(Recipe):
    """What systems read of a context; see :class:`adducir.encoders.settings.ContextPart`.

    Attributes:
        left: Sentences on the left of the mask.
        right: Sentences on the right.
        words: Words of each side.
        tokens: Tokens of each side, as the system counts them: a network's pieces, BM25's words.
    """

    left: Some = None
    right: Some = None
    words: Some = None
    tokens: Some = None


class Opened(Protocol):
    """A study, as far as its systems know it."""

    folder: Path
    name: str
    recipe: Any
    data: dict[str, SpanData]
    learnt: dict[str, list[str]]

    def seed_of(self, section: str, name: str) -> int | None:
        """The seed of the trainings of an entry; None for those of the recipes."""

    def details(self, what: str, make: Callable[[], T]) -> T:
        """What systems share, made when it is first asked for."""


class Ranking(Protocol):
    """A step that ranks, as far as its system knows it."""

    path: Path
    inputs: Sequence[Step]
    system: str
    data: SpanData

    @property
    def study(self) -> Opened:
        """The study."""

    @property
    def reads_of_context(self) -> ContextRecipe:
        """What is read of contexts."""

    @property
    def fingerprint(self) -> str:
        """Of all that determines the ranks."""

    def keeping(self, context: Context) -> AbstractContextManager[Chunking]:
        """Who makes the candidates' vectors, which the system's other contexts need as well.

        When the block ends well, they are removed unless another context is to be ranked.
        """


class RankingSystem(SystemEntry):
    """A row of the tables: what ranks the candidates of contexts.

    Attributes:
        contexts: The contexts that it is ranked with; none for all.
    """

    contexts: tuple[ContextName, ...] = ()

    def open(self, name: str, study: Opened) -> None:
        """Open what it names; nothing is loaded or trained.

        Raises:
            AdducirError: Something is wrong, or not at hand.
        """

    def training(self, name: str, context: str, study: Opened) -> Sequence[Step]:
        """The steps that train it for a context, the last of them last."""
        del name, context, study
        return ()

    @abstractmethod
    def fingerprint_inputs(self, study: Opened) -> Mapping[str, Any]:
        """All that determines the ranks beside context, data and model."""

    def identities(self, step: Ranking) -> Mapping[str, str]:
        """The fingerprint of its model, which may still have to be trained."""
        del step
        return {}

    def versions(self) -> Mapping[str, str]:
        """Versions of the libraries that take part."""
        return {}

    @abstractmethod
    def ranks(self, step: Ranking, tasks: Sequence[SpanTask], context: Context) -> GoldRanks:
        """The rank of each gold item."""


_HERE = "adducir.experiments.known_item"

RANKING_SYSTEMS = Family(
    "ranking_systems",
    RankingSystem,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {
        "bm25": f"{_HERE}.bm25:Lexical",
        "encoder": f"{_HERE}.encoders:Pretrained",
        "train": f"{_HERE}.encoders:Trained",
        "colbert": f"{_HERE}.late:ColBERT",
        "maxsim": f"{_HERE}.late:MaxSim",
    },
    what="kind of system",
)


def folder_name(name: str) -> str:
    """A name as that of a folder."""
    return file_name(name).replace("/", "_")
