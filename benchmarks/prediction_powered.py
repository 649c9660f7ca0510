"""How often prediction-powered intervals of 95% cover the mean: ours, and peers' normal ones.

    python benchmarks/prediction_powered.py

The peers are ppi_py and glide (glide-py, for Python 3.12), whichever is installed; glide's means
differ, as its weight of the model divides by n - 1 and is not limited to 1.

Values of topics that humans judged (n) and that the model judged alone (N): normal, or beta (.3,
2.7), as skewed as AP; the model's agree with correlation .9 (rank correlation for beta) and are
biased. docs/statistics.md quotes the lines.
"""

from collections import Counter
from contextlib import suppress

import numpy as np
from scipy import stats

from adducir.statistics.prediction_powered import powered_mean

SAMPLES = 10_000


PEERS = {}
with suppress(ImportError):
    from ppi_py import ppi_mean_ci

    PEERS["ppi_py"] = lambda y, hat, alone: ppi_mean_ci(y, hat, alone, alpha=0.05)
with suppress(ImportError):
    from glide.estimators import PPIMeanEstimator

    def _glide(y, hat, alone):
        judged = np.concatenate([y, np.full(alone.size, np.nan)])
        interval = PPIMeanEstimator().estimate(judged, np.concatenate([hat, alone]))
        return interval.confidence_interval.lower_bound, interval.confidence_interval.upper_bound

    PEERS["glide"] = _glide


def coverage(kind: str, humans: int, others: int, samples: int = SAMPLES) -> str:
    """Shares of our and of the peers' intervals that cover the true mean, and their mean widths."""
    rng, covered, widths = np.random.default_rng(humans), Counter[str](), Counter[str]()
    mean, differ = 0.0 if kind == "normal" else 0.1, Counter[str]()
    for _ in range(samples):
        y = rng.normal(size=humans + others)
        hat = 0.9 * y + np.sqrt(1 - 0.9**2) * rng.normal(size=y.size)
        if kind == "beta":
            y, hat = (stats.beta.ppf(stats.norm.cdf(one), 0.3, 2.7) for one in (y, hat))
        hat += 0.3
        parts = y[:humans], hat[:humans], hat[humans:]
        powered = powered_mean(*parts)
        intervals = {
            name: tuple(map(float, np.ravel(peer(*parts)))) for name, peer in PEERS.items()
        }
        for name, (low, high) in {"ours": (powered.low, powered.high), **intervals}.items():
            covered[name] += low <= mean <= high
            widths[name] += high - low
            differ[name] = max(differ[name], abs((low + high) / 2 - powered.mean))
    return ", ".join(
        f"{name} {covered[name] / samples:.3f}, {widths[name] / samples:.3f} wide, "
        f"means within {differ[name]:.1e}"
        for name in covered
    )


if __name__ == "__main__":
    for kind in ("normal", "beta"):
        for humans in (10, 20, 30, 50):
            print(f"{kind:7} n = {humans:3}: {coverage(kind, humans, 5 * humans)}", flush=True)
