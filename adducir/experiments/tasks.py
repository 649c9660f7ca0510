"""Tasks: what an experiment asks, what is right, and who scores; one package a task."""

from importlib import import_module
from typing import ClassVar

from adducir.core.config import Document
from adducir.core.errors import InputError, UsageError
from adducir.core.recipe import Recipe
from adducir.core.registry import Family
from adducir.experiments.planner import Planner
from adducir.experiments.sections import ComparisonRecipe, TableRecipe
from adducir.experiments.study import Study

DEFAULT = "retrieval"


class Task(Recipe):
    """An experiment file: the base of every task's.

    Attributes:
        description: For readers.
        comparison: Which differences are tested, and how.
        table: How the table looks.
    """

    opener: ClassVar[str]
    """What opens its study, as ``module:function`` of the task and a planner."""
    description: str = ""
    comparison: ComparisonRecipe | None = None
    table: TableRecipe = TableRecipe()

    def study(self, planner: Planner) -> Study:
        """Open all that the file names; what is wrong is left with the planner."""
        module, _, function = self.opener.partition(":")
        found: Study = getattr(import_module(module), function)(self, planner)
        return found


_HERE = "adducir.experiments"
_COMPLEMENTARY = "adducir.studies.complementary_evidence.experiment"
_GROUNDED = "adducir.studies.grounded_generation.experiment"

TASKS = Family(
    "tasks",
    Task,
    {
        "retrieval": f"{_HERE}.retrieval.recipe:Retrieval",
        "known-item": f"{_HERE}.known_item.system:KnownItem",
        "evidence-sets": f"{_COMPLEMENTARY}.systems:EvidenceSets",
        "grounded-generation": f"{_GROUNDED}.recipe:GroundedGeneration",
    },
    what="task",
)


def task_of(document: Document) -> type[Task]:
    """The task of an experiment file: what its key ``task`` names, or else retrieval."""
    try:
        return TASKS.kind(document.data.get("task", DEFAULT))
    except UsageError as error:
        line = document.line_of(("task",))
        raise InputError(error.what, path=document.path, line=line, hint=error.hint) from error
