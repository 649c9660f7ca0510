"""Grid search with cross-validation.

Each fold's topics are ranked with the setting that has the best mean objective over the topics of
all *other* folds. Only these rankings are reported: a fold's labels do not affect its choice. The
values of all topics are pooled and then averaged, so that every topic counts the same whatever the
fold sizes (Anserini's ``xfold.py`` averages folds' means).
Among settings with equal means (rounded to 12 decimals, sums exact), the first in the grid wins.
``grid.csv`` has the mean of each setting over each fold's training topics (``train``: decides the
choice) and over its own (``test``: for information).
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from ir_measures import Measure

from adducir.core.artifacts import publishing_results
from adducir.core.csv_files import CsvWriter
from adducir.core.files import writing_text
from adducir.core.progress import progress
from adducir.core.texts import counted
from adducir.corpora.topics import Topics
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.lists import Floats, Integers, NegativeGrades
from adducir.evaluation.measures import parse_measure
from adducir.experiments.tuning.design import (
    Folds,
    Grid,
    Number,
    Setting,
    TopicPool,
    Tunable,
    plain,
)
from adducir.runs.run import SCHEMA, Run
from adducir.runs.write import write_run
from adducir.version import __version__

DECIMALS = 12
"""Means that agree to this many decimals are equal."""
FEW_TOPICS = 10
"""Fewer training topics than this cause a warning."""


def mean(values: Floats) -> float:
    """The mean with an exact sum, independent of the order of topics."""
    return round(fsum(values.tolist()) / len(values), DECIMALS) if len(values) else 0.0


def means(values: Floats, folds: Folds, topics_of: Callable[[int], Integers]) -> Floats:
    """(F, S) means of (S, T) values over some topics for each fold."""
    rows = map(topics_of, range(len(folds)))
    return np.array([[mean(row[topics]) for row in values] for topics in rows])


@dataclass(frozen=True, eq=False)
class Tuning:
    """The outcome of a grid search with F folds, S settings and T topics."""

    pool: TopicPool
    grid: Grid
    folds: Folds
    objective: Measure
    negative: NegativeGrades
    values: Floats  # (S, T) the objective of every setting and topic
    chosen: tuple[int, ...]  # (F,) the setting chosen for each fold
    run: Run  # of every topic with its fold's setting, over the pool's ids
    system: dict[str, Any]
    seconds: float

    @cached_property
    def training(self) -> Floats:
        """(F, S) means over the topics of all other folds, which decide the choices."""
        return means(self.values, self.folds, self.folds.train)

    @cached_property
    def test(self) -> Floats:
        """(F, S) means over each fold's own topics, for information only."""
        return means(self.values, self.folds, self.folds.test)

    def setting(self, fold: int) -> Setting:
        return self.grid.settings[self.chosen[fold]]

    @cached_property
    def held_out(self) -> Floats:
        """(T,) each topic's objective under the setting chosen without it."""
        settings = np.array(self.chosen)[self.folds.of]
        return np.asarray(self.values[settings, np.arange(len(self.pool))])

    @property
    def result(self) -> float:
        """The mean of :attr:`held_out` over all topics: the figure to report."""
        return mean(self.held_out)

    def best(self, fold: int) -> Integers:
        """The settings with a fold's best training mean, the chosen one first."""
        means = self.training[fold]
        return np.flatnonzero(means == means[self.chosen[fold]])

    @property
    def edges(self) -> dict[tuple[str, Number, str], int]:
        """How many folds chose the smallest or largest value tried: a better one may lie beyond."""
        edges: Counter[tuple[str, Number, str]] = Counter()
        for parameter in self.grid.parameters:
            for fold in range(len(self.folds)):
                best = [self.grid.settings[number] for number in self.best(fold).tolist()]
                value, *others = dict.fromkeys(setting[parameter.name] for setting in best)
                if not others and parameter.is_edge(value):
                    end = "smallest" if value == parameter.values[0] else "largest"
                    edges[parameter.name, value, end] += 1
        order = self.grid.names.index
        return dict(sorted(edges.items(), key=lambda edge: (order(edge[0][0]), edge[0][1])))

    def warnings(self) -> list[str]:
        folds, settings = len(self.folds), len(self.grid.settings)
        lines = [
            f"{name} = {plain(value)}, the {end} value tried, was chosen in {count} of {folds} "
            "folds: a better one may lie beyond"
            for (name, value, end), count in self.edges.items()
        ]
        for fold, name in enumerate(self.folds.names):
            if (ties := len(self.best(fold))) > 1:
                lines.append(
                    f"fold {name}: {ties} of {settings} settings have the best training "
                    "mean; the first of them in ascending order was chosen"
                )
        fewest = min(len(self.folds.train(fold)) for fold in range(folds))
        if fewest < FEW_TOPICS:
            message = f"a setting was chosen on only {counted(fewest, 'topic')}"
            lines.append(f"{message}: draw no strong conclusions")
        return [*lines, *self.pool.notes()]


