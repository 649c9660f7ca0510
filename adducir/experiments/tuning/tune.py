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
from collections.abc import Mapping, Sequence
from decimal import Decimal

import polars as pl

from adducir.core.chunks import TEMPORARY, Chunking
from adducir.evaluation.judgements import Floats, Integers, NegativeGrades
from adducir.evaluation.measures import Measure, parse_measure
from adducir.experiments.tuning.folds import Folds, Pool
from adducir.experiments.tuning.grid import Grid, Number
from adducir.experiments.tuning.systems import Tunable
from adducir.experiments.tuning.tuning import Tuning, mean
from adducir.experiments.tuning.work import TuningWork, values_by_shards
from adducir.runs.run import Run


def tune(
    system: Tunable,
    grid: Mapping[str, Sequence[Number | Decimal]] | Grid,
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
    chosen once more for what they rank. In memory are one setting's run, the rows of the chosen
    settings, and one number a setting and topic.

    Args:
        system: What has the parameters.
        grid: Values by parameter, or a grid.
        pool: The judged topics.
        folds: Their folds.
        objective: The measure; more is better.
        negative: How negative grades are treated, as in an evaluation.
        tag: The tag of the pooled run.
        chunking: Who searches, and beside which output chunks are kept.

    Raises:
        UsageError: A parameter, a value or the objective makes no sense.
        IncompleteError: A setting's search fails.
        MachineError: The objective needs software that is not installed.
    """
    grid = grid if isinstance(grid, Grid) else Grid.of(grid, system.hyperparameters)
    measure = parse_measure(objective)
    for setting in grid.settings():
        system.check(setting)
    started = time.perf_counter()
    work = TuningWork(system, grid, pool, folds, measure, negative)
    values = values_by_shards(work, chunking)
    chosen = [_best(values, folds.train(fold)) for fold in range(len(folds))]
    return Tuning(
        pool=pool,
        grid=grid,
        folds=folds,
        objective=measure,
        negative=negative,
        values=values,
        chosen=tuple(chosen),
        run=_held_out(work, chosen, tag),
        system=system.facts(),
        seconds=time.perf_counter() - started,
    )


def _best(values: Floats, rows: Integers) -> int:
    """The setting with the best mean over some topics; of equal ones the first."""
    return max(range(len(values)), key=lambda number: (mean(values[number, rows]), -number))


def _held_out(work: TuningWork, chosen: Sequence[int], tag: str) -> Run:
    """What the settings chosen for the folds rank, topics in the order of the pool."""
    pool = work.pool
    ids = {"qid": pl.Series(pool.ids, dtype=pl.String), "fold": work.folds.of}
    order = pl.DataFrame(ids).with_row_index("topic")
    rows = []
    for number in dict.fromkeys(chosen):
        own = [fold for fold, one in enumerate(chosen) if one == number]
        taken = pl.col("fold").is_in(own)
        for _, run in work.runs(number):
            rows.append(run.frame.join(order, on="qid", maintain_order="left").filter(taken))
    rows = [one for one in rows if one.height]
    if not rows:
        empty = {"qid": pl.String, "docno": pl.String, "score": pl.Float64}
        return Run(pl.DataFrame(schema=empty), tag)
    whole = pl.concat(rows).sort("topic", maintain_order=True)
    return Run(whole.select("qid", "docno", "score"), tag)
