"""Plans a study of evidence sets: every file and recipe is read before anything runs."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from adducir.corpora.evidence_sets.record import EvidenceQuestion
from adducir.corpora.evidence_sets.record_files import read_questions
from adducir.corpora.references import file_path
from adducir.experiments.evaluation.set_files import SetTruth
from adducir.experiments.evidence.recipe import EvidenceStudy, RoundRecipe, listed
from adducir.experiments.faults import Faults, Needs
from adducir.experiments.recipe import file_name
from adducir.rerankers.complementary.training import EvidencePlan
from adducir.study.absent import gathering, without_downloads
from adducir.study.errors import InputError
from adducir.study.files import require
from adducir.study.folders import study_folder
from adducir.study.progress import Progress
from adducir.study.recipe import read
from adducir.study.yaml import load
from adducir.training.kinds import open_training


@dataclass(frozen=True)
class Step:
    """A model to train, and the sets to choose with it.

    Attributes:
        system: The system.
        data: The data set.
        round: The number of its round, from 0.
        seed: Of the training.
        course: The recipe, opened.
        model: The model's folder.
        chosen: The folder of the chosen sets.
    """

    system: str
    data: str
    round: int
    seed: int
    course: EvidencePlan[Any]
    model: Path
    chosen: Path


@dataclass(frozen=True)
class StudyPlan:
    """A study, checked and opened.

    Attributes:
        path: Its file.
        folder: The study's folder.
        recipe: What the file says.
        tests: The test questions' files, by data set and round.
        truths: What is true of them, over all rounds of a data set.
        steps: What there is to do.
        output: The folder of the table.
        unknown: Of a dry run, the folders of models whose data are not at hand.
        needs: What is needed and not built here.
    """

    path: Path
    folder: Path
    recipe: EvidenceStudy
    tests: dict[tuple[str, int], tuple[Path, ...]]
    truths: dict[str, SetTruth]
    steps: tuple[Step, ...]
    output: Path
    unknown: tuple[Path, ...] = ()
    needs: Needs = field(default_factory=Needs)
    tables: ClassVar[int] = 1

    def lines(self) -> Iterator[str]:
        """The plan for readers: a line a model."""
        for step in self.steps:
            done = "there" if step.course.is_current(step.model) else "to train"
            yield f"{step.model.relative_to(self.folder)}: {done}"
        for model in self.unknown:
            name = model.relative_to(self.folder)
            yield f"{name}: whether it is there is unknown without its data"

    def fetch(self, progress: Progress, *, rebuild: bool = False) -> None:
        """Fetch the models that trainings begin with, before the first of them is begun.

        Raises:
            AdducirError: Something cannot be fetched; all of it in one message.
        """
        places = {
            ("systems", step.system)
            for step in self.steps
            if rebuild or not step.course.is_current(step.model)
        }
        self.needs.fetch(places, progress)


def plan_study(path: Path, changes: Sequence[str] = (), *, dry_run: bool = False) -> StudyPlan:
    """Read a study's file and all that it names.

    Args:
        path: The file.
        changes: Overrides such as ``seeds=[0]``.
        dry_run: Plan without what is not at hand, and download nothing: such a plan is for
            reading, and its ``needs`` say what it lacks.

    Raises:
        InputError: The file or a recipe has faults, a file of questions cannot be read, or a test
            question is learnt from or tested twice; all of it in one message.
    """
    reading, folder = read(load(path), EvidenceStudy, changes), study_folder(path)
    faults, recipe = Faults(reading, dry_run=dry_run), reading.rest
    if recipe is None:
        faults.check()
        raise InputError("the file cannot be understood.", path=path)  # never without a fault
    tests: dict[tuple[str, int], tuple[Path, ...]] = {}
    truths: dict[str, SetTruth] = {}
    steps: list[Step] = []
    unknown: list[Path] = []
    with without_downloads(dry_run or reading.recipe is None):
        for data, rounds in recipe.data.items():
            truth = faults.opening(("data", data), partial(_truth, data, rounds, folder, path))
            if truth is not None:
                truths[data] = truth
                tests |= {
                    (data, number): _paths(one.test, folder) for number, one in enumerate(rounds)
                }
        for key in _keys(recipe):
            step = faults.opening(("systems", key[0]), partial(_step, path, folder, recipe, key))
            if step is None:
                unknown.append(_model(path, folder, key))
            else:
                steps.append(step)
    needs = faults.check()
    output = path.with_suffix("")
    return StudyPlan(
        path, folder, recipe, tests, truths, tuple(steps), output, tuple(unknown), needs
    )


def _keys(recipe: EvidenceStudy) -> Iterator[tuple[str, str, int, int]]:
    """The system, data set, round and seed of each step."""
    for data, rounds in recipe.data.items():
        for number in range(len(rounds)):
            for system in recipe.systems:
                for seed in recipe.seeds:
                    yield system, data, number, seed


def _truth(data: str, rounds: Sequence[RoundRecipe], folder: Path, path: Path) -> SetTruth:
    """What is true of a data set's test questions, over all of its rounds."""
    with gathering() as each:
        tested = [each(partial(_separate, one, folder)) or [] for one in rounds]
    asked = [question for questions in tested for question in questions]
    twice = len(asked) - len({question.id for question in asked})
    if twice:
        raise InputError(f"{twice} questions of {data} are tested in two rounds.", path=path)
    return SetTruth.of(asked)


def _separate(one: RoundRecipe, folder: Path) -> list[EvidenceQuestion]:
    """The test questions of a round, none of which may be in its other files."""
    others = (*_paths(one.train, folder), *_paths(one.validation, folder))
    with gathering() as each:
        for path in (*_paths(one.test, folder), *others):
            each(partial(require, path))
    tested = [question for path in _paths(one.test, folder) for question in read_questions(path)]
    texts = {question.question for question in tested}
    for path in others:
        shared = texts.intersection(question.question for question in read_questions(path))
        if shared:
            raise InputError(
                f"{len(shared)} test questions are in it, such as {min(shared)!r}.",
                path=path,
                mend="Test on questions that no model learns from.",
            )
    return tested


def _step(path: Path, folder: Path, recipe: EvidenceStudy, key: tuple[str, str, int, int]) -> Step:
    system, data, number, seed = key
    part, one = recipe.systems[system], recipe.data[data][number]
    changes = (
        *part.set,
        f"data.train={json.dumps(listed(one.train))}",
        f"data.validation={json.dumps(listed(one.validation))}",
        f"training.seed={seed}",
    )
    document = load(file_path(str(part.recipe_for(data)), folder))
    course = open_training(document, changes, folder=folder)
    if not isinstance(course, EvidencePlan):
        raise InputError("this is no recipe of an evidence selector.", path=document.path)
    model = _model(path, folder, key)
    chosen = folder / "runs" / path.stem / model.name
    return Step(system, data, number, seed, course, model, chosen)


def _model(path: Path, folder: Path, key: tuple[str, str, int, int]) -> Path:
    """The folder of a step's model."""
    system, data, number, seed = key
    name = f"{file_name(data)}-{number + 1}-{file_name(system)}-{seed}"
    return folder / "rerankers" / path.stem / name


def _paths(names: str | tuple[str, ...], folder: Path) -> tuple[Path, ...]:
    return tuple(file_path(name, folder) for name in listed(names))
