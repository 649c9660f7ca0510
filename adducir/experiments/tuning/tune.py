"""Grid search with cross-validation.

For each fold, the setting with the best mean of the objective over the topics of all *other* folds
is chosen, and ranks the fold's own topics. What is reported is these rankings: each topic's value
comes from a setting that was chosen without it. The values of all topics are pooled and then
averaged, so that every topic counts the same whatever the sizes of the folds (Anserini's
``xfold.py`` averages the folds' means).

No label of a fold has a part in its choice. The measures that are computed here take each topic by
itself; a measure of another library is given the judgements of one fold at a time, because it could
do otherwise.

Between settings with equal means (rounded to 12 decimals, sums exact) the first in the order of the
grid is chosen (:mod:`adducir.experiments.tuning.grid`).

In an experiment file a system's ``tune`` says what is tried:

    tune:
      grid:
        k1: [0.6, 1.2, 1.6]
        b: {from: 0.15, to: 0.75, step: 0.2}
      folds: topics            # or {k: 5, seed: 42}, or {file: folds.json}
      objective: nDCG(judged_only=True)@5
"""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import fsum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
from ir_measures import Measure
from pydantic import Field, field_validator, model_validator

from adducir.core.chunks import ANY, TEMPORARY, Chunking
from adducir.core.errors import UsageError
from adducir.core.executors import Place
from adducir.core.recipe import KeyPath, Recipe, errors_at
from adducir.corpora.topics import Topics
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.lists import Floats, Integers, NegativeGrades
from adducir.evaluation.measures import is_ours, parse_measure
from adducir.experiments.tuning.folds import Folds, Pool, by_topic_set, from_file, k_fold
from adducir.experiments.tuning.grid import (
    Grid,
    Hyperparameter,
    Number,
    Setting,
    from_recipe,
    plain,
)
from adducir.runs.run import Run

DEFAULT_OBJECTIVE = "nDCG(judged_only=True)@5"
DECIMALS = 12
"""Means that agree to so many decimals are equal."""
FEW_TOPICS = 10
"""A choice made on fewer topics than this is worth a warning."""
SHARD = 8
"""Settings in a chunk: what a kill can lose."""


@dataclass(frozen=True)
class Tunable:
    """A system with some of its hyperparameters left open; other processes may run it.

    Attributes:
        run: Ranks topics with the values of a setting.
        facts: What the system is, for metadata.
        more: What else determines its rankings, beside facts, topics and settings.
        check: Raises UsageError if a setting makes no sense.
    """

    run: Callable[[Setting, Topics], Run]
    facts: Mapping[str, Any]
    more: Any = None
    check: Callable[[Setting], object] = bool


Range = dict[Literal["from", "to", "step"], float]


class FoldsRecipe(Recipe):
    """Folds cut by a seed, or from a file."""

    k: Annotated[int, Field(ge=2)] | None = None
    seed: int = 42
    file: str | None = None

    @model_validator(mode="after")
    def _one(self) -> "FoldsRecipe":
        if (self.k is None) == (self.file is None):
            raise ValueError("folds are `topics`, `{k: 5, seed: 42}` or `{file: PATH}`")
        if self.file is not None and "seed" in self.model_fields_set:
            raise ValueError("`seed` has no effect beside `file`")
        return self


class TuneRecipe(Recipe):
    """What is tuned, over which values, by which folds and measure."""

    grid: dict[str, float | tuple[float, ...] | Range]
    folds: Literal["topics"] | FoldsRecipe
    objective: str = DEFAULT_OBJECTIVE

    @field_validator("grid")
    @classmethod
    def _exact(cls, grid: dict[str, float | tuple[float, ...] | Range]) -> object:
        errors = []
        for name, given in grid.items():
            try:
                from_recipe(given)
            except UsageError as error:
                errors.append(((name,), error.paragraph()))
        if errors:
            raise errors_at(*errors)
        return grid

    @property
    def values(self) -> dict[str, list[Decimal]]:
        """The values by parameter."""
        return {name: from_recipe(given) for name, given in self.grid.items()}

    def errors(
        self, hyperparameters: Mapping[str, Hyperparameter]
    ) -> Iterator[tuple[KeyPath, str]]:
        """What is wrong with the grid of a system that has these parameters, with its place."""
        if not self.grid:
            yield ("grid",), "there is nothing to tune"
        for name, values in self.values.items():
            try:
                Grid.of({name: values}, hyperparameters)
            except UsageError as error:
                yield ("grid", name), error.paragraph()

    def make_folds(self, pool: Pool, path_of: Callable[[str], str | Path]) -> Folds:
        """The folds of the topics; ``path_of`` says where a file that the recipe names is."""
        if isinstance(self.folds, str):
            return by_topic_set(pool)
        if self.folds.file is not None:
            return from_file(pool, path_of(self.folds.file))
        return k_fold(pool, self.folds.k or 0, self.folds.seed)


