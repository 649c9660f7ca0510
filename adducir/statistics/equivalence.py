"""Equivalence of two systems, and their difference over topics and several runs.

**Equivalence**: two one-sided paired tests of H0: the true mean difference is at least delta away
from zero (TOST; Schuirmann 1987; Lakens 2017); p is the larger of the two; one side alone tests
non-inferiority. They are t-tests (``t``, as in statsmodels' ``ttost_paired``), which accept
equivalence too often for skewed differences; or (``hall``) the larger p of that and of t after
Hall's (1992) transformation, which removes the skewness g of the
differences: sqrt(n) (w + g w^2 / 3 +
g^2 w^3 / 27 + g / (6 n)) with w the mean in standard deviations (of n). Neither can account for
unseen differences: if fewer than :data:`FEW` topics differ (few topics, saturated scores, measures
of 0 and 1), ``hall`` refuses the test, with p = 1; so does ``t`` if differences do not vary at all.

**Several runs**: topics and runs (seeds) are both samples, crossed with each other, and the
variance of the difference of means is estimated by s_d^2 / T + sum over both systems of s_R^2 /
R: s_d^2 the variance over topics of the differences of the systems' means over runs, s_R^2
the variance of a system's R means over topics. The interaction of runs and topics is in both terms,
because an estimate of it from three runs is often 0 by chance (docs/statistics.md). The critical
value is Cochran's (Biometrics 20, 1964): the mean of Student's quantiles, of T - 1 and of R - 1
degrees of freedom, weighted by the terms; unlike Satterthwaite's degrees of freedom, it does not
trust a small variance from a few runs. With one run each, it is the paired t-test.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adducir.statistics.differences import Flags, Floats, Integers, constant_rows, tolerance
from adducir.statistics.settings import FEW, FEW_RUNS, EquivalenceTest, Side


@dataclass(frozen=True, slots=True)
class TwoLevel:
    """The difference of two systems over topics and runs; ``p`` is 1 if ``refused``.

    ``terms``: variance and degrees of freedom of topics and of each system's runs; two runs are too
    few to test.
    """

    difference: float
    error: float
    t: float
    p: float
    terms: tuple[tuple[float, float], ...]
    refused: bool = False

    @property
    def topics(self) -> float:
        """Share of the variance due to topics; the rest is due to runs."""
        return self.terms[0][0] / self.error**2 if self.error > 0 else 1.0

    def quantile(self, share: float) -> float:
        """The statistic's quantile if the true difference is 0, ``share`` from 0 to 1."""
        from scipy.special import stdtrit

        total = sum(variance for variance, _ in self.terms)
        varying = [(variance, df) for variance, df in self.terms if variance > 0]
        return sum(variance / total * float(stdtrit(df, share)) for variance, df in varying)

    def below(self, t: float) -> float:
        """The share whose :meth:`quantile` is ``t``; at least 1e-100."""
        from scipy.optimize import brentq
        from scipy.special import stdtr

        def beyond(logarithm: float) -> float:
            return self.quantile(float(np.exp(logarithm))) + abs(t)

        # The weighted quantile lies between those of the terms, and so does the share; where one
        # term has nearly all of the variance it is at an end, as far as rounding shows.
        tails = [float(stdtr(df, -abs(t))) for variance, df in self.terms if variance > 0]
        low, high = (float(np.log(max(end, 1e-100))) for end in (min(tails), max(tails)))
        if beyond(high) <= 0:
            low = high
        elif beyond(low) < 0:
            low = brentq(beyond, low, high)
        tail = float(np.exp(low))
        return tail if t < 0 else 1.0 - tail

    def interval(self, level: float) -> tuple[float, float]:
        reach = self.quantile(0.5 + level / 2) * self.error if self.error > 0 else 0.0
        return self.difference - reach, self.difference + reach


