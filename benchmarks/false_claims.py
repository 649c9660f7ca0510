"""Rates of false claims in docs/statistics.md and RESULTS.md, besides those of two_level.py.

    python benchmarks/false_claims.py [tests] [maxt] [equivalence]

tests: two systems with mean .2 and beta-distributed scores whose parameters sum to 3 and 1, each
test at .05. maxt: four of the latter against one of the former, any corrected p of .05 or less.
equivalence: several runs, the true difference is the bound, and systems are called equivalent.
"""

import sys
from itertools import product

import numpy as np

from adducir.statistics.equivalence import tost_of_runs
from adducir.statistics.settings import CORRECTIONS, TESTS, PairFamily

ALPHA = 0.05


def skewed(rng: np.random.Generator, samples: int, systems: int, topics: int) -> np.ndarray:
    """(N, 1 + S, T) scores with mean .2: a baseline, then systems with a heavier tail."""
    base = rng.beta(0.2 * 3, 0.8 * 3, (samples, 1, topics))
    return np.concatenate([base, rng.beta(0.2, 0.8, (samples, systems, topics))], axis=1)


def of_tests(topics: int, samples: int = 10_000) -> dict[str, float]:
    """The share of samples in which each test finds a difference."""
    scores = skewed(np.random.default_rng(topics), samples, 1, topics)
    rates = {}
    for name in ("t", "wilcoxon", "sign"):
        _, p = TESTS.make(name, {}).rows(scores[:, 1], scores[:, 0])
        rates[name] = float(np.mean(p <= ALPHA))
    return rates


def of_corrections(topics: int, samples: int = 1_000) -> dict[str, float]:
    """The share of samples in which any of four systems differs from the baseline."""
    found = dict.fromkeys(("maxt", "holm"), 0)
    for scores in skewed(np.random.default_rng(topics), samples, 4, topics):
        first, second = np.arange(1, 5), np.zeros(4, dtype=int)
        _, p = TESTS.make("t", {}).rows(scores[first], scores[second])
        family = PairFamily(p=p, values=scores, first=first, second=second)
        for name in found:
            found[name] += CORRECTIONS.make(name, {}).of_pairs(family).min() <= ALPHA
    return {name: count / samples for name, count in found.items()}


def of_equivalence(
    kind: str, topics: int, runs: int, sd: float, samples: int = 2_000
) -> dict[str, float]:
    """The share of samples that are called equivalent, though the difference is the bound, .1."""
    rng, found = np.random.default_rng(topics + runs), dict.fromkeys(("hall", "t"), 0)
    for _ in range(samples):
        gap = rng.normal(0.1, 0.1, topics) if kind == "normal" else rng.exponential(0.1, topics)
        base = rng.normal(0, 0.2, topics)
        sides = [
            middle + rng.normal(0, sd, (runs, 1)) + rng.normal(0, 0.05, (runs, topics))
            for middle in (base + gap, base)
        ]
        for name in found:
            found[name] += tost_of_runs(*sides, 0.1, test=name).p[0] <= ALPHA  # type: ignore[arg-type]
    return {name: count / samples for name, count in found.items()}


def printed(*words: object, **rates: float) -> None:
    print(*words, *(f"{name} {rate:.3f}" for name, rate in rates.items()), flush=True)


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["tests", "maxt", "equivalence"]
    for topics in (20, 50, 100) * ("tests" in chosen):
        printed("tests,", topics, "topics:", **of_tests(topics))
    for topics in (10, 20, 50, 100) * ("maxt" in chosen):
        printed("any of four,", topics, "topics:", **of_corrections(topics))
    settings = product(("normal", "exponential"), (20, 50, 200), (3, 5), (0, 0.01, 0.05))
    for setting in list(settings) * ("equivalence" in chosen):
        printed("equivalence,", *setting, **of_equivalence(*setting))
