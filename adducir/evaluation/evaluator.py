"""Evaluate runs: from a run and qrels to a value per topic and measure, and its bounds.

Every topic of the qrels counts: one that is missing from the run, or without relevant documents,
scores 0 (trec_eval's ``-c``), because paired tests need the same topics. All measures use the run's
order. Touché's qrels mark spam -2; trec_eval and ir_measures treat negative grades as unjudged, so
spam in the top ranks costs nothing in condensed lists and Bpref. With ``negative_grades="zero"``,
the default, it is judged and not relevant; ``"trec_eval"`` reproduces their figures.

**Bounds**: a *completion* adds to the qrels a grade, from 0 to their highest, for every unjudged
document in a ranking's top k. The lowest and highest values over all completions bound the score.
nDCG and AP are highest when higher grades rank higher, and lowest when they rank lower (swapping
two grades does not change the ideal), so only completions whose grades fall or rise with the rank
are tried. RBP has its residual (Moffat and Zobel 2008).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, compress
from math import comb

import numpy as np
import polars as pl
from ir_measures import Measure

from adducir.core.errors import UsageError
from adducir.core.registry import numbers
from adducir.core.texts import typed
from adducir.corpora.qrels import Qrels
from adducir.evaluation.formulas import MEASURES
from adducir.evaluation.lists import Floats, Integers, Judgements, Lists, NegativeGrades
from adducir.evaluation.measures import computable, parse_measures
from adducir.evaluation.scores import Evaluation, Scores
from adducir.runs.docnos import of_passages
from adducir.runs.run import Run


class Evaluator:
    """Qrels and measures, checked and prepared for any number of runs."""

    @typed
    def __init__(
        self,
        qrels: Qrels,
        measures: str | Measure | Iterable[str | Measure],
        *,
        negative_grades: NegativeGrades = "zero",
    ) -> None:
        self.measures = tuple(map(computable, parse_measures(measures)))
        self._kinds = [MEASURES.make(str(one.NAME), one.params) for one in self.measures]
        self._judgements = Judgements.prepare(qrels, negative_grades)

    @property
    def qids(self) -> tuple[str, ...]:
        return self._judgements.qids

    def values(self, run: Run) -> Floats:
        """(T, M) the values of a run; see :meth:`score`."""
        return self._values(Lists.find(run, self._judgements))

    def score(self, run: Run, *, system: str | None = None, topic_set: str = "") -> Scores:
        """Evaluate one run, named ``system`` or by its tag; its order is the ranking."""
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
            passage="" if len(ranked.topic) else of_passages(run.frame["docno"], judgements.docno),
        )
        return replace(scores, evaluations=(evaluation,))

    def _values(self, lists: Lists) -> Floats:
        meaning = "a number per topic of the qrels"
        columns = [
            numbers(kind, "values", kind.values(lists), lists.topics, meaning=meaning)
            for kind in self._kinds
        ]
        return np.column_stack(columns)


Scorer = Callable[[Integers, Integers, int], Floats]
UNJUDGED = -1
_MOST = 200_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """(T,) scores with unjudged documents as not relevant, their bounds, and how many these are."""

    low: Floats
    value: Floats
    high: Floats
    unjudged: Integers

    @property
    def means(self) -> tuple[float, float, float]:
        return float(self.low.mean()), float(self.value.mean()), float(self.high.mean())

    def surely_better(self, other: "Bounds") -> bool:
        """Whether this mean of RBP is certainly greater; False leaves it open."""
        return bool(self.low.mean() > other.high.mean())


def depth_of(measure: Measure) -> int:
    """How deep a measure's bounds look into a ranking; 0 if it does not have bounds."""
    options, name = dict(measure.params), measure.NAME
    if name == "RBP" and options.get("rel") == 1 and 0 < options.get("p", 0.8) < 1:
        return int(options.get("cutoff", 1000))
    return int(options["cutoff"]) if name in ("nDCG", "AP") and set(options) == {"cutoff"} else 0


