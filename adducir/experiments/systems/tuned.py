"""``tune:``: hyperparameters of a system chosen by cross-validation, on any tunable system."""

from typing import TYPE_CHECKING, Any

from adducir.experiments.evaluation.measures import parse_measure
from adducir.experiments.retrieval.runs import Made, RunStep
from adducir.experiments.sections import file_name
from adducir.experiments.systems.system import TunableSystem
from adducir.experiments.tuning.recipe import TuneRecipe
from adducir.experiments.tuning.report import facts, write_report
from adducir.experiments.tuning.tune import tune
from adducir.experiments.tuning.tuning import Tuning
from adducir.experiments.tuning.values import plain
from adducir.indexes.build import engine_versions

if TYPE_CHECKING:
    from adducir.experiments.context import Context
    from adducir.experiments.retrieval.study import RetrievalStudy


class TunedStep(RunStep):
    """The held-out rankings of one topic set; the topics of all sets are tuned together."""

    verb = "tune"
    recipe: TunableSystem

    @classmethod
    def of(
        cls, name: str, system: TunableSystem, topic_set: str, study: "RetrievalStudy"
    ) -> "TunedStep":
        """The step of a system.

        Raises:
            Waiting: Data are not at hand.
        """
        _ = study.pool
        each = [system.step(name, one, study) for one in study.recipe.topics]
        inputs = list(dict.fromkeys(one for step in each for one in step.inputs))
        reads = [place for step in each for place in step.reads]
        found = cls(name, system, topic_set, study, inputs, list(dict.fromkeys(reads)))
        found.verb = "tune"
        return found

    @property
    def shares(self) -> object:
        """Each topic set has its own."""
        return None

    @property
    def shared_work(self) -> object:
        """The tuning, which is done for all topic sets together."""
        return "tuning", self.system

    @property
    def tuning(self) -> TuneRecipe:
        """What is tuned, and how."""
        if self.recipe.tune is None:
            raise ValueError("this system is not tuned")
        return self.recipe.tune

    def decides(self) -> dict[str, Any]:
        """See :meth:`RunStep.decides`; all topic sets take part in it."""
        study, asked = self.study, self.tuning
        sets = study.topic_sets
        return {
            **self.recipe.decides_untuned(self.system, study),
            "topics": sets[self.topic_set].identity(),
            "fixed": self.recipe.fixed,
            "tuning": {
                "grid": [[key, [plain(one) for one in many]] for key, many in asked.values.items()],
                "objective": str(parse_measure(asked.objective)),
                "negative grades": study.recipe.negative_grades,
                "topics": [each.identity() for each in sets.values()],
                "folds": study.folds[self.system].members(study.pool.ids),
            },
        }

    def produce(self, context: "Context") -> Made:
        """See :meth:`RunStep.produce`; the tuning is done once for all topic sets."""
        tuning = context.opened(("tuning", self.system), lambda: self._tune(context), _nothing)
        run = tuning.pool.of_set(tuning.run, self.topic_set)
        method: dict[str, Any] = {"tuning": facts(tuning)}
        method |= self.recipe.tuned_method(self.system, self.topic_set, self.study, context)
        note = f"{len(run):,} documents, each topic held out"
        judged = self.study.topic_sets[self.topic_set].qrels.qids
        return Made(run, note, method, tuning.seconds, {}, engine_versions(), judged)

    def _tune(self, context: "Context") -> Tuning:
        study, asked, progress = self.study, self.tuning, context.progress
        found = tune(
            self.recipe.tunable(self.system, study, context),
            asked.values,
            study.pool,
            study.folds[self.system],
            asked.objective,
            negative=study.recipe.negative_grades,
            tag=self.tag,
            progress=progress,
        )
        folder = study.output / "tuning" / file_name(self.system)
        write_report(found, folder, with_runs=False, progress=progress)
        about = f"tuning of {self.system}, {context.shown(folder)}"
        progress.note(f"{about}: {len(found.grid)} settings in {found.seconds:.1f} s")
        for warning in found.warnings():
            progress.note(f"tuning of {self.system}: {warning}")
        return found


def _nothing(_: object) -> None:
    """A tuning holds nothing open."""
