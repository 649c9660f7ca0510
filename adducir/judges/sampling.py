"""Which of the pooled documents people judge: a random sample with known probabilities.

The frame is every pair of a topic and a document in the top k of some run. Each topic gets the
same expected number of documents, at most all of its own; within a topic, documents are equally
probable, or proportional to the difference that their grade can make between two systems, whose
smallest value is a floor: without one, the sample would be of little use for any other pair.

Documents are drawn by the pivotal method (Deville and Tillé, Biometrika 1998): two candidates at a
time, one takes as much of the other's probability as it can, in the random order that keeps both
probabilities right. The sample has exactly the size asked for, and each topic one of the two whole
numbers next to its expected one.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from adducir.core.errors import UsageError
from adducir.corpora.frames import topic_numbers
from adducir.evaluation.formulas import Linear
from adducir.evaluation.lists import Floats, Integers
from adducir.runs.run import Run

FLOOR = 0.2
"""The least weight of a document, relative to the greatest difference of discounts."""


def pooled(runs: Iterable[Run], depth: int, qids: Iterable[str] | None = None) -> pl.DataFrame:
    """Columns qid and docno: the top documents of any run, perhaps for some topics, in order."""
    tops = [run.top(depth).frame.select("qid", "docno") for run in runs]
    pairs = pl.concat(tops).unique().sort("qid", "docno")
    if qids is None:
        return pairs
    return pairs.filter(pl.col("qid").is_in(pl.Series([*qids], dtype=pl.String).implode()))


def weights_of(pairs: pl.DataFrame, ranked: pl.DataFrame, kind: Linear) -> Floats:
    """(J,) how much each pair's gain counts in a ranking (qid, docno, rank from 0)."""
    ranks = pairs.join(ranked, on=["qid", "docno"], how="left", maintain_order="left")["rank"]
    counts = (ranks < (kind.cutoff or 0)).fill_null(value=False).to_numpy()
    return np.where(counts, kind.discounts(ranks.fill_null(0).to_numpy()), 0.0)


def draw_documents(
    pairs: pl.DataFrame, size: int, seed: int, weight: Floats | None = None
) -> pl.DataFrame:
    """The pairs with ``probability`` and ``drawn``: about as many in each topic."""
    topic = topic_numbers(pairs["qid"])
    probability = inclusion_probabilities(topic, size, weight)
    drawn = draw(topic, probability, np.random.default_rng(seed))
    return pairs.with_columns(probability=probability, drawn=drawn)


def draw_topics(pairs: pl.DataFrame, count: int, seed: int) -> pl.DataFrame:
    """The same, with all pairs of some topics drawn, and none of others."""
    qids = pairs["qid"].unique(maintain_order=True)
    if not 0 < count <= len(qids):
        message = f"{count} topics cannot be drawn from {len(qids):,}."
        raise UsageError(message, hint="Draw at least one, and at most all.")
    places = np.random.default_rng(seed).choice(len(qids), count, replace=False)
    is_drawn = pl.col("qid").is_in(qids[sorted(places.tolist())].implode())
    return pairs.with_columns(probability=pl.lit(count / len(qids)), drawn=is_drawn)


def inclusion_probabilities(
    topic: Integers, documents: int, weight: Floats | None = None
) -> Floats:
    """The probability of each pair to be drawn.

    Args:
        topic: (J,) each pair's topic, 0 to T - 1.
        documents: The size of the sample, at most J.
        weight: (J,) positive; pairs of a topic are drawn in proportion to it. By default equal.

    Returns:
        (J,) in (0, 1]; their sum is ``documents``.
    """
    sizes = np.bincount(topic).astype(np.float64)
    if not 0 < documents <= len(topic):
        raise UsageError(
            f"{documents} documents cannot be drawn from {len(topic):,}.",
            hint="Draw at least one, and at most all.",
        )
    weights = np.ones(len(topic)) if weight is None else np.asarray(weight, dtype=np.float64)
    expected = _filled(np.ones(len(sizes)), sizes, float(documents))
    probability = np.empty(len(topic))
    for number in range(len(sizes)):
        is_topic = topic == number
        probability[is_topic] = _filled(
            weights[is_topic], np.ones(int(is_topic.sum())), expected[number]
        )
    return probability


def _filled(weights: Floats, limits: Floats, total: float) -> Floats:
    """Parts of ``total`` in proportion to ``weights``, none above its limit."""
    parts, is_full = np.zeros(len(weights)), np.zeros(len(weights), dtype=bool)
    while True:
        remaining = total - limits[is_full].sum()
        parts[is_full] = limits[is_full]
        parts[~is_full] = remaining * weights[~is_full] / max(weights[~is_full].sum(), 1e-300)
        above = ~is_full & (parts >= limits * (1 - 1e-12))
        if not above.any():
            return np.minimum(parts, limits)
        is_full |= above


def draw(topic: Integers, probability: Floats, rng: np.random.Generator) -> np.ndarray:
    """(J,) bool: the pairs drawn, each with its probability."""
    order = np.lexsort((rng.random(len(topic)), topic))
    left, chances = probability[order].tolist(), rng.random(len(topic)).tolist()
    drawn = np.zeros(len(topic), dtype=bool)
    holder, held = -1, 0.0  # the pair whose fate is open, and what it has of a probability
    for place, (mass, chance) in enumerate(zip(left, chances, strict=True)):
        if holder < 0:
            holder, held = place, mass
        elif held + mass < 1.0:
            holder = place if chance * (held + mass) < mass else holder
            held += mass
        else:
            winner_is_held = chance * (2.0 - held - mass) < 1.0 - mass
            winner, loser = (holder, place) if winner_is_held else (place, holder)
            drawn[winner], holder, held = True, loser, held + mass - 1.0
        if held <= 1e-12:
            holder = -1
        elif held >= 1.0 - 1e-12:
            drawn[holder], holder, held = True, -1, 0.0
    if holder >= 0 and rng.random() < held:
        drawn[holder] = True
    back = np.empty(len(topic), dtype=bool)
    back[order] = drawn
    return back


def pair_weights(discounts: Sequence[Floats], floor: float = FLOOR) -> Floats:
    """(J,) weights from each system's (J,) discounts: the largest difference of two systems."""
    stacked = np.stack(discounts)
    spread = stacked.max(axis=0) - stacked.min(axis=0)
    greatest = float(spread.max(initial=0.0))
    return np.maximum(spread / greatest, floor) if greatest else np.ones(len(spread))
