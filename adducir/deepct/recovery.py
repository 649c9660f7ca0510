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

from adducir.deepct.examples import Example
from adducir.deepct.model import TermWeighter
from adducir.deepct.words import match_key, words
from adducir.models.machine import Precision, seed_of

PredictWeights = Callable[[Sequence[Example]], list[NDArray[np.float64]]]
"""Gives each word of each example a weight."""

RESAMPLES = 10_000


@dataclass(frozen=True)
class Recovery:
    """Average precision of one way to weight words.

    Attributes:
        mean: Over the passages that have a relevant word.
        low, high: The 95% percentile bootstrap interval of the mean; whole documents are drawn.
    """

    name: str
    mean: float
    low: float
    high: float
    passages: int
    documents: int


def expected_average_precision(weights: NDArray[np.float64], relevant: NDArray[np.bool_]) -> float:
    """Average precision, in the mean over the orders of tied words.

    A group of g tied words behind m others, r of it relevant, with R relevant before it, adds for
    its i-th place (r / g) * (R + 1 + (i - 1) * (r - 1) / (g - 1)) / (m + i).

    Args:
        weights: (words,).
        relevant: (words,); at least one must be.
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


def average_precisions(
    examples: Sequence[Example], weighting: PredictWeights
) -> NDArray[np.float64]:
    """The average precision of each example; NaN where no word is relevant."""
    found = np.full(len(examples), np.nan)
    for row, (example, weights) in enumerate(zip(examples, weighting(examples), strict=True)):
        counts = ~np.array(example.is_stop, dtype=bool)
        relevant = np.array(example.targets)[counts] > 0
        if relevant.any():
            found[row] = expected_average_precision(weights[counts], relevant)
    return found


def recovery(
    name: str, examples: Sequence[Example], values: NDArray[np.float64], seed: int = 0
) -> Recovery:
    """The mean of average precisions with its interval."""
    kept = ~np.isnan(values)
    docnos = [example.docno for example, keep in zip(examples, kept, strict=True) if keep]
    sums, counts = _by_document(docnos, values[kept])
    draw = np.random.default_rng(seed_of(seed, "bootstrap"))
    rows = draw.integers(0, len(sums), size=(RESAMPLES, len(sums)))
    means = sums[rows].sum(axis=1) / counts[rows].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    mean = float(values[kept].mean())
    return Recovery(name, mean, float(low), float(high), int(kept.sum()), len(sums))


def recoveries(ways: Mapping[str, PredictWeights], examples: Sequence[Example]) -> list[Recovery]:
    """The average precision of several ways to weight the words of the same passages."""
    return [
        recovery(name, examples, average_precisions(examples, weighting))
        for name, weighting in ways.items()
    ]


def recovery_lines(part: str, ways: Sequence[Mapping[str, Any]]) -> list[str]:
    """How well several ways to weight words recover the reference's, a line for each.

    Args:
        part: The part of the examples that they were measured on.
        ways: A :class:`Recovery` of each, as plain values.
    """
    head = (
        f"{ways[0]['passages']:,} {part} passages of {ways[0]['documents']:,} documents; average "
        "precision with 95% bootstrap intervals over documents"
    )
    lines = [f"{w['name']:<16} {w['mean']:.3f}  [{w['low']:.3f}, {w['high']:.3f}]" for w in ways]
    return [head, *lines]


def _by_document(
    docnos: Sequence[str], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    _, rows = np.unique(np.array(docnos), return_inverse=True)
    return np.bincount(rows, weights=values).astype(float), np.bincount(rows).astype(np.int64)


def by_model(weighter: TermWeighter, precision: Precision = "float32") -> PredictWeights:
    """The weights of a model."""

    def weighting(examples: Sequence[Example]) -> list[NDArray[np.float64]]:
        whole = weighter.settings.keys == "words"
        texts = [example.text for example in examples]
        encoded = weighter.encode(texts, [words(text, whole=whole) for text in texts])
        found = weighter.weights(encoded, precision=precision)
        return [weights.astype(np.float64) for weights in found]

    return weighting


def constant(examples: Sequence[Example]) -> list[NDArray[np.float64]]:
    """The same weight for every word: chance."""
    return [np.ones(len(example.targets)) for example in examples]


def by_tf_idf(training: Iterable[Example]) -> PredictWeights:
    """Term frequency in the passage times inverse document frequency in other passages."""
    seen: Counter[str] = Counter()
    count = 0
    for example in training:
        seen.update(set(_keys(example)))
        count += 1

    def weighting(examples: Sequence[Example]) -> list[NDArray[np.float64]]:
        found = []
        for example in examples:
            keys = _keys(example)
            frequencies = Counter(keys)
            found.append(
                np.array(
                    [frequencies[k] * math.log((count + 1) / (seen[k] + 0.5)) for k in keys],
                    dtype=np.float64,
                )
            )
        return found

    return weighting


def _keys(example: Example) -> list[str]:
    whole = len(words(example.text)) == len(example.targets)
    return [match_key(word.text) for word in words(example.text, whole=whole)]
