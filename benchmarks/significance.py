"""Significance tests of many systems, against scipy, ranx and arch.

First all pairs of 50 systems over 1,000 topics. Paired t: Adducir against a loop over
scipy.stats.ttest_rel, and against one call of it on all pairs stacked. Randomisation with 100,000
permutations: Adducir for all 1,225 pairs and for one pair, scipy.stats.permutation_test and ranx's
Fisher test for one pair. ranx is left out, and named, where it is not installed.

Then 28 systems on 50 topics. max-T (Westfall and Young) of all pairs with 100,000 sign vectors,
against scipy.stats.permutation_test and ranx's Fisher test on each pair by itself with as many:
these give no correction, and are timed on some of the pairs and scaled to all. The model
confidence set with 100,000 samples against arch.bootstrap.MCS, which is timed with fewer and
scaled, for it holds all pairs of all samples in memory.

One process, taken in turn; figures are checked against each other before any time is reported.

    python benchmarks/significance.py [--permutations 100000] [--rounds 5] [--cpu]

With --cpu, processor time in place of elapsed time, for a machine that others use as well.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable

import numpy as np
from arch.bootstrap import MCS
from scipy import stats

from adducir.evaluation.scores import Scores
from adducir.statistics.comparison import compare
from adducir.statistics.corrections import MaxT, confidence_sets
from adducir.statistics.settings import PairFamily
from adducir.statistics.tests import Randomisation, StudentT

Clock = Callable[[], float]
PAIRS_TIMED = 4
SAMPLES_TIMED = 4_000


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


def family_of(values: np.ndarray) -> PairFamily:
    first, second = np.triu_indices(len(values), 1)
    return PairFamily(np.ones(first.size), values, first, second)


def archs(values: np.ndarray, samples: int) -> np.ndarray:
    """The p-values of arch's model confidence set, in the order of the systems."""
    found = MCS(1 - values.T, 0.05, reps=samples, block_size=1, bootstrap="circular", seed=1)
    found.compute()
    return found.pvalues["Pvalue"].sort_index().to_numpy()


def scaled(
    title: str, call: Callable[[], object], factor: float, ours: float, clock: Clock
) -> None:
    """Time a part of a peer's work once and print what all of it takes."""
    seconds = timed(call, clock) * factor
    print(f"  {title:<46} {seconds * 1000:>10.1f} ms {seconds / ours:>8.1f} x (scaled)")


def paired(drawn: int, rounds: int, clock: Clock) -> None:
    """Tests of each pair by itself."""
    values = synthetic(50, 1000)
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
        f"\nPaired t, {pairs}, 1,000 topics",
        rounds,
        {
            "adducir": lambda: student.pairs(values, i, j),
            "scipy.stats.ttest_rel, stacked": lambda: stacked(values),
            "scipy.stats.ttest_rel, loop": lambda: loop(values),
        },
        clock,
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
        f"\nRandomisation, {drawn:,} permutations, 1,000 topics",
        rounds,
        {
            f"adducir, ALL {pairs}": lambda: drawing.pairs(values, i, j),
            **one,
        },
        clock,
    )
    qids = tuple(str(topic) for topic in range(1000))
    systems = [Scores.of(f"s{k}", qids, ("AP",), row[:, None]) for k, row in enumerate(values)]
    show_times(
        "\nA whole comparison of the systems with effects, intervals and equivalence",
        rounds,
        {
            "against one baseline, t": lambda: compare(systems, baseline="s0", equivalence=0.1),
            "all pairs, t": lambda: compare(systems, comparisons="all-pairs"),
            "all pairs, randomisation": lambda: compare(
                systems, comparisons="all-pairs", test="randomisation", permutations=drawn
            ),
        },
        clock,
    )


def resampled(drawn: int, rounds: int, clock: Clock) -> None:
    """Procedures over all pairs at once."""
    values = synthetic(28, 50)
    family = family_of(values)
    pairs = family.first.size
    corrected = MaxT(permutations=drawn).of_pairs(family)
    alone = Randomisation(permutations=drawn).pairs(values, family.first, family.second)[1]
    if (corrected < alone - 5 * np.sqrt(alone / drawn) - 5 / drawn).any():
        raise SystemExit("max-T is below the uncorrected p: no times")
    ours = confidence_sets(values[None], [False], samples=drawn)[0]
    theirs = archs(values, SAMPLES_TIMED)
    if np.abs(ours - theirs).max() > 5 * 0.5 / SAMPLES_TIMED**0.5 + 0.02:
        raise SystemExit("the confidence sets disagree: no times")

    def max_t() -> object:
        return MaxT(permutations=drawn).of_pairs(family)

    def confidence_set() -> object:
        return confidence_sets(values[None], [False], samples=drawn)

    some = [(values[i], values[i + 1]) for i in range(PAIRS_TIMED)]
    title = f"\nmax-T, {pairs} pairs, {drawn:,} sign vectors"
    median = show_times(title, rounds, {"adducir": max_t}, clock)
    scaled(
        "scipy.stats.permutation_test, uncorrected",
        lambda: [scipy_randomisation(a, b, drawn) for a, b in some],
        pairs / PAIRS_TIMED,
        median,
        clock,
    )
    if ranx := ranx_randomisation(drawn):
        scaled(
            "ranx fisher_randomization_test, uncorrected",
            lambda: [ranx(a, b) for a, b in some],
            pairs / PAIRS_TIMED,
            median,
            clock,
        )
    else:
        print("  ranx is not installed: left out")
    title = f"\nConfidence set, {drawn:,} samples"
    median = show_times(title, rounds, {"adducir": confidence_set}, clock)
    factor = drawn / SAMPLES_TIMED
    scaled("arch.bootstrap.MCS", lambda: archs(values, SAMPLES_TIMED), factor, median, clock)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--permutations", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    clock = time.process_time if options.cpu else time.perf_counter
    paired(options.permutations, options.rounds, clock)
    resampled(options.permutations, options.rounds, clock)


if __name__ == "__main__":
    main()
