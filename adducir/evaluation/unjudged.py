"""How much of a score hangs on what nobody judged.

A *completion* gives every unjudged document among the first k of a ranking a grade from 0 to the
highest of the qrels; the qrels are enlarged by it, so that the ideal ranking and the number of
relevant documents grow along. The least and the greatest value over all completions bound the
score (:func:`bounds`):

* For a fixed number of documents at each grade, nDCG and AP are greatest where higher grades stand
  higher and least where they stand lower (exchanging two grades leaves the ideal as it is). So only
  completions whose grades fall, or rise, with the rank are tried, and none is missed.
* RBP's least value and its residual: what unjudged documents, and those beyond the ranking, could
  add (Moffat and Zobel 2008).

Documents that a ranking does not hold are not part of a completion: they are the same for all.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations_with_replacement
from math import comb, inf
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.core.errors import UsageError
from adducir.corpora.qrels import Qrels
from adducir.evaluation.judgements import Floats
from adducir.evaluation.measures import Measure
from adducir.runs.run import Run

Bounded = Literal["nDCG", "AP", "RBP"]
Grades = NDArray[np.int64]
UNJUDGED = -1
_MOST = 200_000
_QUICK = 30_000_000
"""Grades that are gone through, and sorted, in about two seconds (65 ns each)."""
_A_TOPIC = 2_000
"""As many take as long as a topic does whatever is in it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The score of each of T topics, and how far completions can move it.

    Attributes:
        system: The run's tag.
        qids: T topics.
        low: (T,) least value.
        value: (T,) with unjudged documents as not relevant.
        high: (T,) greatest value.
        unjudged: (T,) unjudged documents among those that count.
    """

    system: str
    qids: tuple[str, ...]
    low: Floats
    value: Floats
    high: Floats
    unjudged: NDArray[np.int64]

    @property
    def means(self) -> tuple[float, float, float]:
        """The means over topics of the least value, the value and the greatest."""
        return float(self.low.mean()), float(self.value.mean()), float(self.high.mean())

    def surely_better(self, other: "Bounds") -> bool:
        """Whether this mean is the greater one whatever the unjudged documents are.

        Judged by the bounds of each alone, which a document in both rankings cannot reach at once:
        False therefore says that nothing is sure.
        """
        return bool(self.low.mean() > other.high.mean())


def bounds(
    run: Run, qrels: Qrels, measure: Bounded = "nDCG", *, k: int = 10, p: float = 0.8
) -> Bounds:
    """Bounds of a run's scores over all completions of its unjudged documents.

    Negative grades count as 0.

    Args:
        run: The run.
        qrels: The judgements; a topic that the run lacks has the value 0.
        measure: ``nDCG`` (linear gain, as trec_eval's), ``AP`` (grades from 1 are relevant) or
            ``RBP`` (likewise).
        k: Documents of a ranking that count.
        p: RBP's persistence.

    Raises:
        UsageError: A number out of range, or so many completions that they cannot be tried.
    """
    if k < 1 or not 0 < p < 1:
        raise UsageError(f"k ({k}) must be at least 1 and p ({p}) between 0 and 1.")
    scorer = {"nDCG": _ndcg, "AP": _ap}.get(measure)
    found = []
    for seen, judged, top in _topics(run, qrels, k):
        if scorer is None:
            found.append(_rbp(seen, p))
            continue
        levels = max(1, top) if measure == "nDCG" else 1
        found.append(_extremes(seen, judged, levels, k, scorer))
    return _collected(run, qrels, found)


def bounds_of(run: Run, qrels: Qrels, measures: Iterable[Measure]) -> dict[str, Bounds]:
    """The bounds of each measure that has them, by its name.

    Raises:
        UsageError: As :func:`bounds`.
    """
    known = {str(one): found for one in measures if (found := _bounded(one))}
    return {text: bounds(run, qrels, kind, **options) for text, (kind, options) in known.items()}


def quickly_bounded(measures: Iterable[Measure], qrels: Qrels, systems: int) -> list[Measure]:
    """The measures whose bounds for so many systems take about two seconds at most in all.

    The quickest are taken. Reckoned as if no document of a ranking were judged. RBP, which tries no
    completions, is always among them.
    """
    grades, topics = qrels.frame["grade"], max(1, len(qrels.qids))
    known = int((grades > 0).sum()) / topics
    top = max(1, int(grades.max() or 0))  # type: ignore[arg-type]
    work = {one: _work(*found, known, top) for one in measures if (found := _bounded(one))}
    ordered = sorted(work, key=work.__getitem__)
    spent = accumulate(work[one] * topics * systems for one in ordered)
    quick = {one for one, total in zip(ordered, spent, strict=True) if total <= _QUICK}
    return [one for one in work if one in quick]


def _work(kind: Bounded, options: Mapping[str, Any], known: float, top: int) -> float:
    """How many grades are gone through for a topic with so many relevant documents."""
    k, levels = options["k"], top if kind == "nDCG" else 1
    tried = comb(k + levels, levels)
    if kind == "RBP":
        return 0.0
    # nDCG sorts these documents' grades with those of the ranking; AP only counts them.
    beside = min(known, k) if kind == "nDCG" else known / 16
    return _A_TOPIC + tried * (k + beside) if tried <= _MOST else inf


def _collected(run: Run, qrels: Qrels, rows: Sequence[tuple[float, float, float, int]]) -> Bounds:
    """The bounds from each topic's least, own and greatest value and its unjudged documents."""
    low, value, high, unjudged = (np.array(column) for column in zip(*rows, strict=True))
    return Bounds(run.tag, tuple(qrels.qids), low, value, high, unjudged)


def _topics(run: Run, qrels: Qrels, k: int) -> Iterator[tuple[Grades, Grades, int]]:
    """By topic the grades of its first k (-1: unjudged) and all its grades; the highest of all."""
    grades = qrels.frame.select("qid", "docno", pl.col("grade").cast(pl.Int64).clip(0))
    seen = run.top(k).frame.select("qid", "docno")
    seen = seen.join(grades, on=["qid", "docno"], how="left", maintain_order="left")
    ranked = _by_topic(seen.with_columns(pl.col("grade").fill_null(UNJUDGED)))
    judged, nothing = _by_topic(grades), np.empty(0, dtype=np.int64)
    top = max((int(of_topic.max()) for of_topic in judged.values()), default=0)
    for qid in qrels.qids:
        yield ranked.get(qid, nothing), judged.get(qid, nothing), top


def _by_topic(frame: pl.DataFrame) -> dict[str, Grades]:
    """The grades of each topic, in the frame's order."""
    topics = frame.group_by("qid", maintain_order=True).agg("grade")
    return {qid: np.array(grades, dtype=np.int64) for qid, grades in topics.iter_rows()}


Scorer = Callable[[NDArray[np.int64], NDArray[np.int64], int], Floats]


def _extremes(
    seen: Grades, judged: Grades, levels: int, k: int, scorer: Scorer
) -> tuple[float, float, float, int]:
    """Least value, value as it stands, greatest value, number of unjudged documents."""
    holes = np.flatnonzero(seen == UNJUDGED)
    if comb(holes.size + levels, levels) > _MOST:
        raise UsageError(
            f"{holes.size} unjudged documents have too many completions with {levels + 1} grades.",
            hint="Take a smaller k.",
        )
    tried = list(combinations_with_replacement(range(levels + 1), holes.size))
    rising = np.array(tried, dtype=np.int64).reshape(len(tried), holes.size)
    plain = _completed(seen, judged, holes, rising[:1], k, scorer)[0]  # all of them 0
    low = _completed(seen, judged, holes, rising, k, scorer).min()
    high = _completed(seen, judged, holes, rising[:, ::-1], k, scorer).max()
    return float(low), float(plain), float(high), int(holes.size)


def _completed(
    seen: Grades,
    judged: Grades,
    holes: NDArray[np.intp],
    grades: NDArray[np.int64],
    k: int,
    scorer: Scorer,
) -> Floats:
    """(N,) values with the holes of a ranking filled by (N, holes) grades."""
    ranked = np.repeat(seen[None, :], len(grades), axis=0)
    ranked[:, holes] = grades
    found = -np.sort(-judged[judged > 0])  # no other counts, nor in nDCG one below the first k
    known = found[:k] if scorer is _ndcg else found
    every = np.concatenate((np.repeat(known[None, :], len(grades), axis=0), grades), axis=1)
    return scorer(ranked, every, k)


def _ndcg(ranked: NDArray[np.int64], every: NDArray[np.int64], k: int) -> Floats:
    """(N,) nDCG@k of rankings (N, R) with judgements (N, J)."""
    discounts = 1 / np.log2(np.arange(2, max(ranked.shape[1], min(k, every.shape[1])) + 2))
    gained = ranked @ discounts[: ranked.shape[1]]
    best = -np.sort(-every, axis=1)[:, :k]
    ideal = best @ discounts[: best.shape[1]]
    return np.asarray(np.divide(gained, ideal, out=np.zeros(len(gained)), where=ideal > 0))


def _ap(ranked: NDArray[np.int64], every: NDArray[np.int64], k: int) -> Floats:
    """(N,) AP@k of rankings (N, R) with judgements (N, J)."""
    relevant = ranked > 0
    precision = np.cumsum(relevant, axis=1) / np.arange(1, ranked.shape[1] + 1)
    total = (every > 0).sum(axis=1)
    gained = (precision * relevant).sum(axis=1)
    return np.asarray(np.divide(gained, total, out=np.zeros(len(gained)), where=total > 0))


def _rbp(seen: Grades, p: float) -> tuple[float, float, float, int]:
    """RBP, twice, RBP with its residual, and the number of unjudged documents."""
    weights = (1 - p) * p ** np.arange(seen.size)
    base = float(weights[seen > 0].sum())
    residual = float(weights[seen == UNJUDGED].sum() + p**seen.size)
    return base, base, base + residual, int((seen == UNJUDGED).sum())


def bound_statements(
    measures: Sequence[Measure], found: Mapping[str, Mapping[str, Bounds]]
) -> list[str]:
    """For each measure that has bounds, those of every system, and which orders they leave sure.

    Args:
        measures: Those of nDCG@k, AP@k and RBP are taken; others are ignored.
        found: The :func:`bounds_of` each system's run, in the order in which they are listed.

    Raises:
        UsageError: None of them has bounds.
    """
    sentences = []
    for measure in measures:
        if _bounded(measure) is None:
            continue
        own = {system: by_measure[str(measure)] for system, by_measure in found.items()}
        means = ((system, *one.means) for system, one in own.items())
        ranges = "; ".join(f"{system} {low:.3f} to {high:.3f}" for system, low, _, high in means)
        pairs = [(a, b) for a in own for b in own if own[a].surely_better(own[b])]
        sentence = f"Bounds of {measure} over all grades of unjudged documents: {ranges}."
        if len(own) > 1:
            sure = ", ".join(f"{a} above {b}" for a, b in pairs) or "no two systems"
            sentence += f" Ordered whatever these grades are: {sure}."
        sentences.append(sentence)
    if not sentences:
        raise UsageError(
            "none of the measures has bounds from unjudged documents.",
            hint="Take nDCG@10, AP@100 or RBP(p=0.8,rel=1).",
        )
    return sentences


def deepest(measures: Sequence[Measure]) -> int:
    """The most documents of a ranking that bounds of these measures look at; 0: none has bounds."""
    return max((int(found[1]["k"]) for one in measures if (found := _bounded(one))), default=0)


def _bounded(measure: Measure) -> tuple[Bounded, dict[str, Any]] | None:
    """The kind of bounds that a measure has, with its parameters; None without."""
    options = dict(measure.params)
    if measure.NAME == "RBP" and options.get("rel") == 1 and set(options) <= {"p", "rel", "cutoff"}:
        p = options.get("p", 0.8)
        # Where p is 0 or 1 it is no geometric weight.
        return ("RBP", {"p": p, "k": options.get("cutoff", 1000)}) if 0 < p < 1 else None
    if measure.NAME == "nDCG" and set(options) == {"cutoff"}:
        return "nDCG", {"k": options["cutoff"]}
    if measure.NAME == "AP" and set(options) == {"cutoff"}:
        return "AP", {"k": options["cutoff"]}
    return None
