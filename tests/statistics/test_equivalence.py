"""Equivalence where topics are few or scores sparse: refusals, error rates."""

from collections.abc import Callable

import numpy as np
import pytest

from adducir.core.errors import UsageError
from adducir.evaluation.measures import parse_measures
from adducir.evaluation.scores import Scores
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.comparison.statements import statements
from adducir.statistics.equivalence import tost, tost_rows
from adducir.tables.builder import build_table
from adducir.tables.formats.layout import legend


def test_an_unknown_test_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown equivalence test"):
        tost([0.1, 0.2], [0.2, 0.3], 0.1, test="u")  # type: ignore[arg-type]


@pytest.mark.parametrize("differing", [0, 14, 15])
def test_equivalence_takes_fifteen_topics_that_differ(differing: int) -> None:
    rng = np.random.default_rng(differing)
    first = rng.random(200)
    second = first + np.r_[rng.normal(0, 0.01, differing), np.zeros(200 - differing)]
    found = tost(first, second, 0.1)
    assert (found.method, found.differing) == ("hall" if differing == 15 else "refused", differing)
    assert (found.p < 0.05) == (differing == 15)
    assert found.p == 1.0 or differing == 15


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


@pytest.mark.parametrize("case", BOUNDARY)
def test_the_rate_of_false_equivalence(case: str) -> None:
    draw, topics, delta = BOUNDARY[case]
    difference = draw(np.random.default_rng(0), 3_000, topics)
    zeros = np.zeros_like(difference)
    rates = {
        test: np.mean([one.p < 0.05 for one in tost_rows(difference, zeros, delta, test=test)])
        for test in ("hall", "t")
    }
    print(f"{case}: {rates['hall']:.3f} ({rates['t']:.3f} by t)")
    assert rates["hall"] < 0.05 + (0.04 if "20 topics" in case else 0.02)
