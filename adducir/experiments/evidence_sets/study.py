"""Opens a study of evidence sets, and plans its trainings and selections."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from adducir.core.absent import gathering
from adducir.core.artifacts import read_manifest
from adducir.core.errors import InputError
from adducir.core.files import require
from adducir.core.fingerprint import fingerprint
from adducir.core.folders import name_in_study
from adducir.core.sharding.gathering import Sharding
from adducir.core.sharding.work import Local
from adducir.core.source_digests import source_digests
from adducir.core.unread import may_read
from adducir.core.yaml import load
from adducir.corpora.references import file_path
from adducir.datasets.evidence_sets.record import EvidenceQuestion
from adducir.datasets.evidence_sets.record_files import read_questions
from adducir.datasets.evidence_sets.selected import read_selected, write_selected
from adducir.evaluation.scores import Scores
from adducir.evaluation.seeds import over_runs, run_name
from adducir.evaluation.set_files import GoldSets, checked
from adducir.experiments.evidence_sets.recipe import EvidenceSets, RoundRecipe, listed
from adducir.experiments.layout import layout_of
from adducir.experiments.packages import packages
from adducir.experiments.plan import Finding, Study, tests_of
from adducir.experiments.sections import file_name, untestable
from adducir.experiments.step import ArtifactStep, ModelStep, Step, Unknown
from adducir.models.machine import choose_device, using_threads
from adducir.selectors.selecting import load_evidence_model
from adducir.selectors.training import EvidencePlan
from adducir.selectors.work import SelectionWork, select_by_shards
from adducir.tables.sets import set_table
from adducir.training.kinds import open_training
from adducir.version import __version__

if TYPE_CHECKING:
    from adducir.experiments.context import Context
    from adducir.experiments.planner import Planner

SELECTED_FILE = "chosen.jsonl"


class Trial(NamedTuple):
    """One training: the system, the data set, the number of its round from 0, the seed."""

    system: str
    data: str
    round: int
    seed: int


class SelectionStep(ArtifactStep):
    """The sets that a trained model selects for the test questions of a round."""

    kind: ClassVar[str] = "chosen-sets"
    version: ClassVar[int] = 2
    verb = "select"
    stage = 2

    def __init__(self, study: "EvidenceStudy", trial: Trial, plan: EvidencePlan[Any]) -> None:
        self.study, self.trial, self.plan = study, trial, plan
        self.model = study.model_path(trial)
        self.path = study.folder / "runs" / study.name / self.model.name
        self.place = ("systems", trial.system)

        self.inputs = [ModelStep(self.model, lambda: plan, reads=[self.place])]

    @property
    def _tests(self) -> tuple[Path, ...]:
        return self.study.tests[self.trial.data, self.trial.round]

    def title(self, shown: Callable[[Path], str]) -> str:
        """Its folder."""
        return shown(self.path)

    def recipe(self) -> Mapping[str, Any]:
        """See :meth:`ArtifactStep.recipe`."""
        return {"precision": self.study.recipe.precision}

    def identities(self) -> Mapping[str, str]:
        """See :meth:`ArtifactStep.identities`."""
        return {
            "model": read_manifest(self.model).fingerprint,
            "questions": fingerprint(source_digests(self._tests)),
        }

    def fill(self, folder: Path, context: "Context") -> Mapping[str, Any]:
        """Select, and write the sets."""
        questions = [one for path in self._tests for one in read_questions(path)]
        with using_threads(context.threads):
            model = load_evidence_model(self.model, choose_device(context.device))
            work = SelectionWork(
                self.model,
                questions,
                model.settings.selection,
                self.study.recipe.precision,
                Local(model),
                context.device,
                context.threads,
            )
            sharding = Sharding(self.path, context.execution, is_locked=True)
            chosen = select_by_shards(work, sharding, context.progress)
        return {"questions": write_selected(chosen, folder / SELECTED_FILE)}

    def read(self, gold: GoldSets) -> dict[str, tuple[str, ...]]:
        """The sets that stand in its file, by question."""
        path = self.path / SELECTED_FILE
        return checked(path, read_selected(path), gold)


class EvidenceStudy(Study):
    """A study of evidence sets, opened.

    Attributes:
        recipe: What the file says.
        folder: The study's folder.
        name: The name of the folders that it gets.
        tests: The test questions' files, by data set and round.
        gold: The gold sets of the test questions, over all rounds of a data set.
    """

    makes: ClassVar[str] = "selections"

    def __init__(self, recipe: EvidenceSets, planner: "Planner") -> None:
        self.recipe, self.planner = recipe, planner
        self.folder, self.name = planner.folder, planner.name
        self.tests: dict[tuple[str, int], tuple[Path, ...]] = {}
        self.gold: dict[str, GoldSets] = {}
        self._steps: list[Step] = []

    def open(self) -> None:
        """Open questions and recipes; what is wrong is left with the planner."""
        planner, folder = self.planner, self.folder
        if len(self.recipe.seeds) > 1:
            planner.errors.extend(untestable(self.recipe.comparison))
        for data, rounds in self.recipe.data.items():
            find = partial(_questions, rounds, folder)
            tested = planner.opening(("data", data), find)
            if tested is None:
                continue
            for number, one in enumerate(rounds):
                self.tests[data, number] = _paths(one.test, folder)
            if all(questions is not None for questions in tested):
                every = [question for questions in tested for question in questions or ()]
                gold = planner.opening(("data", data), partial(_gold, data, every, planner.path))
                if gold is not None:
                    self.gold[data] = gold
        for trial in self._trials():
            find_step = partial(self._step, trial)
            step = planner.opening(("systems", trial.system), find_step)
            model = self.model_path(trial)
            self._steps.append(step or Unknown(model, "train", 0, "its data"))

    def _trials(self) -> Iterator[Trial]:
        for data, rounds in self.recipe.data.items():
            for number in range(len(rounds)):
                for system in self.recipe.systems:
                    for seed in self.recipe.seeds:
                        yield Trial(system, data, number, seed)

    def _step(self, trial: Trial) -> SelectionStep:
        part = self.recipe.systems[trial.system]
        one = self.recipe.data[trial.data][trial.round]
        changes = (
            *part.set,
            f"data.train={json.dumps(listed(one.train))}",
            f"data.validation={json.dumps(listed(one.validation))}",
            f"training.seed={trial.seed}",
        )
        document = load(file_path(str(part.recipe_for(trial.data)), self.folder))
        plan = open_training(document, changes, folder=self.folder)
        if not isinstance(plan, EvidencePlan):
            raise InputError("this is no recipe of an evidence selector.", path=document.path)
        return SelectionStep(self, trial, plan)

    def model_path(self, trial: Trial) -> Path:
        """The folder of a trial's model."""
        data, system = file_name(trial.data), file_name(trial.system)
        name = f"{data}-{trial.round + 1}-{system}-{trial.seed}"
        return self.folder / "rerankers" / self.name / name

    def goals(self) -> Sequence[Step]:
        """The selections."""
        return self._steps

    def warnings(self) -> Iterator[tuple[str, str]]:
        """The tests."""
        yield from tests_of(self.recipe.comparison)

    def findings(self, context: "Context") -> Sequence[Finding]:
        """The table."""
        recipe = self.recipe
        scores: dict[str, list[Scores]] = {}
        bounds: dict[str, Scores] = {}
        notes: list[str] = []
        for data, gold in self.gold.items():
            name = data if len(self.gold) > 1 else ""
            scores[name] = []
            for system in recipe.systems:
                each = [self._seed_scores(system, data, seed) for seed in recipe.seeds]
                scores[name].append(over_runs(system, each))
                if len(each) > 1:
                    rates = ", ".join(f"{one.values[:, 0].mean():.3f}" for one in each)
                    notes.append(f"EM of {system} on {data} by seed: {rates}.")
            bounds[name] = gold.bound(self._size(data))
        requested = recipe.comparison
        table = set_table(
            scores,
            bounds=bounds,
            testing=requested.model_dump(exclude_none=True) if requested else {},
            layout=layout_of(
                recipe.table,
                self.name,
                description=recipe.description,
                notes=notes,
                provenance=self._provenance(),
            ),
        )
        return [Finding(table, each="per-question")]

    def _selections(self) -> list[SelectionStep]:
        return [step for step in self._steps if isinstance(step, SelectionStep)]

    def _seed_scores(self, system: str, data: str, seed: int) -> Scores:
        """The scores of a system with one seed, over the rounds' test questions together."""
        gold, chosen = self.gold[data], dict[str, tuple[str, ...]]()
        for step in self._selections():
            if (step.trial.system, step.trial.data, step.trial.seed) == (system, data, seed):
                chosen |= step.read(gold)
        return gold.scores(run_name(system, seed), chosen)

    def _size(self, data: str) -> int:
        """The passages of the largest set that is selected."""
        return max(
            step.plan.model_settings.selection.size
            for step in self._selections()
            if step.trial.data == data
        )

    def _provenance(self) -> dict[str, Any]:
        models = {step.model.name: step.plan.fingerprint for step in self._selections()}
        file = name_in_study(self.planner.path)
        known = packages(self.recipe.comparison)
        return {"adducir": __version__, "file": file, "models": models, **known}


