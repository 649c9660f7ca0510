"""The task ``evidence-sets``: its systems by key, and the experiment file that names them."""

import json
from abc import abstractmethod
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ConfigDict, model_validator

from adducir.core.config import load
from adducir.core.errors import InputError, UsageError
from adducir.core.recipe import Recipe
from adducir.core.registry import Family, keys_of
from adducir.corpora.references import file_path
from adducir.experiments.sections import Name
from adducir.experiments.study import Trial
from adducir.studies.complementary_evidence.experiment.steps import SelectionStep
from adducir.studies.complementary_evidence.selectors.selector import SELECTORS, Selector
from adducir.studies.complementary_evidence.selectors.training import EvidencePlan
from adducir.training.kinds import open_training
from adducir.training.recipe import listed

if TYPE_CHECKING:
    from adducir.studies.complementary_evidence.experiment.study import EvidenceStudy


class EvidenceSystem(Recipe):
    """A row of the tables: what selects a set of passages for each question.

    Attributes:
        is_trained: Whether it is trained in each round and with each seed.
    """

    is_trained: ClassVar[bool] = False

    @abstractmethod
    def step(self, trial: Trial, study: "EvidenceStudy") -> SelectionStep:
        """What selects the sets of a round's test questions; nothing is loaded or trained."""

    def lacks(self, data: str) -> str:
        """What it lacks for a data set, in a few words; empty for nothing."""
        del data
        return ""


class TrainedSystem(EvidenceSystem):
    """A model that is trained in each round and with each seed.

    Attributes:
        recipe: Of the model; or one for each data set, by its name. What it says of ``data.train``,
            ``data.validation`` and ``training.seed`` is replaced.
        set: Changes of the recipe, as ``--set`` has them.
    """

    is_trained: ClassVar[bool] = True
    recipe: str | dict[Name, str]
    set: tuple[str, ...] = ()

    def lacks(self, data: str) -> str:
        return "" if self._recipe_for(data) else "recipe"

    def _recipe_for(self, data: str) -> str | None:
        return self.recipe if isinstance(self.recipe, str) else self.recipe.get(data)

    def step(self, trial: Trial, study: "EvidenceStudy") -> SelectionStep:
        one = study.recipe.data[trial.data][trial.part]
        changes = (
            *self.set,
            f"data.train={json.dumps(listed(one.train))}",
            f"data.validation={json.dumps(listed(one.validation))}",
            f"training.seed={trial.seed}",
        )
        document = load(file_path(str(self._recipe_for(trial.data)), study.folder))
        plan = open_training(document, changes, folder=study.folder)
        if not isinstance(plan, EvidencePlan):
            raise InputError("this is no recipe of an evidence selector.", path=document.path)
        path = study.folder / "rerankers" / study.name / study.path_of(trial).name
        training = study.models.add(path, lambda: plan, ("systems", trial.system))
        return SelectionStep(study, trial, plan.model_settings.selection, [training])


class UntrainedSystem(EvidenceSystem):
    """A selector that needs no training; its hyperparameters stand beside ``selector``.

    Attributes:
        selector: Its kind.
    """

    model_config = ConfigDict(extra="allow")
    selector: str

    @classmethod
    def more_keys(cls) -> Collection[str]:
        """The hyperparameters of all selectors."""
        return {key for name in SELECTORS for key in keys_of(SELECTORS, name)}

    @model_validator(mode="after")
    def _fits(self) -> "UntrainedSystem":
        try:
            found = self._selector
        except UsageError as error:
            raise ValueError(error.paragraph().rstrip(".")) from error
        if found.trained:
            raise ValueError(f"the selector {self.selector!r} is trained: give its `recipe`")
        return self

    @property
    def _selector(self) -> Selector:
        given: dict[str, Any] = self.model_extra or {}
        return SELECTORS.make(self.selector, given)

    def step(self, trial: Trial, study: "EvidenceStudy") -> SelectionStep:
        return SelectionStep(study, trial, self._selector)


EVIDENCE_SYSTEMS = Family(
    "evidence_systems",
    EvidenceSystem,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {
        "recipe": f"{__name__}:TrainedSystem",
        "selector": f"{__name__}:UntrainedSystem",
    },
    what="kind of system",
)
