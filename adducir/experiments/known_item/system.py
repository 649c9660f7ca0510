"""The task ``known-item``: the experiment file, and what every system of it has."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from adducir.core.recipe import Recipe
from adducir.core.registry import Family, chosen_by_key
from adducir.encoders.ranking import SpanTask
from adducir.encoders.settings import Some
from adducir.evaluation.gold_ranks import CUTOFFS, GoldRanks, Ties
from adducir.experiments.context import Context
from adducir.experiments.known_item.data import DataRecipe
from adducir.experiments.sections import Name, SystemEntry, file_name
from adducir.experiments.step import Step
from adducir.experiments.tasks import Task
from adducir.models.machine import Precision

if TYPE_CHECKING:
    from adducir.experiments.known_item.study import KnownItemStudy, RankStep

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


class RankingSystem(SystemEntry):
    """A row of the tables: what ranks the candidates of contexts.

    Attributes:
        contexts: The contexts that it is ranked with; none for all.
    """

    contexts: tuple[ContextName, ...] = ()

    def open(self, name: str, study: "KnownItemStudy") -> None:
        """Open what it names; nothing is loaded or trained."""

    def training(self, name: str, context: str, study: "KnownItemStudy") -> Sequence[Step]:
        """The steps that train it for a context, the last of them last."""
        del name, context, study
        return ()

    @abstractmethod
    def fingerprint_inputs(self, study: "KnownItemStudy") -> Mapping[str, Any]:
        """All that determines the ranks beside context, data and model."""

    def identities(self, step: "RankStep") -> Mapping[str, str]:
        """The fingerprint of its model, which may still have to be trained."""
        del step
        return {}

    def versions(self) -> Mapping[str, str]:
        """Versions of the libraries that take part."""
        return {}

    @abstractmethod
    def ranks(self, step: "RankStep", tasks: Sequence[SpanTask], context: Context) -> GoldRanks:
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


AnySystem = Annotated[
    SerializeAsAny[RankingSystem],
    BeforeValidator(
        chosen_by_key(
            RANKING_SYSTEMS,
            "one of `bm25`, `encoder`, `train`, `colbert` and `maxsim` is needed "
            "(`bm25: {}` for its defaults)",
        )
    ),
]


class KnownItem(Task):
    """Contexts with one gold candidate each; see docs/ranks.md for its keys.

    Attributes:
        task: ``known-item``.
        data: What is ranked: a table each.
        contexts: What is read of contexts: a section of the tables each.
        systems: What is compared.
        random: Whether the exact expectation of a random ranking stands in the tables.
        cutoffs: The k of R@k.
        ties: How candidates count that score as the gold item does.
        rouge: Whether ROUGE-L of what is ranked first, with the gold text, is a column.
        by: Tables of the contexts' groups by these keys as well: ``length``, ``group``.
        precision: What networks compute in when candidates are ranked.
    """

    opener: ClassVar[str] = "adducir.experiments.known_item.study:open_study"
    task: Literal["known-item"]
    data: Annotated[dict[Name, DataRecipe], Field(min_length=1)]
    contexts: Annotated[dict[ContextName, ContextRecipe], Field(min_length=1)]
    systems: Annotated[dict[Name, AnySystem], Field(min_length=1)]
    random: bool = True
    cutoffs: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)] = CUTOFFS
    ties: Ties = "pessimistic"
    rouge: bool = False
    by: tuple[Literal["length", "group"], ...] = ()
    precision: Precision = "float32"

    @model_validator(mode="after")
    def _fits(self) -> "KnownItem":
        for names in (self.data, self.contexts, self.systems):
            if len({folder_name(name) for name in names}) < len(names):
                raise ValueError(f"two of {', '.join(names)} would have one folder")
        for name, system in self.systems.items():
            unknown = set(system.contexts) - set(self.contexts)
            if unknown:
                raise ValueError(f"the system {name!r} names no context {min(unknown)!r}")
        if self.random and "random" in self.systems:
            raise ValueError("a system is called 'random', as the row of `random: true` is")
        return self

    def contexts_of(self, system: str) -> tuple[str, ...]:
        """The contexts that a system is ranked with, in the file's order."""
        requested = self.systems[system].contexts
        return tuple(name for name in self.contexts if not requested or name in requested)
