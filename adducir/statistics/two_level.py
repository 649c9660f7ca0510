"""Two systems with several runs each: the difference over topics and over runs.

A system that is trained differs from run to run; a difference that rests on one seed is not one of
the methods. Topics and runs (seeds) are both samples: with scores y = mean + topic + run + error
for each system, runs crossed with topics, the variance of the difference of the two means is

    s_d^2 / T  +  sum over both systems of max(0, MS_run - MS_error) / (T R),

s_d^2 the variance over topics of the differences of the systems' means over runs, MS_run and
MS_error the mean squares of a system's R x T scores. Degrees of freedom are Satterthwaite's (1946).
With one run each, or runs that differ by chance alone, it is the paired t-test on means over runs.
Where a system's runs begin to vary by more than chance, its part comes in with all the uncertainty
of MS_run: the error is continuous there, the degrees of freedom fall at once. That is how the level
is kept: with MS_run - MS_error at R - 1 degrees of freedom, which come in smoothly, tests at .05
found false differences in up to .069 (docs/statistics.md).
(Two-way random effects without replication: Searle, Casella and McCulloch 1992, chapter 4; for
retrieval Robertson and Kanoulas, SIGIR 2012, make the case for more levels than topics.)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import UsageError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TwoLevel:
    """The difference of two systems over topics and runs.

    Attributes:
        difference: Mean of the first less mean of the second.
        error: Standard error of the difference.
        df: Degrees of freedom.
        t: Difference over its error; infinite without any variance.
        p: Two-sided.
        topics: Share of the variance that comes from topics; the rest is from runs.
    """

    difference: float
    error: float
    df: float
    t: float
    p: float
    topics: float

    def interval(self, level: float) -> tuple[float, float]:
        """Confidence interval of the difference."""
        from scipy.special import stdtrit

        reach = float(stdtrit(self.df, 0.5 + level / 2)) * self.error
        return self.difference - reach, self.difference + reach


def two_level(first: Floats, second: Floats) -> TwoLevel:
    """Compare two systems by their scores, (R1, T) and (R2, T), of R runs on the same T topics.

    Raises:
        UsageError: Other topics, fewer than two, or scores that are not finite.
    """
    from scipy.special import stdtr

    a, b = (np.atleast_2d(np.asarray(one, dtype=np.float64)) for one in (first, second))
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1] or a.shape[1] < 2:
        raise UsageError("two systems need scores of the same topics, two at least.")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise UsageError("a score is no number.")
    topics = a.shape[1]
    gap = a.mean(axis=0) - b.mean(axis=0)
    parts = [(float(gap.var(ddof=1)) / topics, topics - 1.0, 1.0)]
    for values in (a, b):
        parts += _of_runs(values)
    variance = sum(sign * part for part, _, sign in parts)
    weight = sum((part**2) / df for part, df, _ in parts)
    difference = float(gap.mean())
    error = float(np.sqrt(variance))
    df = variance**2 / weight if weight > 0 else topics - 1.0
    if not error > 1e-12 * max(1e-300, float(np.abs(a).max()), float(np.abs(b).max())):
        same = abs(difference) <= 1e-12
        return TwoLevel(
            difference,
            0.0,
            topics - 1.0,
            0.0 if same else float(np.copysign(np.inf, difference)),
            1.0 if same else 2.0 ** (1 - topics),
            1.0,
        )
    t = difference / error
    p = float(2 * stdtr(df, -abs(t)))
    return TwoLevel(difference, error, float(df), t, p, parts[0][0] / variance)


def run_variance(values: Floats) -> float:
    """What a system's runs add to the variance of its mean over T topics and R runs, (R, T)."""
    return sum(sign * part for part, _, sign in _of_runs(values))


def _of_runs(values: Floats) -> list[tuple[float, float, float]]:
    """What a system's runs add to the variance: parts, their degrees of freedom and signs."""
    runs, topics = values.shape
    if runs < 2:
        return []
    centred = values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean()
    between = float(values.mean(axis=1).var(ddof=1)) / runs
    error_df = float((runs - 1) * (topics - 1))
    chance = float(np.square(centred).sum()) / error_df / (topics * runs)
    if between <= chance:
        return []
    return [(between, runs - 1.0, 1.0), (chance, error_df, -1.0)]
