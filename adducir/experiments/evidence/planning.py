"""Plans a study of evidence sets: every file and recipe is read before anything runs."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from adducir.corpora.evidence_sets.record import EvidenceQuestion
from adducir.corpora.evidence_sets.record_files import read_questions
from adducir.corpora.references import file_path
from adducir.experiments.evaluation.set_files import SetTruth
from adducir.experiments.evidence.recipe import EvidenceStudy, RoundRecipe, listed
from adducir.experiments.recipe import file_name
from adducir.rerankers.complementary.training import Course, open_course, recipe_of
from adducir.study.errors import InputError
from adducir.study.folders import study_folder
from adducir.study.products import is_current
from adducir.study.recipe import validate
from adducir.study.yaml import load


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
    course: Course
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
    """

    path: Path
    folder: Path
    recipe: EvidenceStudy
    tests: dict[tuple[str, int], tuple[Path, ...]]
    truths: dict[str, SetTruth]
    steps: tuple[Step, ...]
    output: Path
    tables: ClassVar[int] = 1

    def lines(self) -> Iterator[str]:
        """The plan for readers: a line a model."""
        for step in self.steps:
            done = "there" if is_current(step.model, step.course.fingerprint) else "to train"
            yield f"{step.model.relative_to(self.folder)}: {done}"


def plan_study(path: Path, changes: Sequence[str] = ()) -> StudyPlan:
    """Read a study's file and all that it names.

    Args:
        path: The file.
        changes: Overrides such as ``seeds=[0]``.

    Raises:
        InputError: The file or a recipe has faults, a file of questions cannot be read, or a test
            question is learnt from or tested twice.
    """
    recipe, folder = validate(load(path), EvidenceStudy, changes), study_folder(path)
    tests: dict[tuple[str, int], tuple[Path, ...]] = {}
    truths: dict[str, SetTruth] = {}
    for data, rounds in recipe.data.items():
        asked: list[EvidenceQuestion] = []
        for number, one in enumerate(rounds):
            tests[data, number] = _paths(one.test, folder)
            asked += _separate(one, folder)
        twice = len(asked) - len({question.id for question in asked})
        if twice:
            raise InputError(f"{twice} questions of {data} are tested in two rounds.", path=path)
        truths[data] = SetTruth.of(asked)
    steps = tuple(
        _step(path, folder, recipe, (system, data, number, seed))
        for data, rounds in recipe.data.items()
        for number in range(len(rounds))
        for system in recipe.systems
        for seed in recipe.seeds
    )
    return StudyPlan(path, folder, recipe, tests, truths, steps, path.with_suffix(""))


def _separate(one: RoundRecipe, folder: Path) -> list[EvidenceQuestion]:
    """The test questions of a round, none of which may be in its other files."""
    tested = [question for path in _paths(one.test, folder) for question in read_questions(path)]
    texts = {question.question for question in tested}
    for path in (*_paths(one.train, folder), *_paths(one.validation, folder)):
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
    course = open_course(recipe_of(document, changes), folder)
    name = f"{file_name(data)}-{number + 1}-{file_name(system)}-{seed}"
    model = folder / "rerankers" / path.stem / name
    return Step(system, data, number, seed, course, model, folder / "runs" / path.stem / name)


def _paths(names: str | tuple[str, ...], folder: Path) -> tuple[Path, ...]:
    return tuple(file_path(name, folder) for name in listed(names))
