"""Gains of documents that a model judged, corrected by what people say of a random sample.

A model's grades alone give wrong differences with small p-values (Clarke and Dietz, 2024; Otero,
Parapar and Barreiro, SIGIR 2025), and so do its qrels with a few human grades pasted in. The
difference estimator of survey sampling (Särndal, Swensson and Wretman 1992, chapter 6) does not:
each document of the frame counts what the model lets expect of it, and each document of the sample
adds its error, divided by the probability that it was drawn:

    corrected = expected + (people's - expected) / probability    if drawn, else expected

Its mean over all samples is people's gain, whatever the model says, so every measure that is linear
in the gains has values per topic that are right on average, and tests and intervals over topics
stay valid. A good model only makes them less variable.

What a grade of the model lets expect is people's mean gain for that grade in the *other* topics
(cross-fitting: a topic's own sample may not set what it is compared with). Grades are names here: a
judge that is useless, too generous or upside down costs nothing but its own cost. A grade that
people rarely saw is drawn towards the mean of all. A document without a grade counts that mean.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from adducir.evaluation.lists import Floats, Integers

PRIOR = 4.0
"""How many documents of the overall mean a grade's own mean is mixed with."""


def expected_gains(
    topic: Integers, level: Integers, gain: Floats, probability: Floats, *, prior: float = PRIOR
) -> Floats:
    """What a model's grade lets expect of each document, from people's grades in other topics.

    Args:
        topic: (J,) each document's topic, 0 to T - 1.
        level: (J,) the number of its grade by the model, 0 to L - 1, or -1 without one.
        gain: (J,) its gain by people's grade; NaN if it was not drawn.
        probability: (J,) how probable it was to be drawn.
        prior: Weight of the overall mean, in documents.

    Returns:
        (J,) gains.
    """
    drawn = ~np.isnan(gain)
    topics, levels = int(topic.max(initial=-1)) + 1, int(level.max(initial=-1)) + 1
    weight = np.where(drawn, 1.0 / probability, 0.0)
    value = weight * np.where(drawn, gain, 0.0)
    others = []
    for amount in (value, weight, drawn.astype(np.float64)):
        total = np.zeros((topics, levels + 1))  # the last column: without a grade
        np.add.at(total, (topic, level), amount)
        others.append(total.sum(axis=0) - total)
    gained, seen, counted = others
    all_gained, all_seen = gained.sum(axis=1, keepdims=True), seen.sum(axis=1, keepdims=True)
    mean = np.divide(all_gained, all_seen, out=np.zeros((topics, 1)), where=all_seen > 1e-9)
    mixed = prior * all_seen / np.maximum(1, counted.sum(axis=1, keepdims=True))
    weighed = seen + mixed
    fitted = np.divide(
        gained + mixed * mean, weighed, out=np.tile(mean, levels + 1), where=weighed > 1e-9
    )
    fitted[:, levels] = mean[:, 0]
    return np.asarray(fitted[topic, level])


@dataclass(frozen=True, eq=False)
class Sampled:
    """A frame's pairs, for a measure.

    Attributes:
        topic: (J,) each pair's topic, 0 to T - 1.
        expected: (J,) what the model's grade lets expect of its gain.
        gain: (J,) people's; NaN where they did not judge.
        probability: (J,) of being drawn.
    """

    topic: Integers
    expected: Floats
    gain: Floats
    probability: Floats

    @classmethod
    def of(cls, topic: Integers, level: Integers, gain: Floats, probability: Floats) -> "Sampled":
        """With the gains expected; the arguments are those of :func:`expected_gains`."""
        return cls(topic, expected_gains(topic, level, gain, probability), gain, probability)

    @cached_property
    def corrected(self) -> Floats:
        """(J,) corrected gains."""
        error = np.where(np.isnan(self.gain), 0.0, self.gain - self.expected)
        return np.asarray(self.expected + error / self.probability)

    def values(self, weight: Floats) -> Floats:
        """(T,) corrected values of the (J,) weights of a ranking, or of a difference of two."""
        topics = int(self.topic.max(initial=-1)) + 1
        return np.asarray(np.bincount(self.topic, weight * self.corrected, minlength=topics))
