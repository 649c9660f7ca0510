"""Runs a planned experiment: indexes, runs, evaluation, tests, table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adducir import __version__
from adducir.experiments.comparison.compare import compare
from adducir.experiments.comparison.results import Comparison
from adducir.experiments.evaluation.evaluate import Evaluator
from adducir.experiments.evaluation.scores import Scores
from adducir.experiments.planning import (
    IndexStep,
    Plan,
    RunStep,
    feedback_of,
    model_of,
)
from adducir.experiments.recipe import file_name
from adducir.experiments.tables.build import Layout, build_table
from adducir.experiments.tables.render import FORMATS, render
from adducir.experiments.tables.style import Style
from adducir.experiments.tables.table import ResultTable
from adducir.indexes.build import build_index
from adducir.indexes.lucene import LuceneIndex
from adducir.indexes.search import search_topics
from adducir.runs.fuse import fuse
from adducir.runs.read import read_run
from adducir.runs.run import Run
from adducir.runs.write import write_run
from adducir.study.files import writing_text
from adducir.study.progress import SILENT, Progress


@dataclass(frozen=True)
class Outcome:
    """What an experiment gave.

    Attributes:
        table: The result table.
        files: The table's files, by format; ``per-topic`` is the CSV of all topics.
        runs: The run files that were made, not those that were kept.
    """

    table: ResultTable
    files: dict[str, Path]
    runs: list[Path]


def run_experiment(
    plan: Plan, *, threads: int | None = None, rebuild: bool = False, progress: Progress = SILENT
) -> Outcome:
    """Do the steps of a plan that are not done, evaluate, test, and write the table.

    Args:
        plan: From :func:`adducir.experiments.planning.plan_experiment`.
        threads: Java threads; by default one a core. No figure depends on it.
        rebuild: Build current indexes again as well (the plan must say so for runs).
        progress: Told of each step.

    Raises:
        AdducirError: A corpus record is malformed, the disk is full, and the like.
    """
    for step in plan.indexes.values():
        if rebuild or not step.current:
            _build(plan, step, threads, progress)
    made: list[Path] = []
    runs = _Runs(plan, threads, progress, made)
    evaluated = {
        name: _scores(plan, name, lambda system, name=name: runs.get(system, name))  # type: ignore[misc]
        for name in plan.opened.topic_sets
    }
    table = _table(plan, evaluated)
    return Outcome(table, _write(plan, table), made)


def _build(plan: Plan, step: IndexStep, threads: int | None, progress: Progress) -> None:
    manifest = build_index(
        plan.opened.corpora[step.corpus],
        step.path,
        step.settings,
        threads=threads,
        rebuild=True,
        progress=progress,
    )
    counts = manifest.counts
    empty = f", {counts['empty']:,} of them without text" if counts["empty"] else ""
    progress.note(f"index {step.path.name}: {counts['documents']:,} documents{empty}")


class _Runs:
    """The runs of a plan, each made or read once."""

    def __init__(
        self, plan: Plan, threads: int | None, progress: Progress, made: list[Path]
    ) -> None:
        self._plan = plan
        self._threads = threads
        self._progress = progress
        self._made = made
        self._indexes: dict[str, LuceneIndex] = {}
        self._runs: dict[Path, Run] = {}

    def get(self, system: str, topic_set: str) -> Run:
        step = self._plan.runs[system, topic_set]
        if step.path not in self._runs:
            self._runs[step.path] = self._read(step) if step.current else self._make(step)
        return self._runs[step.path]

    def _read(self, step: RunStep) -> Run:
        given = self._plan.opened.given_runs.get((step.system, step.topic_set))
        return given or read_run(step.path, allow_empty=True)

    def _make(self, step: RunStep) -> Run:
        system = self._plan.recipe.systems[step.system]
        topics = self._plan.opened.topic_sets[step.topic_set].topics
        tag = file_name(step.system)
        if system.fuse:
            members = [self.get(member, step.topic_set) for member in system.fuse]
            depth = self._plan.recipe.depth
            weights = system.weights or None
            run = fuse(members, system.method, k=system.k, weights=weights, depth=depth, tag=tag)
            method: dict[str, Any] = {"fusion": system.model_dump(include={"fuse", "method", "k"})}
        else:
            name = str(system.index)
            if name not in self._indexes:
                self._indexes[name] = LuceneIndex(self._plan.indexes[name].path)
            found = search_topics(
                self._indexes[name],
                topics,
                model_of(system),
                tag=tag,
                rm3=feedback_of(system),
                depth=self._plan.recipe.depth,
                threads=self._threads,
            )
            run, method = found.run, {"retrieval": [found.settings]}
            for qid in found.empty:
                self._progress.note(f"topic {qid}: no term is left of its query; no hits")
        self._progress.note(f"run {step.path.name}: {len(run):,} hits for {len(topics)} topics")
        metadata = {
            "method": method,
            "data": {"topics": {"source": topics.source, "field": topics.field}},
            "adducir": {"fingerprint": step.fingerprint},
        }
        step.path.parent.mkdir(parents=True, exist_ok=True)
        write_run(run, step.path, metadata, topics=topics.qids)
        self._made.append(step.path)
        return run


def _scores(plan: Plan, topic_set: str, run_of: Callable[[str], Run]) -> list[Scores]:
    evaluator = Evaluator(
        plan.opened.topic_sets[topic_set].qrels,
        plan.opened.measures,
        negative=plan.recipe.negative_grades,
    )
    return [evaluator.score(run_of(system), system=system) for system in plan.recipe.systems]


def _compare(plan: Plan, scores: Sequence[Scores]) -> Comparison:
    asked = plan.recipe.comparison
    if asked is None:
        return compare(scores)
    return compare(
        scores,
        baseline=asked.baselines or None,
        test=asked.test,
        correction=asked.correction,
        alpha=asked.alpha,
        family=asked.family,
        equivalence=asked.equivalence,
        against=asked.against,
        seed=asked.seed,
        permutations=asked.permutations,
        samples=asked.samples,
    )


def _table(plan: Plan, evaluated: dict[str, list[Scores]]) -> ResultTable:
    recipe = plan.recipe
    layout = Layout(
        title=recipe.table.caption or recipe.description,
        label=recipe.table.label or f"tab:{plan.path.stem}",
        style=Style(decimals=recipe.table.decimals, details=recipe.table.show),
        measure_names=recipe.table.measure_names,
        sections={name: system.group for name, system in recipe.systems.items() if system.group},
        provenance=_provenance(plan),
    )
    comparisons = {name: _compare(plan, scores) for name, scores in evaluated.items()}
    if len(evaluated) == 1:
        (name,) = evaluated
        return build_table(comparisons[name], evaluated[name], layout=layout)
    return build_table(comparisons, evaluated, layout=layout)


def _provenance(plan: Plan) -> dict[str, Any]:
    return {
        "adducir": __version__,
        "experiment": plan.path.name,
        "recipe": plan.recipe.model_dump(mode="json", exclude_unset=True),
        "indexes": {name: step.fingerprint for name, step in plan.indexes.items()},
        "runs": {
            f"{system} on {topic_set}": step.fingerprint
            for (system, topic_set), step in plan.runs.items()
        },
        "qrels": {name: each.qrels.identity() for name, each in plan.opened.topic_sets.items()},
    }


def _write(plan: Plan, table: ResultTable) -> dict[str, Path]:
    """The table in every format, each file whole or not at all."""
    texts = {name: (f"table{ending}", render(table, name)) for name, ending in FORMATS.items()}
    texts["html"] = ("report.html", texts["html"][1])
    texts["per-topic"] = ("per-topic.csv", render(table, "csv", per_topic=True))
    plan.output.mkdir(parents=True, exist_ok=True)
    files = {}
    for format_name, (name, text) in texts.items():
        files[format_name] = plan.output / name
        with writing_text(files[format_name]) as handle:
            handle.write(text if text.endswith("\n") else text + "\n")
    return files
