"""Grids in shards: some settings each, made anywhere; see :mod:`adducir.core.chunks`.

A shard's file holds ``values``, (settings, topics) float64: what each setting reaches for a topic.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from adducir.core.chunks import ANY, Chunking
from adducir.core.executors import Place
from adducir.corpora.topics import Topics
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.judgements import Floats, Integers, NegativeGrades
from adducir.evaluation.measures import Measure
from adducir.evaluation.vectorised import is_vectorised
from adducir.experiments.tuning.folds import Folds, Pool
from adducir.experiments.tuning.grid import Grid, plain
from adducir.experiments.tuning.systems import Tunable
from adducir.models.arrays import read_shard, write_shard
from adducir.runs.run import Run

SHARD = 8
"""Settings in a shard: what a kill can lose."""
MOST_TOPICS = 2_000
"""Topics of one search call: with 1,000 hits each, a few hundred megabytes."""


@dataclass(frozen=True)
class Part:
    """Topics that are searched and evaluated together."""

    rows: Integers
    topics: Topics
    evaluator: Evaluator


@dataclass(frozen=True)
class TuningWork:
    """What settings reach; see :mod:`adducir.core.chunks`.

    Attributes:
        negative: How negative grades are treated, as in an evaluation.
    """

    system: Tunable
    grid: Grid
    pool: Pool
    folds: Folds
    measure: Measure
    negative: NegativeGrades = "zero"
    doing: str = "tuning"
    unit: str = "settings"

    @property
    def size(self) -> int:
        return SHARD

    @property
    def total(self) -> int:
        return len(self.grid)

    def identity(self) -> Mapping[str, Any]:
        """See :class:`.Work`: all that determines the values."""
        return {
            "system": self.system.identity(),
            "settings": [self.describe(number)[0] for number in range(len(self.grid))],
            "topics": self.pool.queries,
            "qrels": self.pool.qrels.frame.write_csv(),
            "folds": self.folds.members(self.pool.ids),
            "measure": str(self.measure),
            "negative grades": self.negative,
        }

    def check(self) -> None:
        """See :class:`.Work`: the system is open."""

    def items(self, *, check: bool) -> Iterator[int]:
        """See :class:`.Work`: settings in the order in which they are done at the least cost."""
        del check
        return iter(self.system.order(self.grid))

    def describe(self, item: int) -> tuple[str, bytes]:
        values = [f"{name}={plain(value)}" for name, value in self.grid.setting(item).items()]
        return " ".join(values), json.dumps(values).encode("ascii")

    def builder(self, place: Place) -> "_Builder":
        del place
        return _Builder(self)

    @cached_property
    def parts(self) -> list[Part]:
        """All topics."""
        everything = [np.arange(len(self.pool))]
        by_fold = [self.folds.test(fold) for fold in range(len(self.folds))]
        found = []
        for group in everything if is_vectorised(self.measure) else by_fold:
            for start in range(0, len(group), MOST_TOPICS):
                rows = group[start : start + MOST_TOPICS]
                ids = [self.pool.ids[row] for row in rows]
                judged = self.pool.qrels.restricted(ids)
                evaluator = Evaluator(judged, self.measure, negative=self.negative)
                found.append(Part(rows, self.pool.topics(ids), evaluator))
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "parts"}

    def runs(self, number: int) -> Iterator[tuple[Part, Run]]:
        """What a setting ranks, for all topics that can be searched."""
        for part in self.parts:
            if len(part.topics):
                yield part, self.system.run(self.grid.setting(number), part.topics)


class _Builder:
    """Searches and evaluates; its figures do not depend on the machine."""

    device = ANY

    def __init__(self, work: TuningWork) -> None:
        self._work = work

    def make(self, items: Sequence[int], path: Path) -> None:
        work = self._work
        values = np.zeros((len(items), len(work.pool)))
        for row, number in enumerate(items):
            for part, run in work.runs(number):
                values[row, part.rows] = part.evaluator.score(run).of(work.measure)
        write_shard(path, {"values": values})


def values_by_shards(work: TuningWork, chunking: Chunking) -> Floats:
    """(settings, topics) what each setting reaches.

    Raises:
        IncompleteError, MachineError, ArtifactError: See :func:`.make_chunks`.
    """
    values = np.zeros((len(work.grid), len(work.pool)))
    with chunking.made(work) as made:
        found = [read_shard(path)["values"] for path in made.files]
    values[list(work.items(check=False))] = np.concatenate(found)
    return values
