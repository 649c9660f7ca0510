"""The task ``evidence-sets``: its experiment file, training, selection and table."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import orjson
from pydantic import BeforeValidator, Field, PlainSerializer, SkipValidation, model_validator

from adducir.core.chunks import TEMPORARY, Chunking
from adducir.core.config import load
from adducir.core.errors import InputError, UsageError, gathering
from adducir.core.files import require
from adducir.core.fingerprint import fingerprint, source_digests
from adducir.core.planning import reads
from adducir.core.recipe import Recipe, Several, as_tuple, in_words, validated
from adducir.core.registry import chosen_beside
from adducir.core.texts import same_text, sentence
from adducir.corpora.sources import file_path
from adducir.evaluation.scores import Scores
from adducir.experiments.sections import Name, Planner, Seeds, file_name
from adducir.experiments.step import ArtifactStep, Context, ModelStep, Step
from adducir.experiments.tasks import EvaluationData, Study, StudyTable, Task, Trial
from adducir.models.artifacts import read_shard
from adducir.models.machine import Precision, using_threads
from adducir.models.sources import ModelSource, trained_folder
from adducir.models.work import Arrays, ModelWork
from adducir.studies.complementary_evidence.measures import GoldSets, set_table
from adducir.studies.complementary_evidence.questions import (
    EvidenceQuestion,
    SelectedSet,
    read_questions,
    read_selected,
    write_selected,
)
from adducir.studies.complementary_evidence.selection import SELECTORS, Selector
from adducir.studies.complementary_evidence.training import EvidenceTrainable
from adducir.training.trainable import open_training

if TYPE_CHECKING:
    import torch


def changed(selection: Recipe, changes: Mapping[str, str]) -> Recipe:
    selection_, errors = validated(type(selection), {**selection.model_dump(), **changes})
    if selection_ is None:
        keys = ", ".join(type(selection).model_fields)
        raise UsageError(
            sentence("; ".join(map(in_words, errors))), hint=f"This model has: {keys}."
        )
    return selection_


@dataclass(frozen=True, kw_only=True)
class SelectionWork(ModelWork):
    """The sets selected for questions by a trained model (a folder, a recipe) or other selector."""

    doing: ClassVar[str] = "selecting"
    unit: ClassVar[str] = "questions"
    size: int = 64
    model: Path | None
    questions: Sequence[EvidenceQuestion]
    selection: Recipe | None

    @property
    def total(self) -> int:
        return len(self.questions)

    def identity(self) -> Mapping[str, Any]:
        if self.model is None:
            model = SELECTORS.name_of(type(self.selection))  # type: ignore[arg-type]
        else:
            model = ModelSource(str(self.model), trained_folder(self.model)).identity()
        selection = self.selection.model_dump(mode="json") if self.selection else None
        how = {"model": model, "selection": selection, "precision": self.running.precision}
        return {**super().identity(), **how}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "questions": ()}  # a worker has its own

    def check(self) -> None:
        if self.model is not None:
            trained_folder(self.model)

    def items(self, *, check: bool) -> Iterator[EvidenceQuestion]:
        if check and len({question.id for question in self.questions}) < len(self.questions):
            raise InputError("a question is duplicated.", hint="Give each question once.")
        return iter(self.questions)

    def describe(self, item: EvidenceQuestion) -> tuple[str, bytes]:
        return item.id, orjson.dumps([item.question, item.passages])

    def load(self, device: "torch.device") -> Callable[[Sequence[Any]], Arrays]:
        if self.model is None:
            return partial(self._arrays, None)
        from adducir.studies.complementary_evidence.model import load_evidence_model

        return partial(self._arrays, load_evidence_model(self.model).to(device))

    def _arrays(self, model: Any, items: Sequence[EvidenceQuestion]) -> Arrays:
        selection = self.selection
        if isinstance(selection, Selector):
            sets = selection.choose(items)
        else:
            selection = selection or model.settings.selection
            most = getattr(selection, "candidates", 0)
            how = {"precision": self.running.precision, "tokens": self.running.tokens}
            pools = model.pools(items, most, **how)
            best = [pool.best(selection) for pool in pools]
            sets = [
                SelectedSet(question.id, tuple(question.passages[n].id for n in numbers), score)
                for question, (numbers, score) in zip(items, best, strict=True)
            ]
        return {"sets": np.frombuffer(orjson.dumps(sets), dtype=np.uint8)}


@contextmanager
def selected(
    work: SelectionWork, chunking: Chunking = TEMPORARY
) -> Iterator[Iterator[SelectedSet]]:
    """The selected set of each question, in order; chunks are deleted if the block succeeds."""
    with chunking.made(work) as chunks_made:
        chunks = (orjson.loads(read_shard(path)["sets"].tobytes()) for path in chunks_made.files)
        yield (SelectedSet(**row) for chunk in chunks for row in chunk)


class TrainedSystem(Recipe):
    """A model trained in each round with each seed, from one recipe or one per data set.

    The recipe's ``data.train``, ``data.validation`` and ``training.seed`` are overridden.
    """

    recipe: str | dict[Name, str]
    """The recipe of the model to train in each round, or one per data set."""
    set: tuple[str, ...] = ()
    """Changes to the recipe, as in `--set`."""

    def recipe_for(self, data: str) -> str | None:
        return self.recipe if isinstance(self.recipe, str) else self.recipe.get(data)


def _system(value: Any) -> Any:
    """A selector that needs no training, with its settings beside ``selector``, or a model's."""
    is_selector = isinstance(value, Mapping) and "selector" in value
    read = chosen_beside(SELECTORS, "selector") if is_selector else TrainedSystem.model_validate
    return read(value)


