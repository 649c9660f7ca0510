"""The experiment file of the task ``evidence-sets``: questions whose evidence is a set of passages.

There are no topics, runs or qrels: systems select sets of passages.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from adducir.core.recipe import Recipe
from adducir.core.registry import chosen_by_key
from adducir.experiments.evidence_sets.systems import EVIDENCE_SYSTEMS, EvidenceSystem
from adducir.experiments.sections import Name, Seeds
from adducir.experiments.tasks import Task
from adducir.models.machine import Precision
from adducir.training.recipe import Several

AnySystem = Annotated[
    SerializeAsAny[EvidenceSystem],
    BeforeValidator(chosen_by_key(EVIDENCE_SYSTEMS, "one of `recipe` and `selector` is needed")),
]


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


class EvidenceSets(Task):
    """Questions whose evidence is a set of passages; see docs/evidence-sets.md for its keys.

    Attributes:
        task: ``evidence-sets``.
        data: Data sets, each with its rounds: with several, each question is tested in one of them.
        systems: What is compared.
        seeds: Of training: a run of each trained system for each. Figures are means over runs,
            tested over questions and runs.
        precision: What networks compute in when sets are selected.
    """

    opener: ClassVar[str] = "adducir.experiments.evidence_sets.study:open_study"
    task: Literal["evidence-sets"]
    data: Annotated[
        dict[Name, Annotated[tuple[RoundRecipe, ...], Field(min_length=1)]], Field(min_length=1)
    ]
    systems: Annotated[dict[Name, AnySystem], Field(min_length=1)]
    seeds: Seeds = (0,)
    precision: Precision = "float32"

    @model_validator(mode="after")
    def _fits(self) -> "EvidenceSets":
        for name, system in self.systems.items():
            for data in self.data:
                if system.lacks(data):
                    raise ValueError(
                        f"the system {name!r} has no {system.lacks(data)} for {data!r}"
                    )
        return self
