"""From an opened experiment file to the steps that make its table.

A step is a product: an index, or a run. Its fingerprint covers all that decides its content, so
that a step whose product is there, unchanged and whole, is not done again.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adducir.experiments.opening import Opened, TopicSet, open_all, source_path
from adducir.experiments.recipe import (
    ExperimentRecipe,
    IndexRecipe,
    SystemRecipe,
    file_name,
    study_folder,
)
from adducir.indexes.analysis import Analysis
from adducir.indexes.build import IndexSettings, index_fingerprint
from adducir.indexes.models import BM25, QLD, Model, RM3Settings
from adducir.runs.metadata import metadata_for, read_metadata
from adducir.study.errors import InputError, ProductError
from adducir.study.files import file_digest
from adducir.study.fingerprint import fingerprint
from adducir.study.products import is_current
from adducir.study.progress import SILENT, Progress
from adducir.study.recipe import validate
from adducir.study.yaml import load

_RUN_VERSION = 1


@dataclass(frozen=True)
class IndexStep:
    """An index to build."""

    name: str
    path: Path
    corpus: str
    settings: IndexSettings
    fingerprint: str
    current: bool


@dataclass(frozen=True)
class RunStep:
    """A run to make, by a search or a fusion, or one that the user gave.

    Attributes:
        system: The system.
        topic_set: The topic set whose topics are searched; others may have the same topics.
        path: The run's file; for a given run, the user's.
        fingerprint: Of all that decides the rankings.
        current: Whether ``path`` already holds just that.
    """

    system: str
    topic_set: str
    path: Path
    fingerprint: str
    current: bool


@dataclass(frozen=True)
class Plan:
    """An experiment, checked and opened, and the steps to its table.

    Attributes:
        path: The experiment file.
        folder: The study's folder.
        recipe: What the file says, overrides applied.
        opened: Its corpora, topics, judgements, measures and given runs.
        indexes: A step for each index that a system needs.
        runs: A step for each system and topic set, in the order of the file, searches before
            fusions.
    """

    path: Path
    folder: Path
    recipe: ExperimentRecipe
    opened: Opened
    indexes: dict[str, IndexStep] = field(default_factory=dict)
    runs: dict[tuple[str, str], RunStep] = field(default_factory=dict)

    @property
    def output(self) -> Path:
        """The folder that takes the table in all its formats."""
        return self.folder / "experiments" / self.path.stem

    def lines(self) -> list[str]:
        """What running it would do, a line a step."""
        lines = [
            f"{'keep' if step.current else 'build'}  index {_shown(step.path, self.folder)}"
            f" of {self.opened.corpora[step.corpus].source}"
            for step in self.indexes.values()
        ]
        for path, step in {step.path: step for step in self.runs.values()}.items():
            system = self.recipe.systems[step.system]
            verb = "read" if system.run else "keep" if step.current else _verb(system)
            lines.append(f"{verb:6}run {_shown(path, self.folder)}")
        sets = ", ".join(self.opened.topic_sets)
        measures = " ".join(map(str, self.opened.measures))
        lines.append(f"evaluate {len(self.recipe.systems)} systems on {sets}: {measures}")
        lines.append(f"write {_shown(self.output, self.folder)}/")
        return lines


def plan_experiment(
    path: Path,
    overrides: tuple[str, ...] = (),
    *,
    rebuild: bool = False,
    folder: Path | None = None,
    progress: Progress = SILENT,
) -> Plan:
    """Read an experiment file, check all of it, and plan it; nothing is built.

    Args:
        path: The file.
        overrides: ``key.key=value`` changes to it.
        rebuild: Plan to build everything, even what is current.
        folder: The study's folder, where products go and relative paths start; by default the
            folder that holds ``experiments/``.
        progress: Told what ir_datasets downloads.

    Raises:
        InputError: The file or something that it names is wrong; all faults in one message.
    """
    document = load(path)
    recipe = validate(document, ExperimentRecipe, overrides)
    folder = study_folder(path) if folder is None else folder
    opened = open_all(recipe, document, folder, progress)
    plan = Plan(path, folder, recipe, opened)
    _plan_indexes(plan, rebuild)
    for fused in (False, True):
        for system in recipe.systems:
            if bool(recipe.systems[system].fuse) == fused:
                _plan_runs(plan, system, rebuild)
    return plan


def model_of(system: SystemRecipe) -> Model:
    """The retrieval model of a search."""
    return QLD(system.mu) if system.model == "qld" else BM25(system.k1, system.b)


def feedback_of(system: SystemRecipe) -> RM3Settings | None:
    """The relevance feedback of a search."""
    return RM3Settings(**dict(system.rm3)) if system.rm3 else None


def _plan_indexes(plan: Plan, rebuild: bool) -> None:
    needed = {system.index for system in plan.recipe.systems.values() if system.index}
    for name, index in plan.recipe.indexes.items():
        if name not in needed:
            continue
        settings = _index_settings(index, plan.folder)
        path = plan.folder / "indexes" / file_name(name)
        wanted = index_fingerprint(plan.opened.corpora[index.corpus], settings)
        current = not rebuild and _is_current(path, wanted)
        plan.indexes[name] = IndexStep(name, path, index.corpus, settings, wanted, current)


def _index_settings(index: IndexRecipe, folder: Path) -> IndexSettings:
    return IndexSettings(
        fields=index.fields,
        analysis=Analysis.of(index.stemmer, source_path(index.stopwords, folder)),
        positions=index.positions,
        vectors=index.vectors,
        accurate_length=index.accurate_length,
    )


def _is_current(path: Path, wanted: str) -> bool:
    try:
        return is_current(path, wanted)
    except ProductError:
        return False


def _plan_runs(plan: Plan, system: str, rebuild: bool) -> None:
    recipe = plan.recipe.systems[system]
    by_topics: dict[str, RunStep] = {}
    for name, topic_set in plan.opened.topic_sets.items():
        if recipe.run:
            given = plan.opened.given_runs[system, name].path
            if given is None:
                raise InputError(f"the run of {system} has no file.")
            step = RunStep(system, name, given, file_digest(given), current=True)
        else:
            wanted = fingerprint(_decides(plan, recipe, topic_set))
            # Topic sets that differ in their judgements only share a run.
            step = by_topics.get(wanted) or _run_step(plan, system, name, wanted, rebuild)
            by_topics[wanted] = step
        plan.runs[system, name] = step


def _run_step(plan: Plan, system: str, topic_set: str, wanted: str, rebuild: bool) -> RunStep:
    name = f"{file_name(system)}.{file_name(topic_set)}.trec.gz"
    path = plan.folder / "runs" / plan.path.stem / name
    current = not rebuild and run_is_current(path, wanted)
    return RunStep(system, topic_set, path, wanted, current)


def _decides(plan: Plan, system: SystemRecipe, topic_set: TopicSet) -> dict[str, Any]:
    """All that decides a run's rankings."""
    common = {"version": _RUN_VERSION, "depth": plan.recipe.depth}
    if system.fuse:
        members = [plan.runs[member, topic_set.name].fingerprint for member in system.fuse]
        settings = {"method": system.method, "k": system.k, "weights": list(system.weights)}
        return common | settings | {"members": members}
    rm3 = feedback_of(system)
    return common | {
        "index": plan.indexes[str(system.index)].fingerprint,
        "topics": topic_set.topics.identity(),
        "model": model_of(system).settings(),
        "rm3": rm3.settings() if rm3 else None,
    }


def run_is_current(path: Path, wanted: str) -> bool:
    """Whether a run was made by what ``wanted`` stands for, and is as it was written."""
    if not path.is_file() or not metadata_for(path).is_file():
        return False
    try:
        facts = read_metadata(path)
        made_by, written = facts["adducir"]["fingerprint"], facts["run file"]["sha256"]
    except (InputError, KeyError, TypeError):
        return False
    return bool(made_by == wanted and written == file_digest(path))


def _verb(system: SystemRecipe) -> str:
    return "fuse" if system.fuse else "search"


def _shown(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