def tune(
    system: Tunable,
    grid: Grid,
    pool: TopicPool,
    folds: Folds,
    objective: str | Measure,
    *,
    negative: NegativeGrades = "zero",
    tag: str = "tuned",
) -> Tuning:
    measure = parse_measure(objective)
    for setting in grid.settings:
        system.check(setting)
    started = time.perf_counter()
    evaluator = Evaluator(pool.qrels.restricted(pool.ids), measure, negative_grades=negative)
    topics = pool.topics(pool.ids)
    values = np.zeros((len(grid.settings), len(pool)))
    with progress().doing("tuning", len(grid.settings), "settings"):
        for number, setting in enumerate(grid.settings):
            if len(topics):
                run = system.run(setting, topics)
                values[number] = evaluator.score(run).values(measure)
            progress().advance(1)
    chosen = tuple(means(values, folds, folds.train).argmax(axis=1).tolist())
    setting_of, frames = np.array(chosen)[folds.of], [pl.DataFrame(schema=SCHEMA)]
    for number in dict.fromkeys(chosen):
        rows = np.flatnonzero(setting_of == number)
        if len(held_out := pool.topics(pool.ids[row] for row in rows)):
            frames.append(system.run(grid.settings[number], held_out).frame)
    in_order = pl.col("qid").cast(pl.Enum(pool.ids))
    run = Run(pl.concat(frames).sort(in_order, maintain_order=True), tag)
    seconds = time.perf_counter() - started
    facts = dict(system.facts)
    return Tuning(pool, grid, folds, measure, negative, values, chosen, run, facts, seconds)


def of_topics(run: Run, topics: Topics) -> Run:
    if set(run.qids) <= set(topics.qids):
        return run
    qids = pl.Series(topics.qids, dtype=pl.String)
    return Run(run.frame.filter(pl.col("qid").is_in(qids.implode())), run.tag)


TIES = (
    "means are compared to 12 decimals; ties go to the first setting in the grid: smallest values "
    "first, in the order of parameters"
)


def write_report(tuning: Tuning, folder: Path, *, with_runs: bool = True) -> dict[str, Path]:
    members = tuning.folds.members(tuning.pool.ids)
    folds = [f"  {json.dumps(name)}: {json.dumps(ids)}" for name, ids in members.items()]
    head = ["topic set", "qid", "fold", *tuning.grid.names, str(tuning.objective)]
    pool, held_out = tuning.pool, list[list[Any]]([head])
    for row, (qid, fold) in enumerate(zip(pool.qids, tuning.folds.of.tolist(), strict=True)):
        setting = [plain(value) for value in tuning.setting(fold).values()]
        topic = pool.sets[pool.set_of[row]].name, qid, tuning.folds.names[fold]
        held_out.append([*topic, *setting, float(tuning.held_out[row])])
    tables = {"grid.csv": _grid_lines(tuning), "held-out.csv": held_out}
    texts = {
        "tuning.json": json.dumps(facts(tuning), indent=2, ensure_ascii=False) + "\n",
        "folds.json": "{\n" + ",\n".join(folds) + "\n}\n",
    }
    with publishing_results(folder) as hidden:
        for name, text in texts.items():
            with writing_text(hidden / name) as handle:
                handle.write(text)
        for name, lines in tables.items():
            with writing_text(hidden / name) as handle:
                CsvWriter(handle).rows(lines)
        names = [*tables, *texts]
        about = {"method": {"tuning": facts(tuning)}}
        if with_runs and pool.ids == pool.qids:  # qids are unique across sets: one run for all
            names.append("held-out.trec.gz")
            write_run(tuning.run, hidden / names[-1], about, topics=pool.ids)
        elif with_runs:
            for number, topic_set in enumerate(pool.sets):
                names.append(f"held-out.{topic_set.name.replace(' ', '_')}.trec.gz")
                run, qids = pool.of_set(tuning.run, topic_set.name), pool.names_of(number)[0]
                write_run(run, hidden / names[-1], about, topics=qids)
    return {name: folder / name for name in names}


def facts(tuning: Tuning) -> dict[str, Any]:
    pool, folds = tuning.pool, tuning.folds
    return {
        "adducir": __version__,
        "system": tuning.system,
        "grid": {parameter.name: list(parameter.values) for parameter in tuning.grid.parameters},
        "settings": len(tuning.grid.settings),
        "objective": str(tuning.objective),
        "negative grades": tuning.negative,
        "ties": TIES,
        "topic sets": {
            topic_set.name: {"topics": topic_set.topics.source, "qrels": topic_set.qrels.source}
            for topic_set in pool.sets
        },
        "rule of folds": folds.rule,
        "folds": [
            {
                "fold": name,
                "training topics": len(folds.train(fold)),
                "test topics": len(folds.test(fold)),
                "chosen": tuning.setting(fold),
                "training mean": float(tuning.training[fold, tuning.chosen[fold]]),
                "test mean": float(tuning.test[fold, tuning.chosen[fold]]),
                "settings with the best training mean": len(tuning.best(fold)),
            }
            for fold, name in enumerate(folds.names)
        ],
        "held-out mean": tuning.result,
        "topics": len(pool),
        "warnings": tuning.warnings(),
    }


def _grid_lines(tuning: Tuning) -> Iterator[list[Any]]:
    pool, folds = tuning.pool, tuning.folds
    columns = ("fold", "part", "topic set", "topics", f"mean {tuning.objective}", "chosen")
    yield [*tuning.grid.names, *columns]
    groups: list[tuple[int, str, str, Any]] = []
    for fold in range(len(folds)):
        for part, rows in (("train", folds.train(fold)), ("test", folds.test(fold))):
            sets = np.unique(pool.set_of[rows])
            if len(sets) > 1:
                groups.append((fold, part, "all", rows))
            for number in sets:
                members = rows[pool.set_of[rows] == number]
                groups.append((fold, part, pool.sets[number].name, members))
    for number, values in enumerate(tuning.grid.settings):
        setting = [plain(value) for value in values.values()]
        for fold, part, name, rows in groups:
            value = mean(tuning.values[number][rows])
            chosen = int(tuning.chosen[fold] == number)
            yield [*setting, folds.names[fold], part, name, len(rows), value, chosen]