def mean(values: Floats) -> float:
    """The mean with an exact sum, so that it does not depend on the order of the topics."""
    return round(fsum(values.tolist()) / len(values), DECIMALS) if len(values) else 0.0


@dataclass(frozen=True, eq=False)
class Tuning:
    """The outcome of a grid search with F folds, S settings and T topics."""

    pool: Pool
    grid: Grid
    folds: Folds
    objective: Measure
    negative: NegativeGrades
    values: Floats  # (S, T) the objective of every setting and topic
    chosen: tuple[int, ...]  # (F,) the setting that was chosen for each fold
    run: Run  # of every topic by the setting chosen for its fold, over the pool's ids
    system: dict[str, Any]
    seconds: float

    @cached_property
    def training(self) -> Floats:
        """(F, S) means over the topics of all other folds: what choices are made by."""
        return self._means([self.folds.train(fold) for fold in range(len(self.folds))])

    @cached_property
    def test(self) -> Floats:
        """(F, S) means over each fold's own topics: to look at, not to choose by."""
        return self._means([self.folds.test(fold) for fold in range(len(self.folds))])

    def _means(self, folds: Sequence[Integers]) -> Floats:
        return np.array([[mean(values[rows]) for values in self.values] for rows in folds])

    def setting(self, fold: int) -> Setting:
        """The setting chosen for a fold."""
        return self.grid.setting(self.chosen[fold])

    @cached_property
    def held_out(self) -> Floats:
        """(T,) each topic's objective under the setting chosen without it."""
        settings = np.array(self.chosen)[self.folds.of]
        return np.asarray(self.values[settings, np.arange(len(self.pool))])

    @property
    def result(self) -> float:
        """The mean over all topics of :attr:`held_out`: the one figure to report."""
        return mean(self.held_out)

    def best(self, fold: int) -> Integers:
        """The settings that have a fold's best training mean, the chosen one first."""
        means = self.training[fold]
        return np.flatnonzero(means == means[self.chosen[fold]])

    @property
    def edges(self) -> dict[tuple[str, Number, str], int]:
        """How many folds chose the smallest or largest value tried, by parameter, value and which.

        Where a better one may lie beyond, whichever of tied settings is taken.
        """
        found: Counter[tuple[str, Number, str]] = Counter()
        for place, parameter in enumerate(self.grid.parameters):
            for fold in range(len(self.folds)):
                tied = {self.grid.places(number)[place] for number in self.best(fold).tolist()}
                value = parameter.values[min(tied)]
                if len(tied) == 1 and parameter.is_edge(value):
                    end = "smallest" if value == parameter.values[0] else "largest"
                    found[parameter.name, value, end] += 1
        return dict(
            sorted(found.items(), key=lambda one: (self.grid.names.index(one[0][0]), one[0][1]))
        )

    def warnings(self) -> list[str]:
        """What a reader of the figures has to know, a sentence each."""
        folds = len(self.folds)
        lines = [
            f"{name} = {plain(value)}, the {end} value tried, was chosen in {count} of {folds} "
            "folds: a better one may lie beyond"
            for (name, value, end), count in self.edges.items()
        ]
        for fold, name in enumerate(self.folds.names):
            if (ties := len(self.best(fold))) > 1:
                lines.append(
                    f"fold {name}: {ties} of {len(self.grid)} settings have the best training "
                    "mean; the first of them in the grid was chosen"
                )
        fewest = min(len(self.folds.train(fold)) for fold in range(folds))
        if fewest < FEW_TOPICS:
            lines.append(f"a setting was chosen on {fewest} topics only: little can be concluded")
        for what, names in (
            ("have no judgements and took no part", self.pool.unjudged),
            ("have judgements and no query, and count 0", self.pool.unsearchable),
        ):
            if names:
                lines.append(f"{len(names)} topics {what}: {', '.join(names[:10])}")
        return lines


