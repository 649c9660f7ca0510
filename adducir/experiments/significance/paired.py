"""Paired significance tests over per-topic scores; all are two-sided.

===============  ====================================================================
paired_t         Student 1908; the differences of the topics are taken as normal.
wilcoxon         Wilcoxon 1945; signed ranks. Zeros are dropped (Wilcoxon 1949) or, on
                 request, ranked and then dropped (Pratt 1959).
sign             Binomial test of wins against losses; ties are dropped.
randomisation    Fisher 1935; see :mod:`adducir.experiments.significance.randomisation`.
bootstrap        Efron and Tibshirani 1993; see :mod:`adducir.experiments.significance.bootstrap`.
===============  ====================================================================

Smucker, Allan and Carterette (CIKM 2007) find that t, randomisation and bootstrap
agree closely on retrieval runs, and advise against Wilcoxon and sign.

Special cases, the same for every test and never NaN:

* Identical runs give p = 1.
* A difference that is the same non-zero number on every topic has no variance: t is
  infinite and its limiting p of 0 would claim more than the topics can show. The
  studentised tests (t, bootstrap) then report the exact randomisation p of that
  outcome, 2^(1 - T), and set ``degenerate``, for a table to point out.
* Fewer than two topics, or NaN among the scores, raise UsageError.
"""

from numpy.typing import ArrayLike

from adducir.experiments.significance.bootstrap import bootstrap, bootstrap_rows
from adducir.experiments.significance.choices import (
    DEFAULT_PERMUTATIONS,
    DEFAULT_SAMPLES,
    DEFAULT_SEED,
    TESTS,
    TestName,
)
from adducir.experiments.significance.differences import paired_rows
from adducir.experiments.significance.outcome import TestResult
from adducir.experiments.significance.randomisation import randomisation, randomisation_rows
from adducir.experiments.significance.ranks import sign, wilcoxon
from adducir.experiments.significance.student import paired_t, paired_t_rows
from adducir.study.errors import UsageError

__all__ = [
    "TestResult",
    "bootstrap",
    "paired_t",
    "randomisation",
    "run_rows",
    "sign",
    "wilcoxon",
]


def run_rows(
    test: TestName,
    first: ArrayLike,
    second: ArrayLike,
    *,
    permutations: int = DEFAULT_PERMUTATIONS,
    samples: int = DEFAULT_SAMPLES,
    seed: int = DEFAULT_SEED,
) -> list[TestResult]:
    """One named test on each row of two (K, T) arrays of scores.

    Args:
        test: One of ``choices.TESTS``.
        first: K systems' scores on T topics.
        second: What each is compared with, on the same topics.
        permutations: Sign vectors of the randomisation test.
        samples: Samples of the bootstrap test.
        seed: Seed of either.

    Returns:
        K results.

    Raises:
        UsageError: Unknown test, or scores that cannot be paired.
    """
    if test == "t":
        return paired_t_rows(first, second)
    if test == "randomisation":
        return randomisation_rows(first, second, permutations=permutations, seed=seed)
    if test == "bootstrap":
        return bootstrap_rows(first, second, samples=samples, seed=seed)
    if test not in TESTS:
        raise UsageError(f"unknown test {test!r}.", mend=f"Choose one of {', '.join(TESTS)}.")
    single = sign if test == "sign" else wilcoxon
    return [single(a, b) for a, b in zip(*paired_rows(first, second), strict=True)]