def _stated(system: TrainedSystem | Selector) -> dict[str, Any]:
    names = {"selector": SELECTORS.name_of(type(system))} if isinstance(system, Selector) else {}
    return {**names, **system.model_dump(mode="json", exclude_unset=True)}


System = Annotated[
    TrainedSystem | Selector, SkipValidation, BeforeValidator(_system), PlainSerializer(_stated)
]


class RoundRecipe(Recipe):
    train: Several
    """Files of the questions to train on."""
    validation: Several = ()
    """Files of the questions for validation."""
    test: Several
    """Files of the questions to test with."""


class EvidenceSets(Task):
    """Questions whose evidence is a set of passages; see docs/evidence-sets.md for its keys."""

    task: Literal["evidence-sets"]
    """``evidence-sets``."""
    data: Annotated[
        dict[Name, Annotated[tuple[RoundRecipe, ...], Field(min_length=1)]], Field(min_length=1)
    ]
    """Data sets, each with its rounds; with several, each question is tested in one of them."""
    systems: Annotated[dict[Name, System], Field(min_length=1)]
    """The systems to compare."""
    seeds: Seeds = (0,)
    """Training seeds: one run of each trained system per seed. Results are means over runs, tested
    over questions and runs."""
    precision: Precision = "float32"
    """The precision of networks when they select sets."""

    @model_validator(mode="after")
    def _fits(self) -> "EvidenceSets":
        for name, system in self.systems.items():
            for data in self.data:
                if isinstance(system, TrainedSystem) and not system.recipe_for(data):
                    raise ValueError(f"the system {name!r} lacks a recipe for {data!r}")
        return self

    def study(self, planner: Planner) -> "EvidenceStudy":
        return EvidenceStudy(self, planner)


@dataclass(eq=False)
class SelectionStep(ArtifactStep):
    """The sets that a selector or a trained model selects for the test questions of a round."""

    kind = "chosen-sets"
    version = 3
    verb = "select"
    stage = 2
    study: "EvidenceStudy"
    trial: Trial
    selector: Selector | None = None
    training: ModelStep | None = None

    def __post_init__(self) -> None:
        self.path = self.study.path_of(self.trial)
        self.inputs = [self.training] if self.training else []
        self.tests = self.study.tests[self.trial.data, self.trial.part]

    def recipe(self) -> Mapping[str, Any]:
        return self.settings() if self.selector else {"precision": self.study.recipe.precision}

    def settings(self) -> Mapping[str, Any]:
        return SELECTORS.settings(self.selector, "selector") if self.selector else {}

    def identities(self) -> Mapping[str, str]:
        model = {"model": self.training.fingerprint} if self.training else {}
        return {**model, "questions": fingerprint(source_digests(self.tests))}

    def fill(self, folder: Path, context: Context) -> Mapping[str, Any]:
        with using_threads(context.threads):
            work = SelectionWork(
                model=self.training.path if self.training else None,
                questions=list(read_questions(*self.tests)),
                selection=self.selector,
                running=context.running(self.study.recipe.precision),
            )
            with selected(work, context.chunking(self.path)) as chosen:
                return {"questions": write_selected(chosen, folder / "chosen.jsonl")}


