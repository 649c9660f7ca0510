"""How wide intervals are, and would be if people judged more.

The variance of a mean difference over T topics has two parts: that of the topics, which remains
when everything is judged, and that of the sample, of which a drawn document shows
w^2 (g - e)^2 (1 - pi) / pi^2. The first is what the values' variance leaves for it; the second
grows and falls with 1 / pi - 1.
"""

from collections.abc import Sequence
from itertools import combinations
from math import sqrt

import numpy as np
import polars as pl

from adducir.corpora.frames import topic_numbers
from adducir.corpora.qrels import Qrels
from adducir.evaluation.formulas import Linear
from adducir.evaluation.lists import Floats
from adducir.judges.correction import Sampled
from adducir.judges.sampling import inclusion_probabilities, weights_of

LEVEL = 0.95


def widths(sampled: Sampled, weight: Floats) -> dict[int, float]:
    """Widths with this sample, with two and four times as many documents, and with all."""
    drawn = ~np.isnan(sampled.gain)
    size, pairs = int(drawn.sum()), len(sampled.topic)
    values = sampled.values(weight)
    topics = len(values)
    if topics < 2 or not size:
        return {}
    squares = (weight * (sampled.gain - sampled.expected))[drawn] ** 2
    probability = sampled.probability[drawn]

    def sampling(factor: float) -> float:
        more = np.minimum(1.0, probability * factor)
        return float((squares / probability * (1 / more - 1)).sum()) / topics**2

    of_topics = max(0.0, float(values.var(ddof=1)) / topics - sampling(1.0))
    by_size = {
        many: width(of_topics + sampling(many / size), topics - 1)
        for many in (size, 2 * size, 4 * size)
        if many < pairs
    }
    return by_size | {pairs: width(of_topics, topics - 1)}


def width(variance: float, freedom: int) -> float:
    """The width of Student's interval."""
    from scipy.special import stdtrit

    return 2 * float(stdtrit(freedom, 0.5 + LEVEL / 2)) * sqrt(variance)


Planned = list[tuple[int, float, float]]
"""Sizes, and the widest interval if the model is useless, and if it is perfect."""


def sizes_of(most: int) -> list[int]:
    return [most >> shift for shift in range(5, -1, -1) if most >> shift >= 3]


def planned_widths(
    pairs: pl.DataFrame, tops: Sequence[pl.DataFrame], model: Qrels, kind: Linear
) -> Planned:
    """For samples of documents. A model's grades are taken for people's, as nothing else is known.

    Args:
        pairs: The frame, qid and docno by topic.
        tops: The runs' top documents: qid, docno, rank.
        model: The model's grades.
        kind: The measure.
    """
    topic = topic_numbers(pairs["qid"])
    topics = int(topic.max(initial=-1)) + 1
    joined = pairs.join(model.frame, on=["qid", "docno"], how="left", maintain_order="left")
    gain = kind.gains(joined["grade"].fill_null(0).to_numpy())
    weights = [weights_of(pairs, top, kind) for top in tops]
    rows = []
    differences = [a - b for a, b in combinations(weights, 2)] or weights
    for size in sizes_of(len(pairs)):
        missing = 1 / inclusion_probabilities(topic, size) - 1
        useless, perfect = [], []
        for weight in differences:
            values = np.bincount(topic, weight * gain, minlength=topics)
            variance = float(values.var(ddof=1)) / topics
            sampling = float((weight**2 * missing).sum()) * float(gain.var()) / topics**2
            perfect.append(width(variance, topics - 1))
            useless.append(width(variance + sampling, topics - 1))
        rows.append((size, max(useless), max(perfect)))
    return rows


def planned_topic_widths(values: Sequence[Floats]) -> Planned:
    """For samples of whole topics, from the (T,) values of each run by the model's grades."""
    differences = [a - b for a, b in combinations(values, 2)] or list(values)
    variance, topics = max(float(one.var(ddof=1)) for one in differences), len(values[0])
    return [
        (size, width(variance / size, size - 1), width(variance / topics, size - 2))
        for size in sizes_of(topics)
    ]
