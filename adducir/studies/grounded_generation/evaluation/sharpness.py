"""Sharpness of distributions over passages (Hindsight, figures 4 and 5).

For each input the passages of its closed set have probabilities: P(z|x) and Q(z|x, y) are softmaxes
of retrieval scores; with a uniform prior P(z|x, y) is that of log P(y|x, z). The curve is the mean
over inputs of the probability that is reached by rank, most probable passages first: a sharp
distribution rises at once, k passages that are equally probable lie on the straight line to k.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from adducir.core.errors import UsageError
from adducir.evaluation.judgements import Floats
from adducir.evaluation.named import NamedMeasure
from adducir.evaluation.scores import Scores

CUTOFFS = (1, 2, 5, 10, 20, 50, 100)


def cumulated(scores: Floats, depth: int, temperature: float = 1.0) -> Floats:
    """The probability that is reached at each rank, for one input.

    Args:
        scores: (n,) unnormalised log-probabilities: scores of a retriever, log-likelihoods.
        depth: How many ranks; behind the last passage the curve stays at 1.
        temperature: Divides the scores.

    Returns:
        (depth,) values that do not fall, at most 1.

    Raises:
        UsageError: No score, one that is no number, or ``depth`` or ``temperature`` not above 0.
    """
    values = np.asarray(scores, dtype=np.float64)
    if depth < 1 or temperature <= 0:
        raise UsageError("a curve needs a depth of 1 or more and a temperature above 0.")
    if values.ndim != 1 or not values.size or np.isnan(values).any():
        raise UsageError("a distribution needs scores of at least one passage, and no NaN.")
    values = np.sort(values)[::-1] / temperature
    weights = np.exp(values - values[0])
    reached = np.minimum(np.cumsum(weights) / weights.sum(), 1.0)[:depth]
    return np.concatenate([reached, np.ones(depth - len(reached))])


def sharpness(inputs: Iterable[Floats], depth: int, temperature: float = 1.0) -> Floats:
    """(depth,) mean of :func:`cumulated` over inputs.

    Raises:
        UsageError: As there, or there is no input.
    """
    curves = [cumulated(scores, depth, temperature) for scores in inputs]
    if not curves:
        raise UsageError("there is no input.")
    return np.asarray(np.mean(curves, axis=0))


def mass_scores(
    system: str,
    scores: Mapping[str, Sequence[float]],
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    depth: int = 100,
    temperature: float = 1.0,
) -> Scores:
    """``Mass@k``: the probability that is reached at rank k, for each input.

    Args:
        system: The system's name.
        scores: Unnormalised log-probabilities of each input's passages, as a run has them.
        cutoffs: The k.
        depth: The passages of an input's closed set: its best so many.
        temperature: Divides the scores.

    Raises:
        UsageError: No input, a number out of range, or a score that is no number.
    """
    if not scores or not cutoffs or min(*cutoffs, depth) < 1:
        raise UsageError("there must be an input, and depth and all cutoffs must be 1 or more.")
    curves = [
        cumulated(np.sort(np.asarray(one))[::-1][:depth], max(cutoffs), temperature)
        for one in scores.values()
    ]
    values = np.array(curves)[:, [k - 1 for k in cutoffs]]
    values.setflags(write=False)
    measures = tuple(NamedMeasure(f"Mass@{k}") for k in cutoffs)
    return Scores(system, tuple(scores), measures, values)
