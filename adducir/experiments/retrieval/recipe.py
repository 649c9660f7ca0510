"""The experiment file of the task ``retrieval``: one file a table.

A section names things (corpora, indexes, topic sets, systems); later sections refer to them by
name. What is written here is what a reader of the paper needs to know, and nothing else determines
the figures: threads and folders do not stand here. What the sections must keep to among each other
is in the study, and in each system's ``check``.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, field_validator

from adducir.core.registry import chosen_by_key
from adducir.experiments.retrieval.corpora import CORPORA, CorpusRecipe
from adducir.experiments.retrieval.indexes import IndexRecipe, chosen_by_engine
from adducir.experiments.retrieval.systems import SYSTEMS
from adducir.experiments.retrieval.systems.system import System
from adducir.experiments.retrieval.topics import TopicsRecipe
from adducir.experiments.sections import Name, Natural, RunTableRecipe
from adducir.experiments.tasks import Task

DEFAULT_MEASURES = ("nDCG(judged_only=True)@5", "Bpref", "Judged@5")

AnyCorpus = Annotated[
    SerializeAsAny[CorpusRecipe],
    BeforeValidator(chosen_by_key(CORPORA, "a corpus has exactly one of `source` and `expand`")),
]
AnyIndex = Annotated[SerializeAsAny[IndexRecipe], BeforeValidator(chosen_by_engine)]
AnySystem = Annotated[
    SerializeAsAny[System],
    BeforeValidator(
        chosen_by_key(
            SYSTEMS,
            "a system has exactly one of `index` (a search), `fuse`, `rerank`, `python` and `run`",
        )
    ),
]


class Retrieval(Task):
    """Topics with judgements, answered by runs; see docs/recipes.md for its keys.

    Attributes:
        task: ``retrieval``, or left out.
        corpora: Documents, by name.
        indexes: Indexes of them, by name.
        topics: Topic sets, by name: a group of columns each.
        systems: A row of the table each.
        depth: How many documents per topic each run that is made holds.
        measures: The columns.
        negative_grades: How judgements below 0 count.
        unjudged: Whether the footer states how far unjudged documents could move figures.
        table: How it looks, and what its report quotes.
    """

    opener: ClassVar[str] = "adducir.experiments.retrieval.study:open_study"
    task: Literal["retrieval"] = "retrieval"
    corpora: dict[Name, AnyCorpus] = Field(default_factory=dict)
    indexes: dict[Name, AnyIndex] = Field(default_factory=dict)
    topics: dict[Name, TopicsRecipe]
    systems: dict[Name, AnySystem]
    depth: Natural | Literal["all"] = 1000
    measures: tuple[str, ...] = DEFAULT_MEASURES
    negative_grades: Literal["zero", "trec_eval"] = "zero"
    unjudged: bool = False
    table: RunTableRecipe = RunTableRecipe()

    @property
    def most(self) -> int | None:
        """``depth`` as a number; None for all documents that hold a term of the query."""
        return None if self.depth == "all" else self.depth

    @field_validator("topics", "systems", "measures")
    @classmethod
    def _some(cls, value: Any) -> Any:
        if not value:
            raise ValueError("at least one is needed")
        return value
