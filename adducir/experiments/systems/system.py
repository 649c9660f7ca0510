"""What every kind of system has, and the wrapper that tunes any of them."""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import (
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from adducir.experiments.evaluation.measures import parse_measure
from adducir.experiments.retrieval.topics import can_compute
from adducir.experiments.tuning.grid import Knob
from adducir.experiments.tuning.recipe import TuneRecipe
from adducir.study.recipe import Fault, FaultsAt, Recipe
from adducir.study.yaml import KeyPath

if TYPE_CHECKING:
    from adducir.experiments.context import Context
    from adducir.experiments.retrieval.runs import RunStep
    from adducir.experiments.retrieval.study import RetrievalStudy
    from adducir.experiments.tuning.systems import Tunable


class System(Recipe):
    """A row of the table.

    Attributes:
        verb: What is done, for the plan's lines.
        group: The section of the table that it stands in.
    """

    verb: ClassVar[str]
    is_given: ClassVar[bool] = False
    group: str | None = None

    @classmethod
    def more_keys(cls) -> Collection[str]:
        """Keys beside the fields: the hyperparameters of what the system is made with."""
        return ()

    @property
    def members(self) -> tuple[str, ...]:
        """The systems whose runs it is made from."""
        return ()

    @property
    def is_tuned(self) -> bool:
        """Whether its hyperparameters are chosen by cross-validation."""
        return False

    def needs_index(self, name: str, study: "RetrievalStudy") -> str | None:
        """The name of the index that it searches or reads documents of."""
        del name, study
        return None

    def check(self, name: str, study: "RetrievalStudy") -> Iterator[Fault]:
        """What does not fit the rest of the file."""
        place = ("systems", name)
        for number, member in enumerate(self.members):
            yield from study.names.check((*place, *self.place_of(number)), "systems", member)
        if self.members and name in made_of(study, name):
            what = f"`{name}` would {self.verb} what is made of itself"
            yield Fault((*place, *self.place_of(0)), what)

    def place_of(self, member: int) -> KeyPath:
        """Where a member is named, below the system."""
        raise NotImplementedError

    def open(self, name: str, study: "RetrievalStudy") -> None:
        """Open what it names, leaving errors with the planner; nothing is loaded or made."""

    def output(self, name: str, topic_set: str, study: "RetrievalStudy") -> "RunStep":
        """The step that makes its run on a topic set.

        Raises:
            Waiting: Data are not at hand.
        """
        return self.step(name, topic_set, study)

    @abstractmethod
    def step(self, name: str, topic_set: str, study: "RetrievalStudy") -> "RunStep":
        """As :meth:`output`, with the hyperparameters that the file gives."""

    def given_path(self, topic_set: str) -> Path:
        """The file of a run that is given."""
        raise NotImplementedError

    def remark(self, name: str, names: Mapping[str, str]) -> str | None:
        """A sentence for below the table; ``names`` are the printed names of systems."""
        del name, names
        return None


class TunableSystem(System):
    """A system with hyperparameters, which ``tune`` has chosen by cross-validation.

    Attributes:
        tune: The grid, the folds and the measure.
    """

    tune: TuneRecipe | None = None

    @property
    def is_tuned(self) -> bool:
        """Whether its hyperparameters are chosen by cross-validation."""
        return self.tune is not None

    @property
    @abstractmethod
    def hyperparameters(self) -> Mapping[str, Knob]:
        """What can be tuned."""

    @property
    @abstractmethod
    def fixed(self) -> dict[str, float]:
        """The values that the file itself gives to hyperparameters."""

    @abstractmethod
    def decides_untuned(self, name: str, study: "RetrievalStudy") -> dict[str, Any]:
        """All that decides its rankings beside topics and hyperparameters.

        Raises:
            Waiting: What it is made from is not there yet.
        """

    @abstractmethod
    def tunable(self, name: str, study: "RetrievalStudy", context: "Context") -> "Tunable":
        """The system with its hyperparameters left open, over the topics of all topic sets."""

    def tuned_method(
        self, name: str, topic_set: str, study: "RetrievalStudy", context: "Context"
    ) -> dict[str, Any]:
        """More of the method, for the metadata of a tuned run."""
        del name, topic_set, study, context
        return {}

    @field_validator("tune", mode="before")
    @classmethod
    def _given(cls, value: Any) -> Any:
        if value is None:
            raise ValueError("is empty; name a `grid` and `folds`, or leave it out")
        return value

    @model_serializer(mode="wrap")
    def _without_nothing(self, rest: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # An empty `tune` is refused, so that what is written can be read.
        return {key: value for key, value in rest(self).items() if key != "tune" or value}

    @model_validator(mode="after")
    def _tuning(self) -> "TunableSystem":
        if self.tune is None:
            return self
        faults = [
            *self.tune.faults(self.hyperparameters),
            *(
                (("grid", name), "is fixed by this system as well as tuned")
                for name in self.fixed
                if name in self.tune.grid
            ),
        ]
        if faults:
            raise FaultsAt(*((("tune", *path), what) for path, what in faults))
        return self

    def check(self, name: str, study: "RetrievalStudy") -> Iterator[Fault]:
        """See :meth:`System.check`; members' labels of held-out topics must not be known."""
        yield from super().check(name, study)
        systems = study.recipe.systems
        for number, member in enumerate(self.members if self.tune else ()):
            of = [one for one in (member, *made_of(study, member)) if one in systems]
            tuned = [one for one in of if systems[one].is_tuned]
            if tuned:
                place = ("systems", name, *self.place_of(number))
                what = f"`{tuned[0]}` is tuned itself, so its figures know the topics held out here"
                yield Fault(place, what)

    def open(self, name: str, study: "RetrievalStudy") -> None:
        """Check the objective, and make the folds."""
        if self.tune is None:
            return
        place, planner = ("systems", name, "tune"), study.planner
        objective = (*place, "objective")
        measure = planner.opening(objective, partial(parse_measure, self.tune.objective))
        if measure is not None:
            can_compute(objective, measure, study)
        if study.topic_sets.keys() < study.recipe.topics.keys():
            return
        make = partial(self.tune.make_folds, study.pool, study.file)
        folds = planner.opening((*place, "folds"), make)
        if folds is not None:
            study.folds[name] = folds

    def output(self, name: str, topic_set: str, study: "RetrievalStudy") -> "RunStep":
        """See :meth:`System.output`."""
        if self.tune is None:
            return self.step(name, topic_set, study)
        from adducir.experiments.systems.tuned import TunedStep

        return TunedStep.of(name, self, topic_set, study)


def made_of(study: "RetrievalStudy", name: str) -> list[str]:
    """The systems that one is made from, at any depth, each once, the nearest first.

    Names that nothing defines are among them; the system itself is where it is made from itself.
    """
    systems = study.recipe.systems
    found: dict[str, None] = {}
    waiting = [name]
    for one in waiting:
        members = systems[one].members if one in systems else ()
        waiting += [member for member in members if member not in found]
        found |= dict.fromkeys(members)
    return list(found)
