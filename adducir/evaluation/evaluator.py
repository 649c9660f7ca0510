"""Evaluate runs: from a run and qrels to a value for each topic and measure.

>>> scores = evaluate(read_run("runs/bm25.trec.gz"), load_qrels("qrels.txt"),
...                   "nDCG(judged_only=True)@5 Bpref Judged@5")  # doctest: +SKIP
>>> scores.mean("Bpref")  # doctest: +SKIP

Topics. Every topic of the qrels counts, whatever the run holds: a topic that
the run lacks has the value 0 and is listed in ``Scores.missing``; so does a
topic with judgements of which none is relevant. This is trec_eval's ``-c`` and
ir_measures' rule. It gives all systems the same topics, without which paired
tests make no sense. Whoever wants other topics gives other qrels. (NumRel and
NumQ count topics that the run lacks, too, as trec_eval's ``-c`` does;
ir_measures has 0 there.)

Order. All measures of a call see one order, the run's own: rows by score, ties
already broken when the run was read or made. No measure breaks ties its own
way, as happens in ir_measures (P@1 and RR@10 of one call can contradict each
other there). Files are
read in trec_eval's order: scores that single precision cannot tell apart are ties.

Negative grades. Touché's qrels mark spam -2. trec_eval, and with it
ir_measures, takes a negative grade for "in the pool, but not judged": such a
document is dropped from condensed lists and ignored by Bpref, yet
ir_measures' Judged@k counts it as judged. So a system that fills its top ranks
with spam loses nothing by it, and Judged@5 does not show what the condensed
nDCG@5 left out. With ``negative="zero"``, the default, a negative grade counts
as 0 in every measure: judged, and not relevant. What Judged@5 counts is then
what the condensed nDCG@5 ranks, and where all of the top 5 are judged, the
condensed nDCG@5 is nDCG@5. ``negative="trec_eval"`` leaves negative grades as
they are, to reproduce figures made with trec_eval, pytrec_eval or ir_measures.
Only judged_only measures and Bpref differ, but they differ enough to turn a
comparison around: of two runs of Touché 2021 with nDCG@5 .6745 and .6742 and
Judged@5 .996 each, the condensed nDCG@5 is .6745 and .6742 with "zero", .6783
and .7327 with "trec_eval", for the second run has more spam. A table must say
which was used. (infAP always gets the grades as they are: its own definition
uses -1 for "pooled, but not judged".)

Judged@k divides by k, or by the number retrieved where that is less, as
ir_measures does; it is 0 for a topic without results.
"""

from collections.abc import Iterable

import numpy as np

from adducir.core.errors import UsageError
from adducir.corpora.qrels import Qrels
from adducir.evaluation import providers, vectorised
from adducir.evaluation.judgements import Judgements, NegativeGrades
from adducir.evaluation.lists import Lists
from adducir.evaluation.measures import Measure, parse_measures
from adducir.evaluation.ranked_topics import RankedJudgements, RankedTopics
from adducir.evaluation.scores import Scores
from adducir.runs.run import Run


class Evaluator:
    """Qrels and measures, checked and prepared for any number of runs.

    Args:
        negative: ``"zero"`` or ``"trec_eval"``: see the module's text.

    Raises:
        UsageError: A measure is unknown or cannot be computed.
        MachineError: A measure needs software that is not installed.
        InputError: The qrels are empty.
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
        self.measures = tuple(parse_measures(measures))
        self._others = [m for m in self.measures if not vectorised.is_vectorised(m)]
        for measure in self._others:
            providers.provider_of(measure)  # says now what would fail later
        self._judgements = Judgements.prepare(qrels, negative)

    def score(self, run: Run, *, system: str | None = None) -> Scores:
        """Evaluate one run.

        Args:
            run: The run; its order is the ranking.
            system: Name of the system, the run's tag by default.

        Raises:
            InputError: No topic of the run is judged, or the run holds a
                document twice for a topic.
        """
        judgements = self._judgements
        ranked = RankedTopics.of(run, judgements)
        judged = RankedJudgements.find(run, ranked, judgements)
        lists = Lists(judged)
        others = providers.compute(self._others, run, ranked, judgements)
        columns = [
            others[measure] if measure in others else vectorised.compute(lists, measure)
            for measure in self.measures
        ]
        values = np.column_stack(columns)
        values.setflags(write=False)
        missing = np.flatnonzero(ranked.retrieved == 0)
        return Scores(
            system=run.tag if system is None else system,
            qids=judgements.qids,
            measures=self.measures,
            values=values,
            missing=tuple(judgements.qids[number] for number in missing),
            extra=ranked.extra,
            negative=judgements.negative,
            negatives=int((judgements.raw_grade < 0).sum()),
            positives_only=bool(judgements.raw_grade.min() > 0),
            unmatched=not len(judged.topic),
        )


def evaluate(
    run: Run,
    qrels: Qrels,
    measures: str | Measure | Iterable[str | Measure],
    *,
    negative: NegativeGrades = "zero",
    system: str | None = None,
) -> Scores:
    """Evaluate one run (for several over the same qrels, keep an :class:`Evaluator`).

    Args:
        run: The run; its order is the ranking.
        negative: ``"zero"`` counts negative grades as judged and not relevant,
            ``"trec_eval"`` leaves them as trec_eval takes them.
        system: Name of the system, the run's tag by default.

    Returns:
        The values of every topic of the qrels.

    Raises:
        UsageError: A measure is unknown or cannot be computed.
        MachineError: A measure needs software that is not installed.
        InputError: The qrels are empty, no topic of the run is judged, or a
            document is held twice for a topic.
    """
    return Evaluator(qrels, measures, negative=negative).score(run, system=system)
