"""``tune:``: hyperparameters of a system chosen by cross-validation, on any tunable system."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from pydantic import field_validator, model_validator

from adducir.core.progress import progress
from adducir.core.recipe import ErrorDetail, errors_at
from adducir.evaluation.measures import parse_measure
from adducir.experiments.context import Context
from adducir.experiments.retrieval.runs import Made, RunStep
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.experiments.retrieval.systems.system import System, made_of
from adducir.experiments.retrieval.topics import can_compute
from adducir.experiments.sections import file_name
from adducir.experiments.tuning.grid import Hyperparameter, plain
from adducir.experiments.tuning.tune import TuneRecipe, Tuning, tune

if TYPE_CHECKING:
    from adducir.experiments.tuning.systems import Tunable


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
    def hyperparameters(self) -> Mapping[str, Hyperparameter]:
        """What can be tuned."""

    @property
    @abstractmethod
    def fixed(self) -> dict[str, float]:
        """The values that the file itself gives to hyperparameters."""

    @abstractmethod
    def untuned_fingerprint_inputs(self, name: str, study: RetrievalStudy) -> dict[str, Any]:
        """All that determines its rankings beside topics and hyperparameters."""

    @abstractmethod
    def tunable(self, name: str, study: RetrievalStudy, context: Context) -> "Tunable":
        """The system with its hyperparameters left open, over the topics of all topic sets."""

    def tuned_method(
        self, name: str, topic_set: str, study: RetrievalStudy, context: Context
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

    @model_validator(mode="after")
    def _tuning(self) -> "TunableSystem":
        if self.tune is None:
            return self
        errors = [
            *self.tune.errors(self.hyperparameters),
            *(
                (("grid", name), "is fixed by this system as well as tuned")
                for name in self.fixed
                if name in self.tune.grid
            ),
        ]
        if errors:
            raise errors_at(*((("tune", *path), what) for path, what in errors))
        return self

    def check(self, name: str, study: RetrievalStudy) -> Iterator[ErrorDetail]:
        """What a member is made with may not know the labels of held-out topics."""
        yield from super().check(name, study)
        systems = study.recipe.systems
        for number, member in enumerate(self.members if self.tune else ()):
            of = [one for one in (member, *made_of(study, member)) if one in systems]
            tuned = [one for one in of if systems[one].is_tuned]
            if tuned:
                place = ("systems", name, *self.place_of(number))
                what = f"`{tuned[0]}` is tuned itself, so its figures know the topics held out here"
                yield ErrorDetail(place, what)

    def open(self, name: str, study: RetrievalStudy) -> None:
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

    def output(self, name: str, topic_set: str, study: RetrievalStudy) -> RunStep:
        if self.tune is None:
            return self.step(name, topic_set, study)
        return TunedStep(name, self, topic_set, study)


class TunedStep(RunStep):
    """The held-out rankings of one topic set; the topics of all sets are tuned together."""

    recipe: TunableSystem

    def __init__(
        self, name: str, system: TunableSystem, topic_set: str, study: RetrievalStudy
    ) -> None:
        each = [system.step(name, one, study) for one in study.recipe.topics]
        inputs = dict.fromkeys(one for step in each for one in step.inputs)
        reads = dict.fromkeys(place for step in each for place in step.reads)
        super().__init__(name, system, topic_set, study, list(inputs), list(reads))
        self.verb, self.tuning = "tune", cast("TuneRecipe", system.tune)
        self._lacks = name not in study.folds or any(one.lacks_data for one in each)

    @property
    def lacks_data(self) -> bool:
        return self._lacks

    @property
    def shares(self) -> object:
        """Each topic set has its own."""
        return None

    @property
    def shared_work(self) -> object:
        """The tuning, which is done for all topic sets together."""
        return "tuning", self.system

    def fingerprint_inputs(self) -> dict[str, Any]:
        study, requested = self.study, self.tuning
        sets = study.topic_sets
        return {
            **self.recipe.untuned_fingerprint_inputs(self.system, study),
            "topics": sets[self.topic_set].identity(),
            "fixed": self.recipe.fixed,
            "tuning": {
                "grid": [
                    [key, [plain(one) for one in many]] for key, many in requested.values.items()
                ],
                "objective": str(parse_measure(requested.objective)),
                "negative grades": study.recipe.negative_grades,
                "topics": [each.identity() for each in sets.values()],
                "folds": study.folds[self.system].members(study.pool.ids),
            },
        }

    def produce(self, context: Context) -> Made:
        from adducir.experiments.tuning.report import facts
        from adducir.indexes.building import engine_versions

        key = ("tuning", self.system)
        tuning = context.opened(key, lambda: self._tune(context), lambda _: None)
        run = tuning.pool.of_set(tuning.run, self.topic_set)
        method: dict[str, Any] = {"tuning": facts(tuning)}
        method |= self.recipe.tuned_method(self.system, self.topic_set, self.study, context)
        note = f"{len(run):,} documents, each topic held out"
        judged = self.study.topic_sets[self.topic_set].qrels.qids
        return Made(run, note, method, tuning.seconds, {}, engine_versions(), judged)

    def _tune(self, context: Context) -> Tuning:
        from adducir.experiments.tuning.report import write_report

        study, requested = self.study, self.tuning
        # Chunks are kept beside one run, whichever topic set asks for the tuning.
        first = study.run_path(self.system, next(iter(study.recipe.topics)))
        found = tune(
            self.recipe.tunable(self.system, study, context),
            requested.values,
            study.pool,
            study.folds[self.system],
            requested.objective,
            negative=study.recipe.negative_grades,
            tag=self.tag,
            chunking=context.chunking(first, keep=False),
        )
        folder = study.output / "tuning" / file_name(self.system)
        write_report(found, folder, with_runs=False)
        about = f"tuning of {self.system}, {context.shown(folder)}"
        progress().note(f"{about}: {len(found.grid)} settings in {found.seconds:.1f} s")
        for warning in found.warnings():
            progress().note(f"tuning of {self.system}: {warning}")
        return found