def bounds_of(run: Run, qrels: Qrels, measures: Iterable[Measure]) -> dict[str, Bounds]:
    """Bounds over all completions of a run, by name of each measure that has them."""
    grades = qrels.frame.select("qid", "docno", pl.col("grade").cast(pl.Int64).clip(0))
    judged, nothing, found = _by_topic(grades), np.empty(0, dtype=np.int64), {}
    top = max((int(of_topic.max()) for of_topic in judged.values()), default=0)
    for measure in measures:
        if k := depth_of(measure):
            ranked = run.top(k).frame.select("qid", "docno")
            ranked = ranked.join(grades, on=["qid", "docno"], how="left", maintain_order="left")
            seen = _by_topic(ranked.with_columns(pl.col("grade").fill_null(UNJUDGED)))
            rows = []
            for qid in qrels.qids:
                own, known = seen.get(qid, nothing), judged.get(qid, nothing)
                if measure.NAME == "RBP":
                    cutoff = measure.params.get("cutoff")
                    rows.append(_rbp(own, measure.params.get("p", 0.8), cutoff))
                elif measure.NAME == "nDCG":
                    rows.append(_extremes(own, known, max(1, top), k, _ndcg))
                else:
                    rows.append(_extremes(own, known, 1, k, _ap))
            found[str(measure)] = Bounds(*map(np.array, zip(*rows, strict=True)))
    return found


def _by_topic(frame: pl.DataFrame) -> dict[str, Integers]:
    topics = frame.group_by("qid", maintain_order=True).agg("grade")
    return {qid: np.array(grades, dtype=np.int64) for qid, grades in topics.iter_rows()}


def _extremes(
    seen: Integers, judged: Integers, levels: int, k: int, scorer: Scorer
) -> tuple[float, float, float, int]:
    """Lowest value, actual value, highest value, number of unjudged documents."""
    holes = np.flatnonzero(seen == UNJUDGED)
    if comb(holes.size + levels, levels) > _MOST:
        raise UsageError(
            f"{holes.size} unjudged documents have too many completions with {levels + 1} grades.",
            hint="Use a smaller k.",
        )
    known = -np.sort(-judged[judged > 0])  # the others do not count
    tried = list(combinations_with_replacement(range(levels + 1), holes.size))
    rising = np.array(tried, dtype=np.int64).reshape(len(tried), holes.size)

    def completed(grades: Integers) -> Floats:
        ranked = np.repeat(seen[None, :], len(grades), axis=0)
        ranked[:, holes] = grades
        others = np.repeat(known[None, :], len(grades), axis=0)
        return scorer(ranked, np.concatenate((others, grades), axis=1), k)

    low, high = completed(rising), completed(rising[:, ::-1])
    return float(low.min()), float(low[0]), float(high.max()), int(holes.size)


def _ndcg(ranked: Integers, every: Integers, k: int) -> Floats:
    """(N,) nDCG@k of rankings (N, R) with judgements (N, J)."""
    discounts = 1 / np.log2(np.arange(2, max(ranked.shape[1], min(k, every.shape[1])) + 2))
    gained = ranked @ discounts[: ranked.shape[1]]
    best = -np.sort(-every, axis=1)[:, :k]
    ideal = best @ discounts[: best.shape[1]]
    return np.asarray(np.divide(gained, ideal, out=np.zeros(len(gained)), where=ideal > 0))


def _ap(ranked: Integers, every: Integers, k: int) -> Floats:
    """(N,) AP@k of rankings (N, R <= k) with judgements (N, J)."""
    relevant = ranked > 0
    precision = np.cumsum(relevant, axis=1) / np.arange(1, ranked.shape[1] + 1)
    total = (every > 0).sum(axis=1)
    gained = (precision * relevant).sum(axis=1)
    return np.asarray(np.divide(gained, total, out=np.zeros(len(gained)), where=total > 0))


def _rbp(seen: Integers, p: float, cutoff: int | None) -> tuple[float, float, float, int]:
    """RBP, twice, RBP with its residual, and the number of unjudged documents."""
    weights = (1 - p) * p ** np.arange(seen.size)
    base = float(weights[seen > 0].sum())
    beyond = p**seen.size - (0.0 if cutoff is None else p**cutoff)
    residual = float(weights[seen == UNJUDGED].sum() + beyond)
    return base, base, base + residual, int((seen == UNJUDGED).sum())
