"""Equivalence where topics are few or scores sparse: exact p-values, refusals, error rates."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from adducir.core.errors import UsageError
from adducir.evaluation.measures import parse_measures
from adducir.evaluation.scores import Scores
from adducir.statistics.bounded import mean_below
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.comparison.statements import statements
from adducir.statistics.equivalence import tost, tost_rows
from adducir.tables.builder import build_table
from adducir.tables.formats.layout import legend


@pytest.mark.parametrize(
    ("n", "k", "mean"), [(2, 0, 0.1), (20, 3, 0.3), (200, 10, 0.1), (9, 9, 0.5)]
)
def test_the_mean_of_zeros_and_ones_has_the_binomial_p(n: int, k: int, mean: float) -> None:
    values = np.r_[np.ones(k), np.zeros(n - k)]
    assert mean_below(values, mean, 1.0) == pytest.approx(stats.binom.cdf(k, n, mean), rel=1e-9)


@pytest.mark.parametrize("n", [1, 3, 12, 60])
def test_the_bounded_mean_is_its_definition(n: int) -> None:
    rng = np.random.default_rng(n)
    values = rng.normal(0, 0.15, n).clip(-1, 1)
    shares = rng.dirichlet(np.ones(n + 1), 200_000)
    expected = (shares @ np.append(values, 1.0) >= 0.1).mean()
    assert mean_below(values, 0.1, 1.0) == pytest.approx(expected, abs=5 * 0.5 / 200_000**0.5)


def test_what_cannot_be_tested_is_refused() -> None:
    with pytest.raises(UsageError, match="up to 1"):
        mean_below(np.array([0.1, 1.2]), 0.5, 1.0)
    with pytest.raises(UsageError, match="unknown equivalence test"):
        tost([0.1, 0.2], [0.2, 0.3], 0.1, test="u")  # type: ignore[arg-type]


def test_identical_scores_need_topics_to_be_equivalent() -> None:
    for topics, equivalent in ((5, False), (28, False), (29, True)):
        same = np.ones(topics)
        assert (tost(same, same, 0.1).p < 0.05) is equivalent
        assert tost(same, same, 0.1).method == "exact"


def test_other_scales_have_no_exact_test() -> None:
    ranks = np.array([1.0, 5.0, 9.0])
    found = tost(ranks, ranks, 0.5)
    assert (found.p, found.method) == (1.0, "refused")
    ones = np.ones(300)
    assert tost(ones, ones, 0.1, unit=False).method == "refused"  # all ranks are 1
    assert tost(ones, ones, 1.0).method == "refused"  # a band as wide as the measure
    rng = np.random.default_rng(1)
    many = rng.integers(1, 9, (2, 400)).astype(float)
    assert tost(many[0], many[1], 0.9).method == "hall"


def test_skewness_raises_p_and_symmetry_hardly_does() -> None:
    rng = np.random.default_rng(3)
    zeros = np.zeros((200, 40))
    skewed = rng.exponential(0.1, (200, 40))
    for difference, rises in ((skewed, 0.02), (rng.normal(0.1, 0.1, (200, 40)), 0.0)):
        t, hall = (
            np.array([one.p_upper for one in tost_rows(difference, zeros, 0.12, test=test)])
            for test in ("t", "hall")
        )
        assert (hall >= t).all()
        assert (hall - t).mean() == pytest.approx(rises, abs=0.012)


def test_non_inferiority_is_one_side() -> None:
    rng = np.random.default_rng(4)
    base = rng.random(50) / 2
    better = base + 0.2 + rng.normal(0, 0.1, 50)
    assert tost(better, base, 0.1).p > 0.9
    assert tost(better, base, 0.1, side="lower").p < 1e-6
    assert tost(better, base, 0.1, side="upper").p == tost(better, base, 0.1).p_upper
    scores = scores_of(base, better, better - 0.5)
    found = compare(scores, equivalence=0.1, against="a", non_inferiority=True)
    assert [found.cell(name, found.measures[0]).equivalent for name in "bc"] == [True, False]
    text = " ".join(statements(found))
    assert "Not worse than a by 0.1 or more: one-sided paired t-tests adjusted for" in text
    table = build_table(found, scores)
    assert "shown not to be inferior to a." in [text for _, text in legend(table)]
    turned = compare(
        scores, equivalence=0.1, against="a", non_inferiority=True, lower_is_better=found.measures
    )
    assert [turned.cell(name, found.measures[0]).equivalent for name in "bc"] == [False, True]


def scores_of(*values: np.ndarray, measure: str = "AP") -> list[Scores]:
    qids = tuple(map(str, range(len(values[0]))))
    found = tuple(parse_measures(measure))
    return [
        Scores(name, qids, found, one[:, None]) for name, one in zip("abcd", values, strict=False)
    ]


def sparse(gain: float, loss: float) -> Callable[[np.random.Generator, int, int], np.ndarray]:
    """Differences of measures of 0 and 1 whose mean is gain - loss."""
    return lambda rng, k, n: rng.choice([1.0, -1.0, 0.0], (k, n), p=[gain, loss, 1 - gain - loss])


BOUNDARY = {
    "0/1, 20 topics, bound .05": (sparse(0.05, 0.0), 20, 0.05),
    "0/1, 20 topics, bound .02": (sparse(0.02, 0.0), 20, 0.02),
    "0/1, 100 topics, bound .05": (sparse(0.05, 0.0), 100, 0.05),
    "0/1, 100 topics, bound .05, both ways": (sparse(0.10, 0.05), 100, 0.05),
    "0/1, 300 topics, bound .1": (sparse(0.1, 0.0), 300, 0.1),
    "P@5, 50 topics": (lambda rng, k, n: rng.binomial(5, 0.6, (k, n)) / 5 - 0.5, 50, 0.1),
    "normal, 20 topics": (lambda rng, k, n: rng.normal(0.1, 0.1, (k, n)).clip(-0.5, 0.7), 20, 0.1),
    "exponential, 20 topics": (lambda rng, k, n: rng.exponential(0.1, (k, n)), 20, 0.1),
    "exponential, 50 topics": (lambda rng, k, n: rng.exponential(0.1, (k, n)), 50, 0.1),
    "beta, 20 topics": (lambda rng, k, n: rng.beta(0.3, 2.7, (k, n)), 20, 0.1),
}
"""Draws of differences whose true mean is the bound: all that is found equivalent is false."""


@pytest.mark.slow
@pytest.mark.parametrize("case", BOUNDARY)
def test_the_rate_of_false_equivalence(case: str) -> None:
    draw, topics, delta = BOUNDARY[case]
    difference = draw(np.random.default_rng(0), 3_000, topics)
    zeros = np.zeros_like(difference)
    rates = {
        test: np.mean(
            [one.p < 0.05 for one in tost_rows(difference, zeros, delta, test=test, unit=True)]
        )
        for test in ("hall", "t")
    }
    print(f"{case}: {rates['hall']:.3f} ({rates['t']:.3f} by t)")
    assert rates["hall"] < 0.05 + (0.04 if "20 topics" in case else 0.02)