def open_study(recipe: EvidenceSets, planner: "Planner") -> EvidenceStudy:
    """Open a study's questions and recipes."""
    study = EvidenceStudy(recipe, planner)
    study.open()
    return study


def _questions(rounds: Sequence[RoundRecipe], folder: Path) -> list[list[EvidenceQuestion] | None]:
    """The test questions of each round; None of one that a dry run leaves unread."""
    with gathering() as each:
        return [each(partial(_separate, one, folder)) for one in rounds]


def _gold(data: str, every: Sequence[EvidenceQuestion], path: Path) -> GoldSets:
    """The gold sets of a data set's test questions, over all of its rounds."""
    twice = len(every) - len({question.id for question in every})
    if twice:
        raise InputError(f"{twice} questions of {data} are tested in two rounds.", path=path)
    return GoldSets.of(every)


def _separate(one: RoundRecipe, folder: Path) -> list[EvidenceQuestion] | None:
    """The test questions of a round, none of which may be in its other files.

    None where a dry run leaves them unread.
    """
    others = (*_paths(one.train, folder), *_paths(one.validation, folder))
    with gathering() as each:
        for path in (*_paths(one.test, folder), *others):
            each(partial(require, path))
    reads_others = may_read(*others)
    if not may_read(*_paths(one.test, folder)):
        return None
    tested = [question for path in _paths(one.test, folder) for question in read_questions(path)]
    texts = {question.question for question in tested}
    for path in others if reads_others else ():
        shared = texts.intersection(question.question for question in read_questions(path))
        if shared:
            raise InputError(
                f"{len(shared)} test questions are in it, such as {min(shared)!r}.",
                path=path,
                hint="Test on questions that no model learns from.",
            )
    return tested


def _paths(names: str | tuple[str, ...], folder: Path) -> tuple[Path, ...]:
    return tuple(file_path(name, folder) for name in listed(names))
