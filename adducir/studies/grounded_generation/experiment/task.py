"""The task ``grounded-generation``: its experiment file, its steps, and the plan of its rounds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from adducir.core.recipe import KeyPath, as_tuple
from adducir.encoders.kinds import EncoderSource, encoder_source
from adducir.evaluation.scores import run_name
from adducir.experiments.sections import Name, Natural, Planner, Seeds, file_name
from adducir.experiments.step import ArtifactStep, Context, Step, folders_of
from adducir.experiments.tasks import EvaluationData, Study, StudyTable, Task, Trial
from adducir.models.artifacts import model_versions
from adducir.models.machine import seed_of, using_threads
from adducir.models.sources import ModelSource, model_source
from adducir.studies.grounded_generation.experiment.data import DataRecipe, GroundedData
from adducir.studies.grounded_generation.generators.kinds import GENERATORS, AnyGenerator, Decoding
from adducir.studies.grounded_generation.hindsight.recipe import (
    ClosedRecipe,
    GroundedSystem,
    GuideRecipe,
    PhaseRecipe,
    TowersRecipe,
)
from adducir.training.data import same_number

if TYPE_CHECKING:
    from adducir.training.leaks import TrainedOn


class GroundedGeneration(Task):
    """Contexts with targets and gold passages; see docs/hindsight.md for its keys."""

    task: Literal["grounded-generation"]
    """``grounded-generation``."""
    data: DataRecipe
    """Contexts and passages."""
    retriever: TowersRecipe = TowersRecipe()
    """The initial retriever and guide."""
    guide: GuideRecipe = GuideRecipe()
    """How the guide reads."""
    generator: AnyGenerator = GENERATORS.make("lexical")
    """The generator, by key: ``lexical``, ``bart``, ``t5``."""
    closed: ClosedRecipe = ClosedRecipe()
    """The closed sets of a round."""
    systems: Annotated[dict[Name, GroundedSystem], Field(min_length=1)]
    """The systems to compare."""
    k: tuple[Natural, ...] = ()
    """Sampled passages: every trained system is trained with each number, and each has a section in
    the tables. By default as set in the phases."""
    seeds: Seeds = (0,)
    """Training seeds: one run of each trained system per seed. Results are means over runs, tested
    over contexts and runs."""
    decode: Decoding | None = None
    """How texts are generated; without it none are."""
    common: Annotated[float, Field(ge=0, le=1)] = 0.5
    """The share of the training targets' words that common words make up; Novel-F1 ignores these
    words."""
    cutoffs: Annotated[tuple[Natural, ...], Field(min_length=1)] = (1, 5, 10)
    """The k of Success@k."""
    unit: Literal["context", "group"] = "context"
    """The unit of significance tests: ``context``, or ``group``, the means of the contexts of a
    group, which are not independent."""

    @model_validator(mode="after")
    def _fits(self) -> "GroundedGeneration":
        for name, values in (("k", self.k), ("cutoffs", self.cutoffs)):
            if len(set(values)) < len(values):
                raise ValueError(f"`{name}` has duplicates")
        depth = self.closed.depth
        sizes = [phase.sample.k for system in self.systems.values() for phase in system.train]
        wide = [k for k in self.k or sizes if k > depth]
        if wide:
            raise ValueError(f"{wide[0]} passages cannot be sampled from closed sets of {depth}")
        if max(self.cutoffs) > depth and "cutoffs" in self.model_fields_set:
            message = f"Success@{max(self.cutoffs)} cannot be computed from closed sets of {depth}"
            raise ValueError(f"{message}: raise `closed.depth`")
        trained = [name for name, system in self.systems.items() if system.train]
        if trained and self.data.passages and not as_tuple(self.data.train):
            raise ValueError(f"{trained[0]!r} cannot be trained: `data` lacks `train`")
        if self.data.hidden and self.decode is None:
            raise ValueError("`data.hidden` has no effect without `decode`")
        return self

    def study(self, planner: Planner) -> "GroundedStudy":
        return GroundedStudy(self, planner)


@dataclass(eq=False)
class PartsStep(ArtifactStep):
    """A long step, which resumes where it was interrupted.

    ``needs`` are the steps it is built from besides the vectors; ``before``: that of its weights.
    """

    study: "GroundedStudy"
    path: Path
    entry: KeyPath
    needs: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        self.reads = [self.entry]
        self.inputs = [*self.study.vector_steps, *self.needs.values()]

    @property
    def generator(self) -> dict[str, Any]:
        """The generator's hyperparameters and, if it is from another package, its origin."""
        generator = self.study.recipe.generator
        origin = GENERATORS.origin(GENERATORS.name_of(type(generator)))
        return {**origin, **generator.model_dump(mode="json")}

    def settings(self, *named: str, **exclude: set[str]) -> dict[str, Any]:
        recipe = self.study.recipe
        return {
            name: getattr(recipe, name).model_dump(mode="json", exclude=exclude.get(name))
            for name in named
        }

    def identities(self) -> Mapping[str, str]:
        needed = {name: step.fingerprint for name, step in self.needs.items()}
        return {"data": self.study.data.identity, **self.study.identities(), **needed}

    def versions(self) -> Mapping[str, str]:
        return model_versions()

    def fill(self, folder: Path, context: Context) -> Mapping[str, Any]:
        from adducir.studies.grounded_generation.experiment.making import MAKE

        with using_threads(context.threads):
            return MAKE[self.kind](self, folder, context)


