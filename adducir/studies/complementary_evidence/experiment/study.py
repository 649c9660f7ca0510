"""The task ``evidence-sets``: its experiment file, opened, its trainings and selections."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from adducir.core.absent import gathering, may_read
from adducir.core.errors import InputError
from adducir.core.files import require
from adducir.core.names import Seen
from adducir.core.recipe import Recipe
from adducir.core.registry import chosen_by_key
from adducir.corpora.references import file_path
from adducir.evaluation.scores import Scores, run_name
from adducir.experiments.planner import Planner
from adducir.experiments.sections import Name, Seeds, file_name
from adducir.experiments.step import Step
from adducir.experiments.study import Finding, Study, Task, Trial
from adducir.models.machine import Precision
from adducir.studies.complementary_evidence.experiment.steps import SelectionStep
from adducir.studies.complementary_evidence.experiment.systems import (
    EVIDENCE_SYSTEMS,
    EvidenceSystem,
)
from adducir.studies.complementary_evidence.measures import GoldSets, set_table
from adducir.studies.complementary_evidence.questions import EvidenceQuestion, read_questions
from adducir.training.recipe import Several, listed

if TYPE_CHECKING:
    from adducir.experiments.context import Context


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

    def study(self, planner: Planner) -> "EvidenceStudy":
        return EvidenceStudy(self, planner)


class EvidenceStudy(Study):
    """A study of evidence sets, opened."""

    makes: ClassVar[str] = "selections"
    verb: ClassVar[str] = "select"

    def __init__(self, recipe: EvidenceSets, planner: "Planner") -> None:
        super().__init__(recipe, planner)
        self.tests: dict[tuple[str, int], tuple[Path, ...]] = {}
        self.gold: dict[str, GoldSets] = {}
        folder = self.folder
        for data, rounds in recipe.data.items():
            are_read = planner.opening(("data", data), partial(_separate_all, rounds, folder))
            if are_read is None:
                continue
            for number, one in enumerate(rounds):
                self.tests[data, number] = _paths(one.test, folder)
            if are_read:
                every = [*read_questions(*(p for one in rounds for p in _paths(one.test, folder)))]
                gold = planner.opening(("data", data), partial(_gold, data, every, planner.path))
                if gold is not None:
                    self.gold[data] = gold

    def trials(self) -> Iterator[Trial]:
        """Those of a round together."""
        for data, rounds in self.recipe.data.items():
            for number in range(len(rounds)):
                for system in self.recipe.systems:
                    for seed in self.seeds(system):
                        yield Trial(system, data, seed, number)

    def step(self, trial: Trial) -> Step | None:
        step: Step = self.recipe.systems[trial.system].step(trial, self)
        return step if (trial.data, trial.part) in self.tests else None

    def path_of(self, trial: Trial) -> Path:
        seed = "untrained" if trial.seed is None else str(trial.seed)  # no other system's seed
        names = (file_name(trial.data), str(trial.part + 1), file_name(trial.system), seed)
        return self.folder / "runs" / self.name / "-".join(names)

    def seeds(self, system: str) -> Sequence[int | None]:
        return self.recipe.seeds if self.recipe.systems[system].is_trained else (None,)

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
                each = [self._scores(system, data, seed) for seed in self.seeds(system)]
                scores[name] += [one.renamed(system) for one in each]
                if len(each) > 1:
                    rates = ", ".join(f"{one.mean('EM'):.3f}" for one in each)
                    notes.append(f"EM of {system} on {data} by seed: {rates}.")
            bounds[name] = gold.bound(
                step.read(gold) for step in self._selections() if step.trial.data == data
            )
        layout = self.layout(self._provenance(), notes=notes)
        table = set_table(scores, bounds, recipe.comparison, layout)
        return [Finding(table, each="per-question")]

    def _selections(self) -> list[SelectionStep]:
        return [step for step in self.steps.values() if isinstance(step, SelectionStep)]

    def _scores(self, system: str, data: str, seed: int | None) -> Scores:
        """The scores of a system's run, over the rounds' test questions together."""
        gold, chosen = self.gold[data], dict[str, tuple[str, ...]]()
        for step in self._selections():
            if (step.trial.system, step.trial.data, step.trial.seed) == (system, data, seed):
                chosen |= step.read(gold)
        return gold.scores(system if seed is None else run_name(system, seed), chosen)

    def _provenance(self) -> dict[str, Any]:
        steps = self._selections()
        models = {one.path.name: one.fingerprint for step in steps for one in step.training}
        made = {s.trial.system: s.settings() for s in steps if not s.training}
        selectors = {"selectors": made} if made else {}
        return self.provenance({"models": models, **selectors})


def _separate_all(rounds: Sequence[RoundRecipe], folder: Path) -> bool:
    """Check the rounds; whether all test questions were read, since a dry run may leave some."""
    with gathering() as each:
        are_read = [each(partial(_separate, one, folder)) for one in rounds]
    return all(are_read)


def _gold(data: str, every: Iterable[EvidenceQuestion], path: Path) -> GoldSets:
    """The gold sets of a data set's test questions, over all of its rounds."""
    seen = Seen()
    twice = sum(seen.add(question.id) for question in every)
    if twice:
        raise InputError(f"{twice} questions of {data} are tested in two rounds.", path=path)
    return GoldSets(every)


def _separate(one: RoundRecipe, folder: Path) -> bool:
    """Refuse a round whose test questions are in its other files."""
    others = (*_paths(one.train, folder), *_paths(one.validation, folder))
    with gathering() as each:
        for path in (*_paths(one.test, folder), *others):
            each(partial(require, path))
    reads_others = may_read(*others)
    if not may_read(*_paths(one.test, folder)):
        return False
    texts = {question.question for question in read_questions(*_paths(one.test, folder))}
    for path in others if reads_others else ():
        shared = texts.intersection(one.question for one in read_questions(path))
        if shared:
            raise InputError(
                f"{len(shared)} test questions are in it, such as {min(shared)!r}.",
                path=path,
                hint="Test on questions that no model learns from.",
            )
    return True


def _paths(names: str | tuple[str, ...], folder: Path) -> tuple[Path, ...]:
    return tuple(file_path(name, folder) for name in listed(names))
