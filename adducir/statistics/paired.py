"""Paired significance tests over per-topic scores; all are two-sided.

Each is a kind of :data:`adducir.statistics.tests.TESTS`, with its source in its file.
Smucker, Allan and Carterette (CIKM 2007) find that t and randomisation
agree closely on retrieval runs, and advise against Wilcoxon and sign.

Special cases, the same for every test and never NaN:

* Identical runs give p = 1.
* A difference that is the same non-zero number on every topic has no variance: t is
  infinite and its limiting p of 0 would claim more than the topics can show. It
  then reports the exact randomisation p of that outcome, 2^(1 - T), and sets
  ``degenerate``, for a table to point out.
* Fewer than two topics, or NaN among the scores, raise UsageError.
"""

from numpy.typing import ArrayLike

from adducir.statistics.choices import DEFAULT_PERMUTATIONS, DEFAULT_SAMPLES, DEFAULT_SEED, TestName
from adducir.statistics.differences import paired_rows
from adducir.statistics.outcome import TestResult
from adducir.statistics.tests import TESTS
from adducir.statistics.tests.randomisation import randomisation
from adducir.statistics.tests.sign import sign
from adducir.statistics.tests.student import paired_t
from adducir.statistics.tests.wilcoxon import wilcoxon

__all__ = [
    "TestResult",
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
        test: One of ``TESTS``.
        first: K systems' scores on T topics.
        second: What each is compared with, on the same topics.
        permutations: Sign vectors of the randomisation test.
        samples: Samples of a test that draws them.
        seed: Seed of either draw.

    Returns:
        K results.

    Raises:
        UsageError: Unknown test, or scores that cannot be paired.
    """
    drawn = {"permutations": permutations, "samples": samples, "seed": seed}
    known = TESTS.kind(test).model_fields
    kind = TESTS.make(test, {name: value for name, value in drawn.items() if name in known})
    return kind.rows(*paired_rows(first, second))
