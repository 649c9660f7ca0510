"""Evaluate runs: from a run and qrels to a value for each topic and measure.

>>> scores = evaluate(read_run("runs/bm25.trec.gz"), load_qrels("qrels.txt"),
...                   "nDCG(judged_only=True)@5 Bpref Judged@5")  # doctest: +SKIP
>>> scores.mean("Bpref")  # doctest: +SKIP

Topics. Every topic of the qrels counts, whatever the run holds: a topic that the run lacks has the
value 0 and is listed as missing; so does a topic with judgements of which none is relevant. This is
trec_eval's ``-c`` and ir_measures' rule. It gives all systems the same topics, without which paired
tests make no sense. (NumRel and NumQ count topics that the run lacks, too, as trec_eval's ``-c``
does; ir_measures has 0 there.)

Order. All measures of a call see one order, the run's own: rows by score, ties already broken when
the run was read or made. No measure breaks ties its own way, as happens in ir_measures (P@1 and
RR@10 of one call can contradict each other there). Files are read in trec_eval's order: scores that
single precision cannot tell apart are ties.

Negative grades. Touché's qrels mark spam -2. trec_eval, and with it ir_measures, takes a negative
grade for "in the pool, but not judged": such a document is dropped from condensed lists and ignored
by Bpref, yet ir_measures' Judged@k counts it as judged. So a system that fills its top ranks with
spam loses nothing by it, and no figure shows it. With ``negative="zero"``, the default, a negative
grade counts as 0 in every measure: judged, and not relevant. ``negative="trec_eval"`` leaves them
as they are, to reproduce figures made with trec_eval, pytrec_eval or ir_measures. Only judged_only
measures and Bpref differ, but they differ enough to turn a comparison around.
"""

from collections.abc import Iterable

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
    """Qrels and measures, checked and prepared for any number of runs.

    A measure that cannot be computed is a UsageError, empty qrels are an InputError.
    """

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
        self._judgements = Judgements.prepare(qrels, negative)

    @property
    def qids(self) -> tuple[str, ...]:
        """All T topics of the qrels, in their order."""
        return self._judgements.qids

    def values(self, run: Run) -> Floats:
        """(T, M) the values of a run; see :meth:`score`."""
        return self._evaluated(run)[0]

    def score(self, run: Run, *, system: str | None = None, topic_set: str = "") -> Scores:
        """Evaluate one run, called ``system``, or by its tag; its order is the ranking.

        An InputError where no topic of the run is judged, or a topic has a document twice.
        """
        values, ranked = self._evaluated(run)
        judgements, name = self._judgements, run.tag if system is None else system
        scores = Scores.of(name, self.qids, self.measures, values, topic_set=topic_set)
        missing = np.flatnonzero(ranked.retrieved == 0)
        evaluation = Evaluation(
            topic_set,
            name,
            missing=tuple(self.qids[number] for number in missing),
            extra=ranked.extra,
            negative=judgements.negative,
            negatives=int((judgements.raw_grade < 0).sum()),
            positives_only=bool(judgements.raw_grade.min() > 0),
            unmatched=not len(ranked.topic),
        )
        return Scores(scores.frame, scores.measures, (evaluation,))

    def _evaluated(self, run: Run) -> tuple[Floats, Lists]:
        """The values of a run, and where its judged documents stand."""
        lists = Lists.find(run, self._judgements)
        kinds = (MEASURES.make(str(one.NAME), one.params) for one in self.measures)
        return np.column_stack([kind.values(lists) for kind in kinds]), lists


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
