"""From an experiment file to the steps that make its tables.

All of the file is read and all that it names is opened before anything is made, and every error is
kept for one message. The fingerprint of a step covers all that decides its content, so that a step
whose artifact is there, unchanged and whole, is not done again; nor is an artifact made that
nothing to be made needs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from adducir.corpora.references import source_path
from adducir.experiments.faults import Faults
from adducir.experiments.plan import Plan
from adducir.experiments.step import Step
from adducir.experiments.tasks import task_of
from adducir.study.absent import without_downloads
from adducir.study.checking import checked
from adducir.study.errors import InputError
from adducir.study.folders import study_folder
from adducir.study.progress import SILENT, Progress
from adducir.study.recipe import read
from adducir.study.yaml import Document, KeyPath, load

T = TypeVar("T")


@dataclass(frozen=True)
class Planner:
    """What a task is given to open its data with.

    Attributes:
        document: The experiment file as it was read.
        data: What the file says after the overrides, not validated.
        folder: The study's folder, where relative paths start.
        overrides: The overrides.
        faults: Takes what is wrong.
        progress: Told what ir_datasets downloads.
    """

    document: Document
    data: dict[str, object]
    folder: Path
    overrides: tuple[str, ...]
    faults: Faults
    progress: Progress

    @property
    def path(self) -> Path:
        """The experiment file."""
        return self.document.path

    @property
    def name(self) -> str:
        """The name of the folders that it gets."""
        return self.path.stem

    def opening(self, place: KeyPath, opener: Callable[[], T]) -> T | None:
        """What ``opener`` returns; None where it raises, and the error is kept."""
        return self.faults.opening(place, opener)

    def source(self, place: KeyPath, source: str) -> str | None:
        """The source to open; None where there is none."""
        return self.opening(place, partial(source_path, source, self.folder))


@checked
def plan_experiment(
    path: Path,
    overrides: tuple[str, ...] = (),
    *,
    rebuild: bool = False,
    dry_run: bool = False,
    folder: Path | None = None,
    progress: Progress = SILENT,
) -> Plan:
    """Read an experiment file, check all of it, and plan it; nothing is built.

    Args:
        path: The file.
        overrides: ``key.key=value`` changes to it.
        rebuild: Plan to make everything, even what is there.
        dry_run: Plan without what is not at hand, and download nothing: such a plan is for
            reading, and :attr:`.Plan.needs` says what it lacks.
        folder: The study's folder, where artifacts go and relative paths start; by default the
            folder that holds ``experiments/``.
        progress: Told what ir_datasets downloads.

    Raises:
        InputError: The file or something that it names is wrong, or is not at hand; all of it in
            one message.
        MachineError: Something cannot be downloaded, and nothing else is wrong.
    """
    document = load(path)
    reading = read(document, task_of(document), overrides)
    folder = study_folder(path) if folder is None else folder.absolute()
    faults, recipe = Faults(reading, dry_run=dry_run), reading.rest
    if recipe is None:
        faults.check()
        raise InputError("the file cannot be understood.", path=path)  # never without a fault
    planner = Planner(document, reading.data, folder, overrides, faults, progress)
    with without_downloads(dry_run or reading.recipe is None):
        study = recipe.study(planner)
    plan = Plan(path, folder, recipe, overrides, study, rebuild)
    _refuse_files_for_folders(plan, faults)
    needs = faults.check()
    goals = study.goals()
    steps = tuple(_in_order([*study.others(), *goals]))
    plan = replace(plan, needs=needs, goals=tuple(goals), steps=steps)
    return replace(plan, state=plan.current())


def _in_order(steps: Sequence[Step]) -> list[Step]:
    """The steps and all that they are made from, each after what it is made from."""
    found: dict[Step, None] = {}

    def add(step: Step) -> None:
        if step not in found:
            for one in step.inputs:
                add(one)
            found[step] = None

    for step in steps:
        add(step)
    return list(found)


def _refuse_files_for_folders(plan: Plan, faults: Faults) -> None:
    """Refuse what would only fail when the table is written."""
    for folder in (plan.output, plan.run_folder):
        for place in (folder.parent, folder):
            if place.exists() and not place.is_dir():
                what = f"{place}: a file stands where a folder is needed"
                if place.samefile(plan.path):
                    what = f"{what}: the experiment file's name needs an ending, such as .yaml"
                faults.add((), what)
