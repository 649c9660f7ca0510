"""How well weights recover a passage's reference terms: average precision, passage by passage.

The words of a passage are ranked by weight, stop words left out; those with a positive target are
relevant. Where weights tie, average precision is its exact mean over all orders of the tied words,
so that constant weights get what chance gets.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adducir.deepct.model import Encoded, TermWeighter
from adducir.models.machine import seed_of
from adducir.models.work import PLAIN, Running

Row = Mapping[str, Any]
"""A passage: docno, and of its words keys, firsts, targets, is_stop; its ids."""
Weigh = Callable[[Sequence[Row]], Sequence[NDArray[np.floating[Any]]]]

RESAMPLES = 10_000


@dataclass(frozen=True)
class Recovery:
    """Mean average precision with its 95% bootstrap interval; whole documents are drawn."""

    name: str
    mean: float
    low: float
    high: float
    passages: int
    documents: int


def expected_average_precision(weights: NDArray[Any], relevant: NDArray[np.bool_]) -> float:
    """Average precision, in the mean over the orders of tied words; one at least must be relevant.

    A group of g tied words behind m others, r of it relevant, with R relevant before it, adds for
    its i-th place (r / g) * (R + 1 + (i - 1) * (r - 1) / (g - 1)) / (m + i).
    """
    order = np.argsort(-weights, kind="stable")
    values, hits = weights[order], relevant[order]
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    sizes = np.diff(np.r_[starts, len(values)])
    inside = np.add.reduceat(hits.astype(np.int64), starts)
    before = np.cumsum(inside) - inside
    total = 0.0
    for m, g, r, found in zip(starts, sizes, inside, before, strict=True):
        if r:
            i = np.arange(1, g + 1)
            rest = (i - 1) * (r - 1) / max(g - 1, 1)
            total += float((r / g * (found + 1 + rest) / (m + i)).sum())
    return total / int(hits.sum())


def recoveries(ways: Mapping[str, Weigh], rows: Sequence[Row]) -> list[Recovery]:
    counted = [row for row in rows if (row["targets"][~row["is_stop"]] > 0).any()]
    _, codes = np.unique([str(row["docno"]) for row in counted], return_inverse=True)
    counts, found = np.bincount(codes), []
    draw = np.random.default_rng(seed_of(0, "bootstrap"))
    drawn = draw.integers(0, len(counts), size=(RESAMPLES, len(counts)))
    for name, weigh in ways.items():
        values = []
        for row, weights in zip(rows, weigh(rows), strict=True):
            relevant = row["targets"][~row["is_stop"]] > 0
            if relevant.any():
                own = weights[~row["is_stop"]].astype(np.float64)
                values.append(expected_average_precision(own, relevant))
        sums = np.bincount(codes, weights=values)
        means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
        low, high = np.quantile(means, [0.025, 0.975]).tolist()
        mean = float(np.mean(values))
        found.append(Recovery(name, mean, low, high, len(values), len(counts)))
    return found


def by_model(weighter: TermWeighter, running: Running = PLAIN) -> Weigh:
    def weigh(rows: Sequence[Row]) -> Sequence[NDArray[Any]]:
        encoded = [Encoded(row["ids"].astype(np.int64), row["firsts"]) for row in rows]
        return weighter.weights(encoded, running)

    return weigh


def constant(rows: Sequence[Row]) -> list[NDArray[np.float64]]:
    """The same weight for every word: chance."""
    return [np.ones(len(row["targets"])) for row in rows]


def by_tf_idf(known: Iterable[Sequence[str]]) -> Weigh:
    """Term frequency in the passage times inverse document frequency in other passages."""
    seen: Counter[str] = Counter()
    count = 0
    for keys in known:
        seen.update(set(keys))
        count += 1

    def weigh(rows: Sequence[Row]) -> list[NDArray[np.float64]]:
        found = []
        for keys in (row["keys"] for row in rows):
            frequencies = Counter(keys)
            idf = [frequencies[k] * math.log((count + 1) / (seen[k] + 0.5)) for k in keys]
            found.append(np.array(idf, dtype=np.float64))
        return found

    return weigh
