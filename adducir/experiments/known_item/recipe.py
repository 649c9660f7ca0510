"""The experiment file of the task ``known-item``: contexts with one gold candidate each.

There are no qrels, and no runs are kept: what a system leaves is the rank of each gold item among
all candidates.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from adducir.core.registry import chosen_by_key
from adducir.evaluation.gold_ranks import CUTOFFS, Ties
from adducir.experiments.known_item.data import DataRecipe
from adducir.experiments.known_item.system import (
    RANKING_SYSTEMS,
    ContextName,
    ContextRecipe,
    RankingSystem,
    folder_name,
)
from adducir.experiments.sections import Name
from adducir.experiments.tasks import Task
from adducir.models.machine import Precision

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
