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
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import polars as pl

from adducir.core.progress import SILENT, Progress
from adducir.corpora.topics import Topics
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.judgements import Floats, Integers, NegativeGrades
from adducir.evaluation.measures import Measure, parse_measure
from adducir.evaluation.vectorised import is_vectorised
from adducir.experiments.tuning.folds import Folds
from adducir.experiments.tuning.grid import Grid
from adducir.experiments.tuning.pool import Pool
from adducir.experiments.tuning.systems import Tunable
from adducir.experiments.tuning.tuning import Tuning, mean
from adducir.experiments.tuning.values import Number
from adducir.runs.run import Run

MOST_TOPICS = 2_000
"""Topics of one search call: with 1,000 hits each, a few hundred megabytes."""


def tune(
    system: Tunable,
    grid: Mapping[str, Sequence[Number | Decimal]] | Grid,
    pool: Pool,
    folds: Folds,
    objective: str | Measure,
    *,
    negative: NegativeGrades = "zero",
    tag: str = "tuned",
    progress: Progress = SILENT,
) -> Tuning:
    """Try all settings, choose one for each fold, and pool what they rank.

    Every setting is searched and evaluated once, whatever the number of folds. In memory are one
    setting's run, the rows of the best settings so far, and one number a setting and topic.

    Args:
        system: What has the parameters.
        grid: Values by parameter, or a grid.
        pool: The judged topics.
        folds: Their folds.
        objective: The measure; more is better.
        negative: How negative grades are treated, as in an evaluation.
        tag: The tag of the pooled run.
        progress: Notified of each setting.

    Raises:
        UsageError: A parameter, a value or the objective makes no sense.
        MachineError: The objective needs software that is not installed.
    """
    grid = grid if isinstance(grid, Grid) else Grid.of(grid, system.hyperparameters)
    measure = parse_measure(objective)
    for setting in grid.settings():
        system.check(setting)
    started = time.perf_counter()
    parts = list(_parts(pool, folds, measure, negative))
    values = np.zeros((len(grid), len(pool)))
    best = _Best(pool, folds)
    progress.start("tuning", len(grid), "settings")
    for number in system.order(grid):
        runs = []
        for part in parts:
            run = system.run(grid.setting(number), part.topics) if len(part.topics) else None
            if run is not None:
                values[number, part.rows] = part.evaluator.score(run).of(measure)
                runs.append(run)
        best.offer(number, values[number], runs)
        progress.advance(1)
    progress.finish()
    return Tuning(
        pool=pool,
        grid=grid,
        folds=folds,
        objective=measure,
        negative=negative,
        values=values,
        chosen=tuple(best.chosen),
        run=best.run(tag),
        system=system.facts(),
        seconds=time.perf_counter() - started,
    )


@dataclass(frozen=True)
class _Part:
    """Topics that are searched and evaluated together."""

    rows: Integers
    topics: Topics
    evaluator: Evaluator


def _parts(pool: Pool, folds: Folds, measure: Measure, negative: NegativeGrades) -> Iterator[_Part]:
    everything = [np.arange(len(pool))]
    by_fold = (folds.test(fold) for fold in range(len(folds)))
    for group in everything if is_vectorised(measure) else by_fold:
        for start in range(0, len(group), MOST_TOPICS):
            rows = group[start : start + MOST_TOPICS]
            ids = [pool.ids[row] for row in rows]
            evaluator = Evaluator(pool.qrels.restricted(ids), measure, negative=negative)
            yield _Part(rows, pool.topics(ids), evaluator)


class _Best:
    """For each fold, the best setting so far and what it ranks for the fold's topics."""

    def __init__(self, pool: Pool, folds: Folds) -> None:
        self.chosen = [-1] * len(folds)
        self._training = [folds.train(fold) for fold in range(len(folds))]
        self._means = [float("-inf")] * len(folds)
        self._order = pl.DataFrame(
            {"qid": pl.Series(pool.ids, dtype=pl.String), "fold": folds.of}
        ).with_row_index("topic")
        self._rows: list[pl.DataFrame] = []

    def offer(self, number: int, values: Floats, runs: Sequence[Run]) -> None:
        """Take the setting for the folds on whose training topics it is better."""
        better = []
        for fold, rows in enumerate(self._training):
            value = mean(values[rows])
            if (value, -number) > (self._means[fold], -self.chosen[fold]):
                self._means[fold], self.chosen[fold] = value, number
                better.append(fold)
        if better:
            taken = pl.col("fold").is_in(better)
            kept = [rows.filter(~taken) for rows in self._rows]
            new = [
                run.frame.join(self._order, on="qid", maintain_order="left").filter(taken)
                for run in runs
            ]
            self._rows = [rows for rows in (*kept, *new) if rows.height]

    def run(self, tag: str) -> Run:
        """What the chosen settings rank, topics in the order of the pool."""
        empty = pl.DataFrame(schema={"qid": pl.String, "docno": pl.String, "score": pl.Float64})
        if not self._rows:
            return Run(empty, tag)
        rows = pl.concat(self._rows).sort("topic", maintain_order=True)
        return Run(rows.select("qid", "docno", "score"), tag)
