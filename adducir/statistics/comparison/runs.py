"""What there is not for systems with several runs, and why; importable without numpy or scipy."""

from adducir.statistics.choices import (
    BestName,
    CorrectionName,
    IntervalName,
    TestName,
)
from adducir.statistics.corrections import CORRECTIONS

FOR_RUNS = "Take t-tests with holm, bonferroni, bh or none."
"""What there is for systems with several runs."""


def refused_for_runs(
    *,
    test: TestName,
    correction: CorrectionName,
    interval: IntervalName,
    best: BestName,
    topics_for: float | None,
) -> dict[str, str]:
    """What is asked for and there is not for systems with several runs, and why, by parameter."""
    kind = CORRECTIONS.kind(correction)
    refused = {
        "test": (f"{test} test", "it resamples or ranks topics alone", test != "t"),
        "correction": (
            f"{correction} correction",
            "it goes by topics alone",
            bool(kind.tests),
        ),
        "topics_for": (
            "topic set size design",
            "it counts topics alone",
            topics_for is not None,
        ),
        "best": ("set of systems that may be the best", "it resamples topics alone", best == "set"),
        "interval": (f"{interval} interval", "it resamples topics alone", interval != "t"),
    }
    return {
        name: f"{what} for systems with several runs: {why}, and would take the few runs at hand "
        "for all that a system could have"
        for name, (what, why, is_asked) in refused.items()
        if is_asked
    }
