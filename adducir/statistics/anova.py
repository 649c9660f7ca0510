"""Two-way analysis of variance of systems and topics, without replication.

score = mean + system + topic + error (Tague-Sutcliffe and Blustein 1995; Sakai 2018, chapter 3).
Topics are blocks: what makes them easy or hard is taken out before systems are compared. Errors
are taken as normal and of one variance.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from adducir.core.errors import UsageError
from adducir.statistics.differences import scores_array


@dataclass(frozen=True, slots=True)
class Anova:
    """Analysis of variance of S systems on T topics.

    Attributes:
        f: F of the systems, with (S - 1, (S - 1)(T - 1)) degrees of freedom.
        p: Of the null hypothesis that all systems are equally good.
        f_topics: F of the topics.
        p_topics: Of the null hypothesis that all topics are equally hard.
        systems: Share of the sum of squares between systems.
        topics: Share between topics.
        error: Mean square of the error: variance of a score once system and topic are known.
        df: Degrees of freedom of the error.
    """

    f: float
    p: float
    f_topics: float
    p_topics: float
    systems: float
    topics: float
    error: float
    df: int


def two_way_anova(values: ArrayLike) -> Anova:
    """Analysis of variance of scores of S systems on T topics, shape (S, T).

    Raises:
        UsageError: One system, fewer than two topics, NaN, or no error at all.
    """
    from scipy.special import fdtrc

    scores = scores_array(values)
    systems, topics = scores.shape
    if systems < 2:
        raise UsageError("an analysis of variance takes two systems at least.")
    total = np.square(scores - scores.mean()).sum()
    between = topics * np.square(scores.mean(axis=1) - scores.mean()).sum()
    hardness = systems * np.square(scores.mean(axis=0) - scores.mean()).sum()
    df = (systems - 1) * (topics - 1)
    error = (total - between - hardness) / df
    if not error > 1e-14 * max(total, 1e-300):
        raise UsageError("all systems have the same score on every topic, up to a constant.")
    f, f_topics = between / (systems - 1) / error, hardness / (topics - 1) / error
    return Anova(
        f=float(f),
        p=float(fdtrc(systems - 1, df, f)),
        f_topics=float(f_topics),
        p_topics=float(fdtrc(topics - 1, df, f_topics)),
        systems=float(between / total),
        topics=float(hardness / total),
        error=float(error),
        df=df,
    )
