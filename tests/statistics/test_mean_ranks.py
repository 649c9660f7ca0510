"""Mean ranks against scipy and enumeration, Nemenyi's difference against Demšar's table."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from adducir.core.errors import UsageError
from adducir.statistics.mean_ranks import groups, mean_ranks

RNG = np.random.default_rng(3)


def scores(systems: int, topics: int, *, tied: bool) -> np.ndarray:
    values = np.linspace(0, 0.3, systems)[:, None] + RNG.normal(0.4, 0.15, (systems, topics))
    return np.round(values, 1) if tied else values


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("systems", "topics"), [(3, 4), (5, 30), (12, 9)])
def test_ranks_and_friedman_are_scipys(systems: int, topics: int, tied: bool) -> None:
    values = scores(systems, topics, tied=tied)
    found = mean_ranks(values)
    ranks = np.mean([stats.rankdata(-column) for column in values.T], axis=0)
    assert found.mean == pytest.approx(ranks)
    wanted = stats.friedmanchisquare(*values)
    assert found.statistic == pytest.approx(wanted.statistic)
    assert found.p == pytest.approx(wanted.pvalue)
    turned = mean_ranks(values, lower_is_better=True)
    assert turned.mean == pytest.approx(systems + 1 - ranks)
    assert turned.statistic == pytest.approx(found.statistic)


@pytest.mark.parametrize(
    ("systems", "alpha", "wanted"),
    # Table 5 of Demšar (2006).
    [(2, 0.05, 1.960), (5, 0.05, 2.728), (10, 0.05, 3.164), (2, 0.1, 1.645), (10, 0.1, 2.920)],
)
def test_the_critical_difference_is_of_demsars_table(systems, alpha, wanted) -> None:
    found = mean_ranks(scores(systems, 20, tied=False), alpha=alpha)
    q = found.difference / np.sqrt(systems * (systems + 1) / (6 * 20))
    assert q == pytest.approx(wanted, abs=6e-4)
    own = stats.studentized_range.ppf(1 - alpha, systems, np.inf) / np.sqrt(2)
    assert q == pytest.approx(own)


DEMSAR = """.763 .599 .954 .628 .882 .936 .661 .583 .775 1.000 .940 .619 .972 .957
.768 .591 .971 .661 .888 .931 .668 .583 .838 1.000 .962 .666 .981 .978
.771 .590 .968 .654 .886 .916 .609 .563 .866 1.000 .965 .614 .9751 .946
.798 .569 .967 .657 .898 .931 .685 .625 .875 1.000 .962 .669 .975 .970"""
"""Table 6 of Demšar (2006): AUC of C4.5 and three variants on 14 data sets."""


def test_demsars_example() -> None:
    values = np.array([float(text) for text in DEMSAR.split()]).reshape(4, 14)
    found = mean_ranks(values)
    assert found.mean == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=6e-4)
    assert found.difference == pytest.approx(1.25, abs=6e-3)
    ranked = np.array([3.143, 2.000, 2.893, 1.964])
    chi = 12 * 14 / 20 * (np.square(ranked).sum() - 25)  # without correction for ties
    assert chi == pytest.approx(9.28, abs=0.02)
    assert found.statistic >= chi - 0.02


def test_rounding_noise_makes_no_order_and_equal_systems_no_difference() -> None:
    values = np.array([[0.1 + 0.2, 0.5, 0.7], [0.3, 0.5, 0.7], [0.3, 0.5, 0.7 + 1e-16]])
    found = mean_ranks(values)
    assert found.mean.tolist() == [2, 2, 2]
    assert (found.statistic, found.p) == (0, 1)
    assert found.joined.all()


def test_without_a_difference_by_friedman_all_are_joined() -> None:
    values = scores(6, 5, tied=False)
    found = mean_ranks(values)
    strict = mean_ranks(values, alpha=found.p / 2)
    assert strict.joined.all()
    lax = mean_ranks(values, alpha=min(0.99, found.p * 1.5))
    gap = np.abs(lax.mean[:, None] - lax.mean[None, :])
    assert (lax.joined == (gap < lax.difference)).all()


@pytest.mark.parametrize(("values", "alpha"), [([[1.0, 2.0]], 0.05), ([[1, 2], [2, 1]], 1.5)])
def test_what_cannot_be_ranked_is_refused(values, alpha) -> None:
    with pytest.raises(UsageError):
        mean_ranks(values, alpha=alpha)


def cliques(joined: np.ndarray) -> set[tuple[int, ...]]:
    """All largest sets of two or more systems that are joined with each other."""
    every = [
        members
        for size in range(2, len(joined) + 1)
        for members in combinations(range(len(joined)), size)
        if all(joined[pair] for pair in combinations(members, 2))
    ]
    return {one for one in every if not any(set(one) < set(other) for other in every)}


@pytest.mark.parametrize("seed", range(30))
def test_groups_by_a_distance_are_all_the_cliques(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ranks = np.sort(np.round(rng.uniform(1, 9, 9), rng.integers(0, 3)))
    joined = np.abs(ranks[:, None] - ranks[None, :]) < rng.uniform(0.2, 5)
    found = groups(joined)
    assert {tuple(one) for one in found} == cliques(joined)
    assert len(found) == len(cliques(joined))


@pytest.mark.parametrize("seed", range(30))
def test_two_systems_share_a_group_exactly_where_they_are_joined(seed: int) -> None:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((8, 8)) < rng.uniform(0.1, 0.9), 1)
    joined = upper | upper.T
    found = groups(joined)
    shared = np.zeros_like(joined)
    for one in found:
        shared[np.ix_(one, one)] = True
    np.fill_diagonal(shared, False)
    assert (shared == joined).all()
    assert {tuple(one) for one in found} <= cliques(joined)