class VectorsStep(PartsStep):
    kind = "frozen-vectors"
    verb = "encode"

    def recipe(self) -> Mapping[str, Any]:
        others = {"base", "network", "adapter", "scale", "train_scale"}
        return self.settings("retriever", "guide", retriever=others)


class CandidatesStep(PartsStep):
    """The passages scored for each context, unless all are: the top ones of BM25."""

    kind = "closed-candidates"
    verb = "rank"

    def recipe(self) -> Mapping[str, Any]:
        return self.settings("closed", "guide", closed={"depth", "precision"})

    def identities(self) -> Mapping[str, str]:
        return {"data": self.study.data.identity}


class ClosedStep(PartsStep):
    """Closed sets of the training and validation contexts, or what a system ranks for the tests."""

    kind = "closed-sets"
    verb = "rank"
    contexts: tuple[str, ...] = ("train", "validation")

    def recipe(self) -> Mapping[str, Any]:
        settings = self.settings("closed", "retriever", "guide", retriever={"base"})
        return {**settings, "parts": self.contexts}


@dataclass(eq=False, kw_only=True)
class PhaseStep(PartsStep):
    kind = "hindsight-weights"
    version = 3
    verb = "train"
    phase: PhaseRecipe

    def recipe(self) -> Mapping[str, Any]:
        phase = self.phase.model_dump(mode="json", exclude={"rounds"})
        settings = self.settings("retriever", "guide", retriever={"base"})
        return {**settings, "phase": phase, "generator": self.generator}

    def trained_models(self) -> "Iterator[tuple[Path, TrainedOn]]":
        yield self.study.kept, self.study.trained_on


@dataclass(eq=False, kw_only=True)
class AnswerStep(ClosedStep):
    kind = "grounded-answers"
    verb = "answer"
    stage = 2
    system: GroundedSystem

    def __post_init__(self) -> None:
        super().__post_init__()
        self.contexts = ("test", "hidden") if self.study.recipe.data.hidden else ("test",)
        self.uses = folders_of(self.study.retriever()) if self.system.by_model else []

    @property
    def run(self) -> str:
        name = str(self.entry[-1])
        return run_name(name, self.seed) if "before" in self.needs else name

    def recipe(self) -> Mapping[str, Any]:
        decode = self.study.recipe.decode
        return {
            **super().recipe(),
            "ranks by": "model" if self.system.by_model else "bm25",
            "decode": decode.model_dump(mode="json", exclude={"best"}) if decode else None,
            "generator": self.generator,
        }


class LikelihoodStep(PartsStep):
    """The probability of each test context's target given each passage that the retriever ranks."""

    kind = "target-likelihoods"
    verb = "score"
    stage = 2

    def recipe(self) -> Mapping[str, Any]:
        return {"generator": self.generator}