def two_level(first: Floats, second: Floats) -> TwoLevel:
    """Compare two systems by their finite scores, (R1, T) and (R2, T), of R runs on T topics."""
    topics = first.shape[1]
    gap = first.mean(axis=0) - second.mean(axis=0)
    sides = [runs for runs in (first, second) if len(runs) > 1]
    terms = [(float(gap.var(ddof=1)) / topics, topics - 1.0)]
    terms += [(float(runs.mean(axis=1).var(ddof=1)) / len(runs), len(runs) - 1.0) for runs in sides]
    difference, error = float(gap.mean()), float(np.sqrt(sum(part for part, _ in terms)))
    refused = any(len(runs) < FEW_RUNS for runs in sides)
    result = TwoLevel(difference, error, 0.0, 1.0, tuple(terms), refused)
    largest = max(float(np.abs(runs).max()) for runs in (first, second))
    noise = 1e-12 * max(1e-300, largest)
    if not error > noise:
        same = abs(difference) <= noise
        t = 0.0 if same else float(np.copysign(np.inf, difference))
        p = 1.0 if same or refused else 2.0 ** (1 - topics)
        return replace(result, error=0.0, t=t, p=p)
    t = difference / error
    p = 1.0 if refused else min(1.0, 2.0 * result.below(-abs(t)))
    return replace(result, t=t, p=p)


class Tost(NamedTuple):
    """(K,) p, topics that differ, whether differences are constant, the test refused (p is 1)."""

    p: Floats
    differing: Integers
    constant: Flags
    refused: Flags


def tost(
    first: Floats,
    second: Floats,
    delta: float,
    *,
    test: EquivalenceTest = "hall",
    side: Side = "both",
) -> Tost:
    """Equivalence within (-delta, delta), in units of the measure, of (K, T) scores.

    ``side="lower"`` tests only that the first is not lower by delta or more, ``"upper"`` only that
    it is not higher.
    """
    difference, noise = first - second, tolerance(first, second)
    constant = constant_rows(difference, noise)
    differing = (np.abs(difference) > noise[:, None]).sum(axis=1)
    refused = constant | ((differing < FEW) & (test == "hall"))
    sides = np.ones((2, len(difference)))
    if not refused.all():
        some = difference[~refused]
        sides[:, ~refused] = [_below(sign * some, delta, test) for sign in (-1.0, 1.0)]
    return Tost(_chosen(sides, side), differing, constant, refused)


def _below(difference: Floats, delta: float, test: EquivalenceTest) -> Floats:
    from scipy.special import stdtr
    from scipy.stats import ttest_1samp

    p = np.asarray(ttest_1samp(difference, delta, axis=1, alternative="less").pvalue)
    if test == "t":
        return p
    topics = difference.shape[1]
    mean, sd = difference.mean(axis=1), difference.std(axis=1)
    skewness = ((difference - mean[:, None]) ** 3).mean(axis=1) / sd**3
    w = (mean - delta) / sd
    bent = w + skewness * w**2 / 3 + skewness**2 * w**3 / 27 + skewness / (6 * topics)
    return np.asarray(np.maximum(p, stdtr(topics - 1, np.sqrt(topics) * bent)))


def _chosen(sides: NDArray[np.float64], side: Side) -> Floats:
    lower, upper = sides
    return {"both": np.maximum(lower, upper), "lower": lower, "upper": upper}[side]


def tost_of_runs(
    first: Floats,
    second: Floats,
    delta: float,
    *,
    test: EquivalenceTest = "hall",
    side: Side = "both",
) -> Tost:
    """The same for one pair of systems over topics and runs, with scores (R1, T) and (R2, T).

    Standard error and quantiles are those of :func:`.two_level`. With ``hall``, runs are taken as
    symmetric, so the third central moment of the mean over topics and runs is that of the topics'
    differences over T^2; with skewness g, that moment over error^3, the transformed statistic is t
    + g t^2 / 3 + g^2 t^3 / 27 + g / 6; for one run each, that of topics alone.
    """
    result = two_level(first, second)
    a, b = first.mean(axis=0), second.mean(axis=0)
    gap, topics = a - b, a.size
    differing = int((np.abs(gap) > tolerance(a[None], b[None])).sum())
    constant = not result.error > 0
    refused = constant or result.refused or (test == "hall" and differing < FEW)
    sides = np.ones((2, 1))
    if not refused:
        spread = third = 0.0
        if test == "hall":
            spread = result.error**2 * (1 - result.topics) + float(gap.var()) / topics
            third = float(((gap - gap.mean()) ** 3).mean()) / topics**2
        for row, sign in enumerate((-1.0, 1.0)):
            above = sign * result.difference - delta
            sides[row] = result.below(above / result.error)
            if spread > 0:
                t, g = above / np.sqrt(spread), sign * third / spread**1.5
                bent = result.below(t + g * t**2 / 3 + g**2 * t**3 / 27 + g / 6)
                sides[row] = np.maximum(sides[row], bent)
    return Tost(
        _chosen(sides, side), np.array([differing]), np.array([constant]), np.array([refused])
    )
