"""The experiment file of the task ``evidence-sets``: questions whose evidence is a set of passages.

There are no topics, runs or qrels: systems are trained models that select sets of passages.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from adducir.core.recipe import Recipe
from adducir.experiments.sections import Name, Seeds
from adducir.experiments.tasks import Task
from adducir.models.machine import Precision

Several = str | tuple[str, ...]


class RoundRecipe(Recipe):
    """Files of questions: to learn from, to choose settings with, to test on.

    Attributes:
        train: To learn from.
        validation: For early stopping and the choice of the selection's settings; without it the
            recipe's ``data.shares`` hold questions of ``train`` out.
        test: What is measured; no question of it may be in the others.
    """

    train: Several
    validation: Several = ()
    test: Several


class EvidenceSystem(Recipe):
    """A model that is trained in each round and with each seed.

    Attributes:
        recipe: Of the model; or one for each data set, by its name. What it says of ``data.train``,
            ``data.validation`` and ``training.seed`` is replaced.
        set: Changes of the recipe, as ``--set`` has them.
    """

    recipe: str | dict[Name, str]
    set: tuple[str, ...] = ()

    def recipe_for(self, data: str) -> str | None:
        """The recipe's file for a data set, if it has one."""
        return self.recipe if isinstance(self.recipe, str) else self.recipe.get(data)


class EvidenceSets(Task):
    """Questions whose evidence is a set of passages; see docs/evidence-sets.md for its keys.

    Attributes:
        task: ``evidence-sets``.
        data: Data sets, each with its rounds: with several, each question is tested in one of them.
        systems: What is compared.
        seeds: Of training: a run of each system for each. Figures are means over runs, tested over
            questions and runs.
        precision: What networks compute in when sets are selected.
    """

    opener: ClassVar[str] = "adducir.experiments.evidence_sets.study:open_study"
    task: Literal["evidence-sets"]
    data: Annotated[
        dict[Name, Annotated[tuple[RoundRecipe, ...], Field(min_length=1)]], Field(min_length=1)
    ]
    systems: Annotated[dict[Name, EvidenceSystem], Field(min_length=1)]
    seeds: Seeds = (0,)
    precision: Precision = "float32"

    @model_validator(mode="after")
    def _fits(self) -> "EvidenceSets":
        for name, system in self.systems.items():
            lacking = [data for data in self.data if system.recipe_for(data) is None]
            if lacking:
                raise ValueError(f"the system {name!r} has no recipe for {lacking[0]!r}")
        unknown = set(self.comparison.baselines if self.comparison else ()) - set(self.systems)
        if unknown:
            raise ValueError(f"the baseline {min(unknown)!r} is no system")
        return self


def listed(value: Several) -> tuple[str, ...]:
    """One name or several, as several."""
    return (value,) if isinstance(value, str) else value
