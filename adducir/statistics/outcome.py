"""What a paired test reports, and how a p-value is printed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TestResult:
    """What one paired test of two systems found.

    Attributes:
        test: Name of the test.
        statistic: t (t); mean difference (randomisation); the smaller sum
            of ranks (wilcoxon); the number of wins (sign). Positive t or mean: the
            first system is better.
        p: Two-sided, in (0, 1].
        n: Number of topics.
        used: Number of topics that the test used: without ties for wilcoxon and sign.
        method: ``exact``, ``Student``, ``normal``, ``Monte Carlo``, ``two-level`` or
            ``refused`` (p is 1).
        resamples: Number of sign vectors or samples drawn; None where nothing is drawn.
        seed: Seed of the draw; None where nothing is drawn.
        degenerate: The differences are one non-zero constant; see
            :mod:`adducir.statistics.paired`.
    """

    __test__ = False  # not a test case, whatever pytest thinks of the name

    test: str
    statistic: float
    p: float
    n: int
    used: int
    method: str
    resamples: int | None = None
    seed: int | None = None
    degenerate: bool = False


def printed_p(p: float) -> str:
    """``p = 0.0123``, or ``p < .001``: no p-value is printed as 0."""
    return "p < .001" if p < 0.001 else f"p = {p:.3g}"
