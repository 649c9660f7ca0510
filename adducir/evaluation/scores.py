"""What an evaluation gives: a value for each topic and measure, of one system."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from ir_measures import Measure

from adducir.core.errors import UsageError
from adducir.core.texts import html_table
from adducir.evaluation.judgements import Floats, NegativeGrades
from adducir.evaluation.measures import parse_measure

if TYPE_CHECKING:
    import pandas as pd

SUMMED = frozenset({"NumQ", "NumRel", "NumRet"})
"""Measures that trec_eval and ir_measures report as a sum over topics."""


@dataclass(frozen=True, eq=False)
class Scores:
    """The values of one system.

    Attributes:
        system: Its name.
        qids: All T topics of the qrels, in their order.
        measures: The M measures.
        values: (T, M) values, not to be written to.
        missing: Topics of the qrels that the run lacks; their values are 0.
        extra: Topics of the run that the qrels lack; they are ignored.
        negative: How negative grades were treated (see
            :func:`adducir.evaluation.evaluator.evaluate`).
        negatives: How many judgements are negative.
        positives_only: Whether all judgements are of relevant documents.
        unmatched: Whether none of the run's documents is judged for its topic.
        runs: (R, T, M) values of the R runs of a trained system, whose means ``values`` are; None
            for a system of one run.
        run_names: Their names.
    """

    system: str
    qids: tuple[str, ...]
    measures: tuple[Measure, ...]
    values: Floats
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    negative: NegativeGrades = "zero"
    negatives: int = 0
    positives_only: bool = False
    unmatched: bool = False
    runs: Floats | None = None
    run_names: tuple[str, ...] = ()

    def of(self, measure: Measure | str) -> Floats:
        """(T,) values of one measure.

        Raises:
            UsageError: The measure was not computed.
        """
        measure = parse_measure(measure)
        if measure not in self.measures:
            raise UsageError(
                f"{measure} was not computed for {self.system}.",
                hint=f"Computed are {', '.join(map(str, self.measures))}.",
            )
        return np.asarray(self.values[:, self.measures.index(measure)])

    def mean(self, measure: Measure | str) -> float:
        """Mean over all topics of the qrels (trec_eval's ``-c``).

        Raises:
            UsageError: The measure was not computed.
        """
        return float(self.of(measure).mean())

    def summary(self, measure: Measure | str) -> float:
        """The one figure to report: the mean, or the sum for counts.

        Counts are NumRet, NumRelRet, NumRel and NumQ; trec_eval and
        ir_measures sum them, too.

        Raises:
            UsageError: The measure was not computed.
        """
        measure = parse_measure(measure)
        values = self.of(measure)
        return float(values.sum() if measure.NAME in SUMMED else values.mean())

    def to_polars(self) -> pl.DataFrame:
        """Long frame (system, qid, measure, value), topic by topic, T x M rows."""
        topics, measures = self.values.shape
        names = [str(measure) for measure in self.measures]
        return pl.DataFrame(
            {
                "system": [self.system] * (topics * measures),
                "qid": [qid for qid in self.qids for _ in names],
                "measure": names * topics,
                "value": self.values.ravel(),
            },
            schema={
                "system": pl.String,
                "qid": pl.String,
                "measure": pl.String,
                "value": pl.Float64,
            },
        )

    def to_pandas(self) -> "pd.DataFrame":
        """The frame of :meth:`to_polars` in pandas."""
        import pandas as pd

        return pd.DataFrame(self.to_polars().to_dict(as_series=False))

    def _repr_html_(self) -> str:
        """The figure of each measure, for a notebook."""
        caption = f"{self.system}: {len(self.qids):,} topics"
        rows = ((str(measure), self.summary(measure)) for measure in self.measures)
        return html_table(caption, ("measure", "value"), rows)
