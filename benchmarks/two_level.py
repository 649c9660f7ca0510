"""Rates of false claims where systems are trained: tests over topics and runs.

    python benchmarks/two_level.py            # the tables of benchmarks/RESULTS.md
    python benchmarks/two_level.py --all      # every setting, and the largest rate of each design

Equal systems: a topic's value varies by .4 between systems and by .6 between a system's runs, the
runs' true means by the given standard deviation. A claim is a corrected p of .05 or less.
"""

import sys
from itertools import combinations

import numpy as np
from scipy.special import stdtrit

from adducir.statistics.equivalence import two_level

ALPHA, SAMPLES = 0.05, 10_000


def drawn(rng: np.random.Generator, shape: tuple[int, ...], topics: int, sd: float) -> np.ndarray:
    """(N, S, R, T) scores of N experiments: S equal systems with R runs each."""
    samples, systems, runs = shape
    system = rng.normal(0, 0.4, (samples, systems, 1, topics))
    training = rng.normal(0, sd, (samples, systems, runs, 1))
    return system + training + rng.normal(0, 0.6, (samples, systems, runs, topics))


def claims(first: np.ndarray, second: np.ndarray, tests: int) -> np.ndarray:
    """(N,) whether a pair of (N, R, T) scores differs at alpha / tests, as by ``two_level``."""
    topics = first.shape[2]
    gap = first.mean(axis=1) - second.mean(axis=1)
    terms, dfs = [gap.var(axis=1, ddof=1) / topics], [topics - 1]
    for side in (first, second):
        if (runs := side.shape[1]) > 1:
            terms.append(side.mean(axis=2).var(axis=1, ddof=1) / runs)
            dfs.append(runs - 1)
    variance = np.array(terms)
    quantiles = np.array([stdtrit(df, 1 - ALPHA / tests / 2) for df in dfs])
    critical = (variance * quantiles[:, None]).sum(axis=0) / variance.sum(axis=0)
    return np.abs(gap.mean(axis=1)) >= critical * np.sqrt(variance.sum(axis=0))


def any_claim(design: str, topics: int, runs: int, sd: float, samples: int = SAMPLES) -> float:
    """The share of experiments with a false claim, corrected by Holm (its first step)."""
    rng, found, step = np.random.default_rng(topics + runs), 0, max(1, 2_000_000 // (topics * 33))
    for start in range(0, samples, step):
        count = min(step, samples - start)
        systems = {"four against one": 5, "ten against one": 11, "all pairs of five": 5}[design]
        scores = drawn(rng, (count, systems, runs), topics, sd)
        sides = [scores[:, system] for system in range(systems)]
        if design.endswith("one"):  # which does not vary: one run
            base = rng.normal(0, 0.4, (count, 1, topics)) + rng.normal(0, 0.6, (count, 1, topics))
            pairs = [(side, base) for side in sides[1:]]
        else:
            pairs = list(combinations(sides, 2))
        rejected = [claims(*pair, len(pairs)) for pair in pairs]
        if not start:
            p = two_level(pairs[0][0][0], pairs[0][1][0]).p  # the formula above is the package's
            assert (p <= ALPHA / len(pairs)) == rejected[0][0]
        found += np.any(rejected, axis=0).sum()
    return found / samples


def one_run(
    topics: int, runs: int, sd: float, *, of_baseline: int, samples: int = SAMPLES
) -> float:
    """The share of false claims of a system against a trained baseline with that many runs."""
    rng, found, step = np.random.default_rng(topics), 0, 500
    for _ in range(0, samples, step):
        system = drawn(rng, (step, 1, runs), topics, sd)[:, 0]
        baseline = drawn(rng, (step, 1, of_baseline), topics, sd)[:, 0]
        found += claims(system, baseline, 1).sum()
    return found / samples


DESIGNS = ("four against one", "ten against one", "all pairs of five")
SHOWN = ((20, 3, 0.5), (20, 5, 0.5), (50, 3, 0), (50, 3, 0.5), (50, 5, 0.5), (50, 10, 0.5))
MANY = ((200, 3, 0.5), (1000, 3, 0.1), (1000, 3, 0.2), (1000, 3, 0.5), (1000, 5, 0.5))
EVERY = tuple(
    (topics, runs, sd)
    for topics in (20, 50, 200, 1000)
    for runs in (3, 5, 10)
    for sd in (0, 0.02, 0.05, 0.1, 0.2, 0.5)
)


if __name__ == "__main__":
    print("any false claim, Holm: topics, runs, their sd: " + ", ".join(DESIGNS))
    largest = dict.fromkeys(DESIGNS, 0.0)
    for setting in EVERY if "--all" in sys.argv else (*SHOWN, *MANY):
        rates = [any_claim(design, *setting) for design in DESIGNS]
        largest = {name: max(largest[name], one) for name, one in zip(DESIGNS, rates, strict=True)}
        print(*setting, *(f"{rate:.3f}" for rate in rates), flush=True)
    print("largest:", *(f"{rate:.3f}" for rate in largest.values()))
    print("a trained baseline of 50 topics: sd, runs of system and baseline, false claims")
    for sd in (0.05, 0.1, 0.2):
        for runs, of_baseline in ((1, 1), (5, 1), (5, 5)):
            rate = one_run(50, runs, sd, of_baseline)
            print(sd, runs, of_baseline, f"{rate:.3f}", flush=True)
