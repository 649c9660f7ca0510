"""Collects what a report shows of runs, which are in memory one at a time."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from adducir.corpora.qrels import Qrels
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.unjudged import Bounds
from adducir.runs.run import Run
from adducir.tables.material import TopicHits, hits_held

if TYPE_CHECKING:
    import polars as pl


class HitCollector:
    """The runs of one topic set: so many systems, and the text of each topic by its qid."""

    def __init__(self, qrels: Qrels, systems: int, queries: Mapping[str, str]) -> None:
        self._qrels, self._queries = qrels, queries
        self._recall = Evaluator(qrels, [f"IPrec@{level / 10}" for level in range(11)])
        self._held = hits_held(len(qrels.qids), systems)
        self._runs: dict[str, pl.DataFrame] = {}
        self._precision: dict[str, tuple[float, ...]] = {}
        self._bounds: dict[str, dict[str, tuple[float, float, float]]] = {}

    def add(self, system: str, run: Run, bounds: Mapping[str, Bounds] | None = None) -> None:
        """Put a run's part aside; of several runs of a system, the first one's."""
        if system not in self._runs:
            self._runs[system] = run.top(self._held).frame
            self._precision[system] = tuple(self._recall.values(run).mean(axis=0).tolist())
            for measure, found in (bounds or {}).items():
                self._bounds.setdefault(measure, {})[system] = found.means

    def found(self) -> TopicHits:
        """What was collected."""
        return TopicHits(
            self._queries, self._runs, self._qrels.frame, self._precision, self._bounds
        )
