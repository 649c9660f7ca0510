"""``tune:``: hyperparameters of a system chosen by cross-validation, on any tunable system."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import model_validator

from adducir.core.fingerprint import fingerprint
from adducir.core.progress import progress
from adducir.core.recipe import errors_at
from adducir.corpora.sources import file_path
from adducir.evaluation.measures import parse_measure
from adducir.experiments.retrieval.runs import Answer, RunStep, System
from adducir.experiments.retrieval.topics import can_compute
from adducir.experiments.sections import file_name
from adducir.experiments.step import Step
from adducir.experiments.study import Trial
from adducir.experiments.tuning.grid import Grid, Hyperparameter, plain
from adducir.experiments.tuning.tune import Tunable, TuneRecipe, Tuning, tune

if TYPE_CHECKING:
    from adducir.experiments.context import Context
    from adducir.experiments.retrieval.study import RetrievalStudy
    from adducir.experiments.tuning.folds import Folds


class TunableSystem(System):
    """A system with hyperparameters, which ``tune`` has chosen by cross-validation.

    Attributes:
        tune: The grid, the folds and the measure.
    """

    tune: TuneRecipe | None = None

    @property
    @abstractmethod
    def hyperparameters(self) -> Mapping[str, Hyperparameter]:
        """What can be tuned."""

    @property
    @abstractmethod
    def fixed(self) -> dict[str, float]:
        """The values that the file itself gives to hyperparameters."""

    @abstractmethod
    def opened(self, steps: Mapping[str, RunStep], context: "Context") -> Tunable:
        """The system with its hyperparameters left open, over the topics of all topic sets.

        ``steps`` are its untuned runs on each, whose parts are there.
        """

    @model_validator(mode="after")
    def _tuning(self) -> "TunableSystem":
        if self.tune is None:
            return self
        twice = "is fixed by this system as well as tuned"
        errors = [
            *self.tune.errors(self.hyperparameters),
            *((("grid", name), twice) for name in self.fixed if name in self.tune.grid),
        ]
        if errors:
            raise errors_at(*((("tune", *path), what) for path, what in errors))
        return self

    def check(self, name: str, study: "RetrievalStudy") -> None:
        """What a member is made with may not know the labels of held-out topics."""
        super().check(name, study)
        place, systems = ("systems", name), study.recipe.systems
        if self.tune is None:
            if "tune" in self.model_fields_set:
                what = "is empty; name a `grid` and `folds`, or leave it out"
                study.planner.add((*place, "tune"), what)
            return
        for link in self.links():
            if link.section != "systems":
                continue
            for one in (link.name, *study.made_of(link.name)):
                if getattr(systems.get(one), "tune", None):
                    what = f"`{one}` is tuned itself, so its figures know the topics held out here"
                    study.planner.add((*place, *link.place), what)
                    break
        objective = (*place, "tune", "objective")
        parse = partial(parse_measure, self.tune.objective)
        if (measure := study.planner.opening(objective, parse)) is not None:
            can_compute(objective, measure, study)

    def step(self, trial: Trial, study: "RetrievalStudy") -> Step:
        if self.tune is None:
            return super().step(trial, study)
        untuned = self.model_copy(update={"tune": None})
        steps: dict[str, Any] = {
            one: untuned.step(trial._replace(data=one), study) for one in study.recipe.topics
        }
        with study.planner.at("systems", trial.system, "tune", "folds"):
            folds = self.tune.make_folds(study.pool, partial(file_path, folder=study.folder))
        return TunedStep(
            self,
            trial,
            study,
            {f"{key}, {one}": part for one in steps for key, part in steps[one].parts.items()},
            steps=steps,
            tuning=self.tune,
            folds=folds,
        )


@dataclass(eq=False)
class TunedStep(RunStep):
    """The held-out rankings of one topic set; the topics of all sets are tuned together."""

    system: TunableSystem
    steps: Mapping[str, RunStep] = field(default_factory=dict)  # untuned, on each topic set
    tuning: TuneRecipe = None  # type: ignore[assignment]  # always given
    folds: "Folds" = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.verb = "tune"

    def _fingerprint(self) -> str:
        study, sets = self.study, self.study.topic_sets
        grid = [[key, [*map(plain, values)]] for key, values in self.tuning.values.items()]
        return fingerprint(
            {
                "runs": {name: step.fingerprint for name, step in self.steps.items()},
                "topics": sets[self.trial.data].identity(),
                "fixed": self.system.fixed,
                "grid": grid,
                "objective": str(parse_measure(self.tuning.objective)),
                "negative grades": study.recipe.negative_grades,
                "topic sets": [each.identity() for each in sets.values()],
                "folds": self.folds.members(study.pool.ids),
            }
        )

    def answer(self, context: "Context") -> Answer:
        from adducir.experiments.tuning.report import facts
        from adducir.indexes.building import engine_versions

        tuning = context.shared(("tuning", self.trial.run), partial(self._tune, context))
        run = tuning.pool.of_set(tuning.run, self.trial.data)
        note = f"{len(run):,} documents, each topic held out"
        judged = self.study.topic_sets[self.trial.data].qrels.qids
        method = {"tuning": facts(tuning)}
        return Answer(run, note, method, tuning.seconds, {}, engine_versions(), judged)

    def _tune(self, context: "Context") -> Tuning:
        from adducir.experiments.tuning.report import write_report

        study, name = self.study, self.trial.run
        tuning = tune(
            self.system.opened(self.steps, context),
            Grid.of(self.tuning.values, self.system.hyperparameters),
            study.pool,
            self.folds,
            self.tuning.objective,
            negative=study.recipe.negative_grades,
            tag=self.tag,
        )
        folder = study.planner.output / "tuning" / file_name(name)
        write_report(tuning, folder, with_runs=False)
        about = f"tuning of {name}, {context.shown(folder)}"
        progress().note(f"{about}: {len(tuning.grid)} settings in {tuning.seconds:.1f} s")
        for warning in tuning.warnings():
            progress().note(f"tuning of {name}: {warning}")
        return tuning
