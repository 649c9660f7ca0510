"""Evaluate runs: from a run and qrels to a value for each topic and measure.

Every topic of the qrels counts: one that the run lacks, or that has no relevant document, has 0
(trec_eval's ``-c``), for paired tests need the same topics. All measures see one order, the run's
own; in ir_measures, P@1 and RR@10 of one call can break ties differently.

Touché's qrels mark spam -2. trec_eval and ir_measures take a negative grade for unjudged, so that
spam in the top ranks costs nothing in condensed lists and Bpref. With ``negative="zero"``, the
default, it is judged and not relevant; ``negative="trec_eval"`` reproduces their figures.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import compress

import numpy as np
from ir_measures import Measure

from adducir.core.errors import UsageError
from adducir.corpora.qrels import Qrels
from adducir.evaluation.formulas import MEASURES
from adducir.evaluation.lists import Floats, Judgements, Lists, NegativeGrades
from adducir.evaluation.measures import computable, parse_measures
from adducir.evaluation.scores import Evaluation, Scores
from adducir.runs.run import Run


class Evaluator:
    """Qrels and measures, checked and prepared for any number of runs."""

    def __init__(
        self,
        qrels: Qrels,
        measures: str | Measure | Iterable[str | Measure],
        *,
        negative: NegativeGrades = "zero",
    ) -> None:
        if negative not in ("zero", "trec_eval"):
            raise UsageError(
                f"Negative grades can be treated as 'zero' or 'trec_eval', not as {negative!r}."
            )
        self.measures = tuple(map(computable, parse_measures(measures)))
        self._kinds = [MEASURES.make(str(one.NAME), one.params) for one in self.measures]
        self._judgements = Judgements.prepare(qrels, negative)

    @property
    def qids(self) -> tuple[str, ...]:
        return self._judgements.qids

    def values(self, run: Run) -> Floats:
        """(T, M) the values of a run; see :meth:`score`."""
        return self._values(Lists.find(run, self._judgements))

    def score(self, run: Run, *, system: str | None = None, topic_set: str = "") -> Scores:
        """Evaluate one run, called ``system``, or by its tag; its order is the ranking."""
        ranked = Lists.find(run, self._judgements)
        judgements, name = self._judgements, run.tag if system is None else system
        values = self._values(ranked)
        scores = Scores.of(name, self.qids, self.measures, values, topic_set=topic_set)
        evaluation = Evaluation(
            topic_set,
            name,
            missing=tuple(compress(self.qids, ranked.retrieved == 0)),
            extra=ranked.extra,
            negative=judgements.negative,
            negatives=int((judgements.raw_grade < 0).sum()),
            positives_only=bool(judgements.raw_grade.min() > 0),
            unmatched=not len(ranked.topic),
        )
        return replace(scores, evaluations=(evaluation,))

    def _values(self, lists: Lists) -> Floats:
        return np.column_stack([kind.values(lists) for kind in self._kinds])


def evaluate(
    run: Run,
    qrels: Qrels,
    measures: str | Measure | Iterable[str | Measure],
    *,
    negative: NegativeGrades = "zero",
    system: str | None = None,
) -> Scores:
    """Evaluate one run (for several over the same qrels, keep an :class:`Evaluator`).

    Measures go by the names of ir_measures or trec_eval. ``negative="zero"`` counts negative grades
    as judged and not relevant, ``"trec_eval"`` leaves them as trec_eval takes them. ``system`` is
    the name of the system, by default the run's tag.
    """
    return Evaluator(qrels, measures, negative=negative).score(run, system=system)
