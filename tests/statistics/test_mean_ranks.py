"""Mean ranks against scipy and Demšar's table, groups against enumeration."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from adducir.statistics.mean_ranks import groups, mean_ranks

RNG = np.random.default_rng(3)


def scores(systems: int, topics: int, *, tied: bool) -> np.ndarray:
    values = np.linspace(0, 0.3, systems)[:, None] + RNG.normal(0.4, 0.15, (systems, topics))
    return np.round(values, 1) if tied else values


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("systems", "topics"), [(3, 4), (5, 30), (12, 9)])
def test_ranks_are_scipys(systems: int, topics: int, tied: bool) -> None:
    values = scores(systems, topics, tied=tied)
    found = mean_ranks(values)
    ranks = np.mean([stats.rankdata(-column) for column in values.T], axis=0)
    assert found == pytest.approx(ranks)
    turned = mean_ranks(values, lower_is_better=True)
    assert turned == pytest.approx(systems + 1 - ranks)


DEMSAR = """.763 .599 .954 .628 .882 .936 .661 .583 .775 1.000 .940 .619 .972 .957
.768 .591 .971 .661 .888 .931 .668 .583 .838 1.000 .962 .666 .981 .978
.771 .590 .968 .654 .886 .916 .609 .563 .866 1.000 .965 .614 .9751 .946
.798 .569 .967 .657 .898 .931 .685 .625 .875 1.000 .962 .669 .975 .970"""
"""Table 6 of Demšar (2006): AUC of C4.5 and three variants on 14 data sets."""


def test_demsars_example() -> None:
    values = np.array([float(text) for text in DEMSAR.split()]).reshape(4, 14)
    assert mean_ranks(values) == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=6e-4)


def test_rounding_noise_makes_no_order() -> None:
    values = np.array([[0.1 + 0.2, 0.5, 0.7], [0.3, 0.5, 0.7], [0.3, 0.5, 0.7 + 1e-16]])
    assert mean_ranks(values).tolist() == [2, 2, 2]


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