@dataclass(frozen=True)
class TuningWork:
    """What each setting reaches for each topic, some settings a chunk; builds its own chunks.

    A chunk's file holds (settings, topics) float64. See :mod:`adducir.core.chunks`.
    """

    system: Tunable
    grid: Grid
    pool: Pool
    folds: Folds
    measure: Measure
    negative: NegativeGrades = "zero"
    doing: ClassVar[str] = "tuning"
    unit: ClassVar[str] = "settings"
    device: ClassVar[str] = ANY
    size: ClassVar[int] = SHARD

    @property
    def total(self) -> int:
        return len(self.grid)

    def identity(self) -> Mapping[str, Any]:
        return {
            "system": [self.system.facts, self.system.more],
            "settings": [self.describe(number)[0] for number in range(len(self.grid))],
            "topics": self.pool.queries,
            "qrels": self.pool.qrels.frame.write_csv(),
            "folds": self.folds.members(self.pool.ids),
            "measure": str(self.measure),
            "negative grades": self.negative,
        }

    def check(self) -> None:
        """The system is open."""

    def items(self, *, check: bool) -> Iterator[int]:
        del check
        return iter(range(len(self.grid)))

    def describe(self, item: int) -> tuple[str, bytes]:
        values = [f"{name}={plain(value)}" for name, value in self.grid.setting(item).items()]
        return " ".join(values), json.dumps(values).encode("ascii")

    def builder(self, place: Place) -> "TuningWork":
        del place
        return self

    def make(self, items: Sequence[int], path: Path) -> None:
        values = np.zeros((len(items), len(self.pool)))
        for row, number in enumerate(items):
            for rows, evaluator, run in self.runs(number):
                values[row, rows] = evaluator.score(run).values(self.measure)
        with path.open("wb") as handle:
            np.save(handle, values)

    @cached_property
    def _parts(self) -> list[tuple[Integers, Topics, Evaluator]]:
        """Topics that are evaluated together: all of them, or those of a fold."""
        groups = [np.arange(len(self.pool))]
        if not is_ours(self.measure):
            groups = [self.folds.test(fold) for fold in range(len(self.folds))]
        found = []
        for rows in groups:
            ids = [self.pool.ids[row] for row in rows]
            judged = self.pool.qrels.restricted(ids)
            evaluator = Evaluator(judged, self.measure, negative=self.negative)
            found.append((rows, self.pool.topics(ids), evaluator))
        return found

    def runs(self, number: int) -> Iterator[tuple[Integers, Evaluator, Run]]:
        """What a setting ranks, for all topics that can be searched."""
        for rows, topics, evaluator in self._parts:
            if len(topics):
                yield rows, evaluator, self.system.run(self.grid.setting(number), topics)


def tune(
    system: Tunable,
    grid: Grid,
    pool: Pool,
    folds: Folds,
    objective: str | Measure,
    *,
    negative: NegativeGrades = "zero",
    tag: str = "tuned",
    chunking: Chunking = TEMPORARY,
) -> Tuning:
    """Try all settings, choose one for each fold, and pool what they rank.

    Every setting is searched and evaluated once, whatever the number of folds, and those that are
    chosen once more for what they rank.
    """
    measure = parse_measure(objective)
    for number in range(len(grid)):
        system.check(grid.setting(number))
    started = time.perf_counter()
    work = TuningWork(system, grid, pool, folds, measure, negative)
    with chunking.made(work) as made:
        values = np.concatenate([np.load(path) for path in made.files])
    means = [[mean(one[folds.train(fold)]) for one in values] for fold in range(len(folds))]
    chosen = tuple(each.index(max(each)) for each in means)
    run = _held_out(work, chosen, tag)
    seconds = time.perf_counter() - started
    facts = dict(system.facts)
    return Tuning(pool, grid, folds, measure, negative, values, chosen, run, facts, seconds)


def _held_out(work: TuningWork, chosen: Sequence[int], tag: str) -> Run:
    """What the settings chosen for the folds rank, topics in the order of the pool."""
    ids = {"qid": pl.Series(work.pool.ids, dtype=pl.String), "fold": work.folds.of}
    order = pl.DataFrame(ids).with_row_index("topic")
    rows = []
    for number in dict.fromkeys(chosen):
        own = [fold for fold, one in enumerate(chosen) if one == number]
        for *_, run in work.runs(number):
            joined = run.frame.join(order, on="qid", maintain_order="left")
            rows.append(joined.filter(pl.col("fold").is_in(own)))
    rows = [one for one in rows if one.height]
    if not rows:
        empty = {"qid": pl.String, "docno": pl.String, "score": pl.Float64}
        return Run(pl.DataFrame(schema=empty), tag)
    whole = pl.concat(rows).sort("topic", maintain_order=True)
    return Run(whole.select("qid", "docno", "score"), tag)


def of_topics(run: Run, topics: Topics) -> Run:
    """The part of a run that is of these topics."""
    if set(run.qids) <= set(topics.qids):
        return run
    wanted = pl.Series(topics.qids, dtype=pl.String)
    return Run(run.frame.filter(pl.col("qid").is_in(wanted.implode())), run.tag)


def digest(frame: pl.DataFrame) -> str:
    """The SHA-256 of a frame's values."""
    return hashlib.sha256(frame.write_csv().encode()).hexdigest()
