"""Windows that reach the top at every depth, and answers that are repaired."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.rerankers.windows import repaired, windows


@pytest.mark.parametrize(("size", "stride"), [(20, 10), (20, 20), (7, 3), (1, 1), (100, 100)])
def test_every_depth_is_seen_and_the_top_is_reached(size, stride):
    for count in range(1, 201):
        found = windows(count, size, stride)
        assert found[0][1] == count
        assert found[-1][0] == 0
        assert set().union(*(range(*one) for one in found)) == set(range(count))
        assert all(0 <= first < end and end - first <= size for first, end in found)
        for (first, end), (above, above_end) in itertools.pairwise(found):
            assert (above < first, above_end) == (True, end - stride)


@pytest.mark.parametrize("count", [1, 19, 20, 21, 29, 30, 31, 95, 100, 200])
def test_the_best_text_rises_from_anywhere_to_the_top(count):
    for place in range(count):
        order = np.arange(count)
        for first, end in windows(count, 20, 10):
            inside = order[first:end]
            order[first:end] = inside[np.argsort(inside != place, kind="stable")]
        assert order[0] == place


def test_the_ten_best_rise_together():
    for count in range(10, 201):
        wanted = set(range(count - 10, count))
        order = np.arange(count)
        for first, end in windows(count, 20, 10):
            inside = order[first:end]
            order[first:end] = inside[np.argsort([n not in wanted for n in inside], kind="stable")]
        assert set(order[:10].tolist()) == wanted


def test_windows_by_hand():
    assert windows(0, 20, 10) == []
    assert windows(5, 20, 10) == [(0, 5)]
    assert windows(20, 20, 10) == [(0, 20)]
    assert windows(25, 20, 10) == [(5, 25), (0, 15)]
    assert windows(40, 20, 10) == [(20, 40), (10, 30), (0, 20)]


@pytest.mark.parametrize(
    ("answer", "order"),
    [
        ("3 > 1 > 2", [2, 0, 1]),
        ("[2] > [2] > [1]", [1, 0, 2]),
        ("", [0, 1, 2]),
        ("nothing", [0, 1, 2]),
        ("9 0 3", [2, 0, 1]),
        ("99999999999999999999999 2", [1, 0, 2]),
        ("the 2nd, then ³ and ٣", [1, 0, 2]),
    ],
)
def test_answers_are_repaired(answer, order):
    assert repaired(answer, 3).tolist() == order


@given(st.text(), st.integers(0, 30))
def test_whatever_is_written_an_order_comes_out(answer, count):
    assert sorted(repaired(answer, count).tolist()) == list(range(count))
