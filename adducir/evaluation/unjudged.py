"""How much of a score depends on what nobody judged.

A *completion* gives every unjudged document among the first k of a ranking a grade from 0 to the
highest of the qrels, which are enlarged by it. The least and the greatest value over all
completions bound the score:

* nDCG and AP are greatest where higher grades stand higher and least where they stand lower
  (exchanging two grades leaves the ideal as it is), so that only completions whose grades fall, or
  rise, with the rank are tried, and none is missed.
* RBP's least value and its residual: what unjudged documents, and those beyond the ranking, could
  add (Moffat and Zobel 2008).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np
import polars as pl
from ir_measures import Measure

from adducir.core.errors import UsageError
from adducir.corpora.qrels import Qrels
from adducir.evaluation.lists import Floats, Integers
from adducir.runs.run import Run

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
        """Whether this mean is surely the greater one; where not, nothing is sure."""
        return bool(self.low.mean() > other.high.mean())


def depth_of(measure: Measure) -> int:
    """How far down a ranking the bounds of a measure look; 0 for one that has none."""
    options, name = dict(measure.params), measure.NAME
    if name == "RBP" and options.get("rel") == 1 and 0 < options.get("p", 0.8) < 1:
        return int(options.get("cutoff", 1000))
    return int(options["cutoff"]) if name in ("nDCG", "AP") and set(options) == {"cutoff"} else 0


def bounds_of(run: Run, qrels: Qrels, measures: Iterable[Measure]) -> dict[str, Bounds]:
    """Bounds over all completions of a run, of each measure that has them, by its name.

    nDCG has trec_eval's linear gain; for AP and RBP grades from 1 are relevant. Negative grades
    count as 0, and so does a topic that the run lacks.
    """
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
                    rows.append(_rbp(own, measure.params.get("p", 0.8)))
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
    """Least value, value as it stands, greatest value, number of unjudged documents."""
    holes = np.flatnonzero(seen == UNJUDGED)
    if comb(holes.size + levels, levels) > _MOST:
        raise UsageError(
            f"{holes.size} unjudged documents have too many completions with {levels + 1} grades.",
            hint="Use a smaller k.",
        )
    known = -np.sort(-judged[judged > 0])  # no other counts
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


def _rbp(seen: Integers, p: float) -> tuple[float, float, float, int]:
    """RBP, twice, RBP with its residual, and the number of unjudged documents."""
    weights = (1 - p) * p ** np.arange(seen.size)
    base = float(weights[seen > 0].sum())
    residual = float(weights[seen == UNJUDGED].sum() + p**seen.size)
    return base, base, base + residual, int((seen == UNJUDGED).sum())
