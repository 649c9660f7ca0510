"""Bringing the scores of different systems to one scale, topic by topic.

- ``min-max``: 0 for the last document of the run's ranking, 1 for the first (Lee, SIGIR 1997).
- ``z-score``: minus the mean, over the standard deviation (of the population), also called zero
  mean and unit variance (Montague and Aslam, CIKM 2001). A document that a run does not rank adds
  nothing, as if its score were the mean.
- ``none``: scores as they are.

Scores that are all equal become 1 by ``min-max`` and 0 by ``z-score``.
"""

from typing import Literal

import numpy as np

from adducir.runs.order import Floats
from adducir.runs.run import Run

Normalisation = Literal["min-max", "z-score", "none"]


def normalised(run: Run, how: Normalisation) -> Floats:
    """(n,) the scores of a run on the scale of ``how``."""
    score: Floats = run.frame["score"].to_numpy()
    if how == "none" or not len(score):
        return score
    starts = np.cumsum(run.lengths) - run.lengths
    high = np.maximum.reduceat(score, starts)[run.topics]
    low = np.minimum.reduceat(score, starts)[run.topics]
    # Halved, since the span of doubles is twice what a double holds.
    span = high / 2 - low / 2
    flat = span == 0
    scaled: Floats = np.where(flat, 1.0, (score / 2 - low / 2) / np.where(flat, 1.0, span))
    if how == "min-max":
        return scaled
    # z-scores do not change with the scale, and those of numbers from 0 to 1 never overflow.
    lengths = run.lengths[run.topics]
    centred = scaled - (np.add.reduceat(scaled, starts)[run.topics] / lengths)
    deviation = np.sqrt(np.add.reduceat(centred**2, starts)[run.topics] / lengths)
    return np.where(flat, 0.0, centred / np.where(flat, 1.0, deviation))
