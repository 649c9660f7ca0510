"""Sentences for a table's footer that need more than the scores: runs, or other judgements."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from adducir.corpora.qrels import Qrels
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.measures import Measure
from adducir.evaluation.scores import Scores
from adducir.evaluation.unjudged import Bounds, bound_statements, bounds_of
from adducir.statistics.comparison.notes import powered_notes

if TYPE_CHECKING:
    from adducir.runs.run import Run
    from adducir.statistics.comparison.results import Comparison


class RunNotes:
    """What the footer says on request of unjudged documents, and of judgements by a model.

    Args:
        qrels: The judgements.
        measures: What is measured.
        unjudged: Whether bounds over unjudged documents are wanted.
        model: What evaluates by a model's judgements; None for none.
        judge: Name and version of the model.
    """

    def __init__(
        self,
        qrels: Qrels,
        measures: Sequence[Measure],
        *,
        unjudged: bool = False,
        model: Evaluator | None = None,
        judge: str = "",
    ) -> None:
        self.qrels, self.measures, self.model, self.judge = qrels, measures, model, judge
        self._unjudged = unjudged
        self._bounds: dict[str, dict[str, Bounds]] = {}
        self._guessed: list[Scores] = []

    def add(self, run: "Run", system: str) -> Mapping[str, Bounds]:
        """Take a run.

        Returns:
            Its bounds by measure, if they are wanted.

        Raises:
            UsageError: As :func:`.bounds`.
        """
        if self.model is not None:
            self._guessed.append(self.model.score(run, system=system))
        if self._unjudged:
            self._bounds[system] = bounds_of(run, self.qrels, self.measures)
        return self._bounds.get(system, {})

    def notes(
        self,
        comparison: "Comparison",
        scores: Sequence[Scores],
        names: Mapping[str, str] | None = None,
    ) -> list[str]:
        """The sentences.

        Args:
            comparison: Of the scores.
            scores: By the judgements, of the systems whose runs were added.
            names: Printed names of systems.

        Raises:
            UsageError: See :func:`.bound_statements` and :func:`.powered_notes`.
        """
        names = names or {}
        found = []
        if self._unjudged:
            bounds = {names.get(name, name): one for name, one in self._bounds.items()}
            found += bound_statements(self.measures, bounds)
        if self.model is not None:
            found += powered_notes(comparison, scores, self._guessed, self.judge, names)
        return found
