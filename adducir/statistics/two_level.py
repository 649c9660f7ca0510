"""Two systems with several runs each: the difference over topics and over runs.

A difference that rests on one seed is not one of the methods. Topics and runs (seeds) are both
samples, runs crossed with topics. The variance of the difference of the two means is estimated by

    s_d^2 / T  +  sum over both systems of s_R^2 / R,

s_d^2 the variance over topics of the differences of the systems' means over runs, s_R^2 the
variance of a system's R means over topics. The interaction of runs and topics is counted in both
terms; with three runs, its estimate is often 0 by chance, and tests that subtract it find false
differences (docs/statistics.md).

The critical value is Cochran's (Biometrics 20, 1964): the mean of Student's quantiles, of T - 1 and
of R - 1 degrees of freedom, weighted by the terms. Unlike Satterthwaite's degrees of freedom it
does not trust a small variance of a few runs. With one run each it is the paired t-test.
"""

from dataclasses import dataclass, replace

import numpy as np

from adducir.statistics.differences import Floats

FEW_RUNS = 3
"""Two runs say next to nothing of how much runs vary: with fewer than three nothing is tested."""


@dataclass(frozen=True, slots=True)
class TwoLevel:
    """The difference of two systems over topics and runs; ``p`` is 1 where it is ``refused``.

    ``terms``: variance and degrees of freedom of topics, and of the runs of each system; of two
    runs, which are too few, nothing is tested.
    """

    difference: float
    error: float
    t: float
    p: float
    terms: tuple[tuple[float, float], ...]
    refused: bool = False

    @property
    def topics(self) -> float:
        """Share of the variance that comes from topics; the rest is from runs."""
        return self.terms[0][0] / self.error**2 if self.error > 0 else 1.0

    def quantile(self, share: float) -> float:
        """Of the statistic if the true difference is 0, ``share`` from 0 to 1."""
        from scipy.special import stdtrit

        total = sum(variance for variance, _ in self.terms)
        return sum(variance / total * float(stdtrit(df, share)) for variance, df in self.terms)

    def below(self, t: float) -> float:
        """The share of which ``t`` is the :meth:`quantile`."""
        from scipy.optimize import brentq
        from scipy.special import stdtr

        if len(self.terms) == 1:
            return float(stdtr(self.terms[0][1], t))
        tails = [float(stdtr(df, -abs(t))) for _, df in self.terms]
        # The weighted quantile lies between those of the terms, and so does the share.
        low, high = (float(np.log(max(end, 1e-300))) for end in (min(tails), max(tails)))
        if high - low > 1e-12:
            low = brentq(lambda p: self.quantile(float(np.exp(p))) + abs(t), low, high)
        tail = float(np.exp(low))
        return tail if t < 0 else 1.0 - tail

    def interval(self, level: float) -> tuple[float, float]:
        reach = self.quantile(0.5 + level / 2) * self.error if self.error > 0 else 0.0
        return self.difference - reach, self.difference + reach


def two_level(first: Floats, second: Floats) -> TwoLevel:
    """Compare two systems by their finite scores, (R1, T) and (R2, T), of R runs on T topics."""
    topics = first.shape[1]
    gap = first.mean(axis=0) - second.mean(axis=0)
    sides = [one for one in (first, second) if len(one) > 1]
    terms = [(float(gap.var(ddof=1)) / topics, topics - 1.0)]
    terms += [(float(one.mean(axis=1).var(ddof=1)) / len(one), len(one) - 1.0) for one in sides]
    difference, error = float(gap.mean()), float(np.sqrt(sum(part for part, _ in terms)))
    refused = any(len(one) < FEW_RUNS for one in sides)
    found = TwoLevel(difference, error, 0.0, 1.0, tuple(terms), refused)
    largest = max(float(np.abs(one).max()) for one in (first, second))
    if not error > 1e-12 * max(1e-300, largest):
        same = abs(difference) <= 1e-12
        t = 0.0 if same else float(np.copysign(np.inf, difference))
        p = 1.0 if same or refused else 2.0 ** (1 - topics)
        return replace(found, error=0.0, t=t, p=p)
    t = difference / error
    p = 1.0 if refused else min(1.0, 2.0 * found.below(-abs(t)))
    return replace(found, t=t, p=p)