class EvidenceStudy(Study):
    makes: ClassVar[str] = "selections"
    verb: ClassVar[str] = "select"

    def __init__(self, recipe: EvidenceSets, planner: Planner) -> None:
        super().__init__(recipe, planner)
        self.tests: dict[tuple[str, int], tuple[Path, ...]] = {}
        self.gold: dict[str, GoldSets] = {}
        self.questions: dict[str, list[str]] = {}
        for data, rounds in recipe.data.items():
            opened = planner.opening(("data", data), partial(self._opened, data, rounds))
            if opened is not None:
                tests = {(data, n): self._paths(recipe.test) for n, recipe in enumerate(rounds)}
                self.tests.update(tests)
                self.gold.update(opened)

    def _paths(self, names: Several) -> tuple[Path, ...]:
        return tuple(file_path(name, self.folder) for name in as_tuple(names))

    def _opened(self, data: str, rounds: Sequence[RoundRecipe]) -> dict[str, GoldSets]:
        """The gold sets of a data set; none if a dry run cannot read all test questions."""
        with gathering() as opening:
            are_read = [opening(partial(self._separate, recipe)) for recipe in rounds]
        if not all(are_read):
            return {}
        questions = [
            *read_questions(*(path for recipe in rounds for path in self._paths(recipe.test)))
        ]
        twice = len(questions) - len({question.id for question in questions})
        if twice:
            message = f"{twice} questions of {data} are tested in two rounds."
            raise InputError(message, path=self.planner.path)
        self.questions[data] = [question.question for question in questions]
        return {data: GoldSets(questions)}

    def evaluation_data(self, data: str) -> EvaluationData | None:
        questions = self.questions.get(data, [])
        return EvaluationData(questions, key="data.without")

    def _separate(self, recipe: RoundRecipe) -> bool:
        """Reject a round whose test questions are in its other files; False if tests are unread."""
        tests, others = (
            self._paths(recipe.test),
            [*self._paths(recipe.train), *self._paths(recipe.validation)],
        )
        with gathering() as opening:
            for path in (*tests, *others):
                opening(partial(require, path))
        reads_others = reads(*others)
        if not reads(*tests):
            return False
        texts = {
            same_text(question.question): question.question for question in read_questions(*tests)
        }
        for path in others if reads_others else ():
            shared = texts.keys() & {
                same_text(question.question) for question in read_questions(path)
            }
            if shared:
                raise InputError(
                    f"{len(shared)} test questions are in it, such as {texts[min(shared)]!r}.",
                    path=path,
                    hint="Test on questions that are not used for training.",
                )
        return True

    def trials(self) -> Iterator[Trial]:
        for data, rounds in self.recipe.data.items():
            for number in range(len(rounds)):
                for system in self.recipe.systems:
                    for seed in self.seeds(system):
                        yield Trial(system, data, seed, number)

    def seeds(self, system: str) -> Sequence[int | None]:
        is_trained = isinstance(self.recipe.systems[system], TrainedSystem)
        return self.recipe.seeds if is_trained else (None,)

    def path_of(self, trial: Trial) -> Path:
        seed = "untrained" if trial.seed is None else str(trial.seed)  # no other system's seed
        names = (file_name(trial.data), str(trial.part + 1), file_name(trial.system), seed)
        return self.folder / "runs" / self.name / "-".join(names)

    def step(self, trial: Trial) -> Step | None:
        system = self.recipe.systems[trial.system]
        training = self._training(trial, system) if isinstance(system, TrainedSystem) else None
        if (trial.data, trial.part) not in self.tests:
            return None
        selector = system if isinstance(system, Selector) else None
        return SelectionStep(self, trial, selector, training)

    def _training(self, trial: Trial, system: TrainedSystem) -> ModelStep:
        recipe = self.recipe.data[trial.data][trial.part]
        changes = (
            *system.set,
            f"data.train={json.dumps(as_tuple(recipe.train))}",
            f"data.validation={json.dumps(as_tuple(recipe.validation))}",
            f"training.seed={trial.seed}",
        )
        document = load(file_path(str(system.recipe_for(trial.data)), self.folder))
        plan = open_training(document, changes, folder=self.folder)
        if not isinstance(plan, EvidenceTrainable):
            raise InputError("this is not a recipe for an evidence selector.", path=document.path)
        path = self.folder / "rerankers" / self.name / self.path_of(trial).name
        return self.trainings.step(path, plan, ("systems", trial.system))

    def result_tables(self, context: Context) -> Sequence[StudyTable]:
        scores: dict[str, list[Scores]] = {}
        bounds: dict[str, Scores] = {}
        notes: list[str] = []
        chosen: dict[Trial, dict[str, tuple[str, ...]]] = {}
        steps = [step for step in self.steps.values() if isinstance(step, SelectionStep)]
        for step in steps:
            trial = step.trial._replace(part=None)  # the rounds' test questions together
            path, gold = step.path / "chosen.jsonl", self.gold[trial.data]
            chosen[trial] = chosen.get(trial, {}) | gold.checked(read_selected(path), path)
        for data, gold in self.gold.items():
            name = data if len(self.gold) > 1 else ""
            scores[name] = []
            for system in self.recipe.systems:
                trials = [Trial(system, data, seed) for seed in self.seeds(system)]
                scores_of_runs = [gold.scores(trial.run, chosen[trial]) for trial in trials]
                scores[name] += [scores_of_run.renamed(system) for scores_of_run in scores_of_runs]
                if len(scores_of_runs) > 1:
                    rates = ", ".join(
                        f"{scores_of_run.mean('EM'):.3f}" for scores_of_run in scores_of_runs
                    )
                    notes.append(f"EM of {system} on {data} by seed: {rates}.")
            bounds[name] = gold.bound(sets for trial, sets in chosen.items() if trial.data == data)
        models = {step.path.name: step.training.fingerprint for step in steps if step.training}
        selectors = {step.trial.system: step.settings() for step in steps if step.selector}
        facts = {"models": models, **({"selectors": selectors} if selectors else {})}
        layout = self.layout(self.provenance(facts), notes=notes)
        return [
            StudyTable(
                set_table(scores, bounds, self.recipe.comparison, layout), each="per-question"
            )
        ]
