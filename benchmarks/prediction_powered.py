"""How often prediction-powered intervals of 95% cover the mean: ours, and ppi_py's normal ones.

    python benchmarks/prediction_powered.py

Values of topics that humans judged (n) and that the model judged alone (N): normal, or beta (.3,
2.7), as skewed as AP; the model's agree with correlation .9 (rank correlation for beta) and are
biased. docs/statistics.md quotes the lines.
"""

import numpy as np
from ppi_py import ppi_mean_ci
from scipy import stats

from adducir.statistics.prediction_powered import powered_mean

SAMPLES = 10_000


def coverage(kind: str, humans: int, others: int, samples: int = SAMPLES) -> tuple[float, float]:
    """Shares of our and of ppi_py's intervals that cover the true mean."""
    rng, ours, theirs = np.random.default_rng(humans), 0, 0
    mean = 0.0 if kind == "normal" else 0.1
    for _ in range(samples):
        y = rng.normal(size=humans + others)
        hat = 0.9 * y + np.sqrt(1 - 0.9**2) * rng.normal(size=y.size)
        if kind == "beta":
            y, hat = (stats.beta.ppf(stats.norm.cdf(one), 0.3, 2.7) for one in (y, hat))
        hat += 0.3
        parts = y[:humans], hat[:humans], hat[humans:]
        found = powered_mean(*parts)
        low, high = ppi_mean_ci(*parts, alpha=0.05)
        ours += found.low <= mean <= found.high
        theirs += bool(low <= mean <= high)
    return ours / samples, theirs / samples


if __name__ == "__main__":
    for kind in ("normal", "beta"):
        for humans in (10, 20, 30, 50):
            ours, theirs = coverage(kind, humans, 5 * humans)
            print(
                f"{kind:7} n = {humans:3}: Student's t {ours:.3f}, ppi_py {theirs:.3f}", flush=True
            )
