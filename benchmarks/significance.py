"""Significance tests of all pairs of 50 systems over 1,000 topics, against scipy and ranx.

Paired t: Adducir against a loop over scipy.stats.ttest_rel, and against one call of it on all pairs
stacked. Randomisation with 100,000 permutations: Adducir for all 1,225
pairs and for one pair, scipy.stats.permutation_test and ranx's Fisher test for one pair. ranx is
left out, and named, where it is not installed. All in one process, taken in turn; figures are
checked against each other before any time is reported.

    python benchmarks/significance.py [--systems 50] [--topics 1000] [--permutations 100000]
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy import stats

from adducir.evaluation.scores import Scores
from adducir.statistics.comparison import compare
from adducir.statistics.tests import Randomisation, StudentT


def synthetic(systems: int, topics: int) -> np.ndarray:
    """Scores of systems (S, T) that share the topics' difficulty and differ a little."""
    rng = np.random.default_rng(1)
    better = np.linspace(0, 0.05, systems)[:, None]
    return np.clip(rng.beta(1, 2, topics) + better + rng.normal(0, 0.15, (systems, topics)), 0, 1)


def timed(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    started = clock()
    call()
    return clock() - started


def loop(values: np.ndarray) -> np.ndarray:
    """The p-values of all pairs by a loop over scipy's test."""
    i, j = np.triu_indices(len(values), 1)
    return np.array(
        [stats.ttest_rel(values[a], values[b]).pvalue for a, b in zip(i, j, strict=True)]
    )


def stacked(values: np.ndarray) -> np.ndarray:
    """The p-values of all pairs by one call of scipy's test."""
    i, j = np.triu_indices(len(values), 1)
    return stats.ttest_rel(values[i], values[j], axis=1).pvalue


def mean_difference(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    return np.mean(x - y, axis=axis)


def scipy_randomisation(a: np.ndarray, b: np.ndarray, permutations: int) -> float:
    return stats.permutation_test(
        (a, b),
        mean_difference,
        permutation_type="samples",
        vectorized=True,
        n_resamples=permutations,
        batch=2000,
        rng=np.random.default_rng(1),
    ).pvalue


def ranx_randomisation(permutations: int) -> Callable[[np.ndarray, np.ndarray], float] | None:
    """The Fisher test of ranx, compiled, or None where ranx is not installed."""
    try:
        from ranx.statistical_tests.fisher_randomization_test import fisher_randomization_test
    except ImportError:
        return None
    fisher_randomization_test(np.array([0.1, 0.2]), np.array([0.2, 0.1]), 10)
    return lambda a, b: fisher_randomization_test(a, b, permutations)[0]


def show_times(
    title: str,
    rounds: int,
    peers: dict[str, Callable[[], object]],
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Time each peer in turn, print medians and ratios to the first, and give its median."""
    taken: dict[str, list[float]] = {name: [] for name in peers}
    for _ in range(rounds):
        for name, call in peers.items():
            taken[name].append(timed(call, clock))
    medians = {name: statistics.median(seconds) for name, seconds in taken.items()}
    ours = next(iter(medians.values()))
    print(title)
    for name, seconds in medians.items():
        print(f"  {name:<46} {seconds * 1000:>10.1f} ms {seconds / ours:>8.1f} x")
    return ours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--systems", type=int, default=50)
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--permutations", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    drawn, values = options.permutations, synthetic(options.systems, options.topics)
    a, b = values[0], values[2]
    i, j = np.triu_indices(len(values), 1)
    pairs = f"{i.size:,} pairs"
    ranx = ranx_randomisation(drawn)
    student, drawing = StudentT(), Randomisation(permutations=drawn)
    np.testing.assert_allclose(student.pairs(values, i, j)[1], loop(values), rtol=1e-10)
    single = float(drawing.rows(a[None], b[None])[1][0])
    every = drawing.pairs(values, i, j)[1]
    peers = {"scipy": scipy_randomisation(a, b, drawn)} | ({"ranx": ranx(a, b)} if ranx else {})
    print(f"{os.cpu_count()} cores; p of one pair: adducir {single:.4f}, ", end="")
    print(", ".join(f"{name} {p:.4f}" for name, p in peers.items()))
    error = 5 * np.sqrt(2 * max(single * (1 - single), 1 / drawn) / drawn)
    if single != every[1] or any(abs(p - single) > error for p in peers.values()):
        raise SystemExit("the figures disagree: no times")

    show_times(
        f"\nPaired t, {pairs}, {options.topics:,} topics",
        options.rounds,
        {
            "adducir": lambda: student.pairs(values, i, j),
            "scipy.stats.ttest_rel, stacked": lambda: stacked(values),
            "scipy.stats.ttest_rel, loop": lambda: loop(values),
        },
    )
    one = {
        "adducir, ONE pair": lambda: drawing.rows(a[None], b[None]),
        "scipy.stats.permutation_test, ONE pair": lambda: scipy_randomisation(a, b, drawn),
    }
    if ranx:
        one["ranx fisher_randomization_test, ONE pair"] = lambda: ranx(a, b)
    else:
        print("\nranx is not installed: left out")
    show_times(
        f"\nRandomisation, {drawn:,} permutations, {options.topics:,} topics",
        options.rounds,
        {
            f"adducir, ALL {pairs}": lambda: drawing.pairs(values, i, j),
            **one,
        },
    )
    qids = tuple(str(topic) for topic in range(options.topics))
    systems = [Scores.of(f"s{k}", qids, ("AP",), row[:, None]) for k, row in enumerate(values)]
    show_times(
        "\nA whole comparison of the systems with effects, intervals and equivalence",
        options.rounds,
        {
            "against one baseline, t": lambda: compare(systems, baseline="s0", equivalence=0.1),
            "all pairs, t": lambda: compare(systems, comparisons="all-pairs"),
            "all pairs, randomisation": lambda: compare(
                systems, comparisons="all-pairs", test="randomisation", permutations=drawn
            ),
        },
    )


if __name__ == "__main__":
    main()
