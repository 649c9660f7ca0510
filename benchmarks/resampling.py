"""max-T and the model confidence set of many systems, against scipy, ranx and arch.

max-T (Westfall and Young) of all pairs of 28 systems on 50 topics with 100,000 sign vectors,
against scipy.stats.permutation_test and ranx's Fisher test on each pair by itself with as many:
these give no correction, and are timed on some of the pairs and scaled to all. The model
confidence set with 100,000 samples against arch.bootstrap.MCS, which is timed with fewer and
scaled, for it holds all pairs of all samples in memory. ranx is
left out, and named, where it is not installed. One process, taken in turn; figures are checked
against each other before any time is reported.

    python benchmarks/resampling.py [--systems 28] [--topics 50] [--samples 100000] [--cpu]

With --cpu, processor time in place of elapsed time, for a machine that others use as well.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from arch.bootstrap import MCS
from significance import ranx_randomisation, scipy_randomisation, show_times, synthetic, timed

from adducir.statistics.corrections import MaxT, confidence_sets
from adducir.statistics.settings import PairFamily
from adducir.statistics.tests import Randomisation

PAIRS_TIMED = 4
SAMPLES_TIMED = 4_000


def family_of(values: np.ndarray) -> PairFamily:
    first, second = np.triu_indices(len(values), 1)
    return PairFamily(np.ones(first.size), values, first, second)


def archs(values: np.ndarray, samples: int) -> np.ndarray:
    """The p-values of arch's model confidence set, in the order of the systems."""
    found = MCS(1 - values.T, 0.05, reps=samples, block_size=1, bootstrap="circular", seed=1)
    found.compute()
    return found.pvalues["Pvalue"].sort_index().to_numpy()


Clock = Callable[[], float]


def scaled(
    title: str, call: Callable[[], object], factor: float, ours: float, clock: Clock
) -> None:
    """Time a part of a peer's work once and print what all of it takes."""
    seconds = timed(call, clock) * factor
    print(f"  {title:<46} {seconds * 1000:>10.1f} ms {seconds / ours:>8.1f} x (scaled)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--systems", type=int, default=28)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    clock = time.process_time if options.cpu else time.perf_counter
    values, drawn = synthetic(options.systems, options.topics), options.samples
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
    median = show_times(title, options.rounds, {"adducir": max_t}, clock)
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
    median = show_times(title, options.rounds, {"adducir": confidence_set}, clock)
    factor = drawn / SAMPLES_TIMED
    scaled("arch.bootstrap.MCS", lambda: archs(values, SAMPLES_TIMED), factor, median, clock)


if __name__ == "__main__":
    main()