class GroundedStudy(Study):
    """A trial's part is its number of sampled passages; None: as set in its phases."""

    makes: ClassVar[str] = "answers"
    verb: ClassVar[str] = "answer"

    def __init__(self, recipe: GroundedGeneration, planner: "Planner") -> None:
        super().__init__(recipe, planner)
        self.vector_steps: list[VectorsStep] = []
        self._candidates: dict[str, Step] = {}
        self.likelihoods: dict[Trial, LikelihoodStep] = {}
        self._shared: dict[tuple[object, ...], Step] = {}  # by systems that begin alike
        data = planner.opening(("data",), partial(GroundedData, recipe.data, self.folder))
        fingerprints = [
            planner.opening(("retriever", "base"), lambda: self.retriever().identity()),
            planner.opening(("generator",), partial(recipe.generator.identities, self.folder)),
        ]
        self._is_open = data is not None and None not in fingerprints
        if data is None or not self._is_open:
            return
        self.data = data
        self.kept = self.folder / "encoders" / self.name
        if recipe.closed.candidates != "all":
            path = self.kept / "candidates"
            self._candidates = {"candidates": CandidatesStep(self, path, ("closed",))}
        if recipe.retriever.network == "frozen":
            self.vector_steps = [VectorsStep(self, self.kept / "vectors", ("retriever",))]
        path = self.kept / "untrained" / "closed"
        self._first = ClosedStep(self, path, ("retriever",), self._candidates)

    def seeds(self, system: str) -> Sequence[int | None]:
        return self.recipe.seeds if self.recipe.systems[system].train else (None,)

    def retriever(self) -> EncoderSource | ModelSource:
        recipe = self.recipe.retriever
        if recipe.vectors == "one":
            return replace(encoder_source(recipe.base, self.folder), is_base=True)
        return model_source(recipe.base, self.folder)

    @cached_property
    def trained_on(self) -> "TrainedOn":
        """What all phases of all systems learn from."""
        from adducir.training.leaks import TrainedOn

        inputs = self.data.inputs("train", "validation")
        return TrainedOn(frozenset(map(same_number, inputs)))

    def evaluation_data(self, data: str) -> EvaluationData | None:
        inputs = self.data.inputs("test") if self._is_open else ()
        return EvaluationData(inputs, key="data.without")

    def identities(self) -> Mapping[str, str]:
        generator = self.recipe.generator.identities(self.folder)
        return {"retriever": self.retriever().identity(), **generator}

    def trials(self) -> Iterator[Trial]:
        for name, system in self.recipe.systems.items():
            for k in self.recipe.k or (None,) if system.train else (None,):
                yield from (Trial(name, seed=seed, part=k) for seed in self.seeds(name))

    def path_of(self, trial: Trial) -> Path:
        k = "" if trial.part is None else f"-k{trial.part}"
        folder = f"{file_name(trial.system)}{k}-{trial.seed or 0}"
        return self.folder / "runs" / self.name / folder

    def step(self, trial: Trial) -> AnswerStep | None:
        if not self._is_open:
            return None
        system = self.recipe.systems[trial.system]
        path, seed = self.path_of(trial), trial.seed or 0
        place, folder = ("systems", trial.system), self.kept / path.name
        before: dict[str, Step] = {}
        closed: Step = self._first
        rounds = 0
        for number, phase in enumerate(system.train, start=1):
            for turn in range(max(1, phase.rounds)):
                if phase.rounds:
                    rounds += 1
                    if before:
                        needs = {**before, **self._candidates}
                        closed = ClosedStep(self, folder / f"closed-{rounds}", place, needs, seed)
                        closed = self._shared.setdefault((before["before"],), closed)
                # Each training draws its own samples and orders: the previous lists can be reused.
                training = {"seed": seed_of(seed, number, turn)}
                changes: dict[str, Any] = {"training": phase.training.model_copy(update=training)}
                if trial.part is not None:
                    changes["sample"] = phase.sample.model_copy(update={"k": trial.part})
                changed = phase.model_copy(update=changes)
                name = f"phase-{number}-{turn + 1}-{phase.loss}"
                needs = {**before, "closed": closed}
                step = PhaseStep(self, folder / name, place, needs, seed, phase=changed)
                key = seed, *needs.values(), changed.model_dump_json(exclude={"rounds"})
                before = {"before": self._shared.setdefault(key, step)}
        needs = {**before, **(self._candidates if system.by_model else {})}
        answer = AnswerStep(self, path, place, needs, seed, system=system)
        if system.by_model:
            needs = {**before, "answers": answer}
            path = folder / "likelihoods"
            self.likelihoods[trial] = LikelihoodStep(self, path, ("generator",), needs, seed)
        return answer

    def goals(self) -> Sequence[Step]:
        return [*self.steps.values(), *self.likelihoods.values()]

    def of(self, steps: Mapping[Trial, Any], system: str, k: int | None) -> list[Any]:
        """The steps of a system with a number of sampled passages, one per seed."""
        return [
            step
            for trial, step in steps.items()
            if trial.system == system and trial.part in (None, k)
        ]

    def result_tables(self, context: Context) -> Sequence[StudyTable]:
        from adducir.studies.grounded_generation.experiment.tables import GroundedTables

        fingerprints = {step.path.name: step.fingerprint for step in self.steps.values()}
        provenance = self.provenance({"answers": fingerprints})
        title = self.recipe.description or self.name
        return GroundedTables(self, partial(self.layout, provenance, title=title)).result_tables()
