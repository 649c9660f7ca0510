"""Opens a study of grounded generation, and plans its rounds."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from adducir.core.chunks import Local
from adducir.encoders.sources import encoder_source
from adducir.experiments.sections import file_name, untestable
from adducir.experiments.step import Step
from adducir.experiments.study import Finding, Study
from adducir.models.machine import seed_of
from adducir.models.sources import model_source
from adducir.studies.grounded_generation.experiment.answers import AnswerStep, LikelihoodStep
from adducir.studies.grounded_generation.experiment.data import GroundedData
from adducir.studies.grounded_generation.experiment.loading import Loading
from adducir.studies.grounded_generation.experiment.recipe import GroundedGeneration
from adducir.studies.grounded_generation.experiment.steps import (
    CandidatesStep,
    ClosedStep,
    PhaseStep,
    VectorsStep,
)
from adducir.studies.grounded_generation.experiment.tables import tables
from adducir.studies.grounded_generation.hindsight.recipe import PhaseRecipe

if TYPE_CHECKING:
    from adducir.experiments.context import Context
    from adducir.experiments.planner import Planner

UNTRAINED = "untrained"


class Trial(NamedTuple):
    """One row of the tables with one seed: the system, its sampled passages, the seed.

    ``k`` is None for a system that samples as its phases say, or not at all.
    """

    system: str
    k: int | None
    seed: int

    @property
    def folder(self) -> str:
        """The name of its folders."""
        k = "" if self.k is None else f"-k{self.k}"
        return f"{file_name(self.system)}{k}-{self.seed}"


class GroundedStudy(Study):
    """A study of grounded generation, opened."""

    makes: ClassVar[str] = "answers"
    data: GroundedData

    def __init__(self, recipe: GroundedGeneration, planner: "Planner") -> None:
        super().__init__(recipe, planner)
        self.vector_steps: list[Step] = []
        self.candidates: CandidatesStep | None = None
        self._steps: dict[Trial, Step] = {}
        self._likelihoods: dict[Trial, LikelihoodStep] = {}
        self._first: ClosedStep | None = None

    @property
    def _kept(self) -> Path:
        return self.folder / "encoders" / self.name

    def open(self) -> None:
        """Open data and models; what is wrong is left with the planner."""
        planner, recipe = self.planner, self.recipe
        if len(recipe.seeds) > 1 and any(system.phases for system in recipe.systems.values()):
            planner.errors.extend(untestable(recipe.comparison))
        data = planner.opening(("data",), partial(GroundedData, recipe.data, self.folder))
        known = [
            planner.opening(("retriever", "base"), self._retriever_identity),
            planner.opening(("generator",), partial(recipe.generator.identities, self.folder)),
        ]
        if data is None or None in known:
            for trial in self._trials():
                self._steps[trial] = Step.without_data(self._answers(trial), "answer", 2)
            return
        self.data = data
        if recipe.closed.candidates != "all":
            self.candidates = CandidatesStep(self, self._kept / "candidates", ("closed",))
        if recipe.retriever.network == "frozen":
            place = ("retriever",)
            self.vector_steps = [VectorsStep(self, self._kept / "vectors", place)]
        self._first = ClosedStep(self, self._kept / UNTRAINED / "closed", ("retriever",))
        for trial in self._trials():
            answer = self._steps[trial] = self._step(trial)
            if answer.system.ranks_by == "model":
                path = self._kept / trial.folder / "likelihoods"
                self._likelihoods[trial] = LikelihoodStep(self, path, answer)

    def _retriever_identity(self) -> str:
        recipe = self.recipe.retriever
        if recipe.vectors == "one":
            return encoder_source(recipe.base, self.folder).identity()
        return model_source(recipe.base, self.folder).identity()

    def identities(self) -> Mapping[str, str]:
        """The fingerprints of what the three parts start from."""
        found = {"retriever": self._retriever_identity()}
        return {**found, **self.recipe.generator.identities(self.folder)}

    def _trials(self) -> Iterator[Trial]:
        for name, system in self.recipe.systems.items():
            if not system.phases:
                yield Trial(name, None, 0)
                continue
            for k in self.recipe.k or (None,):
                for seed in self.recipe.seeds:
                    yield Trial(name, k, seed)

    def _answers(self, trial: Trial) -> Path:
        return self.folder / "runs" / self.name / trial.folder

    def _step(self, trial: Trial) -> AnswerStep:
        """The last step of a trial, behind those of its rounds."""
        system = self.recipe.systems[trial.system]
        place, folder = ("systems", trial.system), self._kept / trial.folder
        before: PhaseStep | None = None
        closed, rounds = self._first, 0
        for number, phase in enumerate(system.phases, start=1):
            for turn in range(max(1, phase.rounds)):
                if phase.rounds:
                    rounds += 1
                    if before is not None:
                        path = folder / f"closed-{rounds}"
                        closed = ClosedStep(self, path, place, before, trial.seed)
                if closed is None:
                    raise ValueError("there are no closed sets before data are opened.")
                path = folder / f"phase-{number}-{turn + 1}-{phase.loss}"
                # Each training draws its own samples and orders: the lists may be those of before.
                own = self._phase(phase, trial, seed_of(trial.seed, number, turn))
                before = PhaseStep(self, path, place, before, trial.seed, closed, own)
        path = self._answers(trial)
        return AnswerStep(self, path, place, before, trial.seed, system)

    def _phase(self, phase: PhaseRecipe, trial: Trial, seed: int) -> PhaseRecipe:
        """A phase with a seed, and the number of passages of a trial."""
        training = phase.training.model_copy(update={"seed": seed})
        changes: dict[str, Any] = {"training": training}
        if trial.k is not None:
            changes["sample"] = phase.sample.model_copy(update={"k": trial.k})
        return phase.model_copy(update=changes)

    def loading(self, before: PhaseStep | None = None, seed: int = 0) -> Loading:
        """How a process loads the three parts with the weights after a phase."""
        return Loading(
            self.recipe,
            self.folder,
            self.data.identity,
            Local(self.data),
            self.vector_steps[0].path if self.vector_steps else None,
            None if before is None else before.path,
            seed,
        )

    def goals(self) -> Sequence[Step]:
        """The answers, and how probable targets are."""
        return [*self._steps.values(), *self._likelihoods.values()]

    def answers(self, system: str, k: int | None) -> list[AnswerStep]:
        """The answers of a system with so many sampled passages, one of each seed."""
        return [
            step
            for trial, step in self._steps.items()
            if trial.system == system and trial.k in (None, k) and isinstance(step, AnswerStep)
        ]

    def likelihoods(self, system: str, k: int | None) -> list[LikelihoodStep]:
        """The likelihoods of targets, one of each of these answers, if the retriever ranks."""
        return [
            step
            for trial, step in self._likelihoods.items()
            if trial.system == system and trial.k in (None, k)
        ]

    def findings(self, context: "Context") -> Sequence[Finding]:
        """The tables of retriever, guide and texts."""
        del context
        recipe = self.recipe
        fingerprints = {step.path.name: step.fingerprint for step in self._steps.values()}
        provenance = self.provenance({"answers": fingerprints})
        title = recipe.description or self.name
        return tables(self, partial(self.layout, provenance, title=title))


def open_study(recipe: GroundedGeneration, planner: "Planner") -> GroundedStudy:
    """Open a study's data and models."""
    study = GroundedStudy(recipe, planner)
    study.open()
    return study
