"""The order of a run, and the breaking of its ties."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import UsageError
from adducir.runs.run import ordered, strictly_decreasing

FINITE = st.floats(allow_nan=False, allow_infinity=False)
# Few values, so that ties are frequent, and many, so that nothing is special about these.
SCORES = st.lists(
    st.one_of(st.sampled_from([0.0, -0.0, 22.0874, 80.3, 200.2, 1e-45, -3.4e38, 1e39]), FINITE),
    max_size=60,
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.text("xyzé𐀀", max_size=3),
        st.sampled_from([0.0, -0.0, 1.5, -2.0]),
    ),
    max_size=30,
)


def frame_of(rows):
    return pl.DataFrame(
        rows, schema={"qid": pl.String, "docno": pl.String, "score": pl.Float64}, orient="row"
    )


def strictly_falls(values):
    values = np.asarray(values)
    return bool((values[1:] < values[:-1]).all())


def singles(values):
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(np.float32)


def places_on_the_line_of_floats(values):
    bits = singles(values).view(np.int32).astype(np.int64)
    return np.where(bits >= 0, bits, -(2**31) - bits)


def test_the_first_of_a_group_of_ties_keeps_its_score_to_the_last_bit():
    assert strictly_decreasing(np.array([80.3, 80.3]))[0] == 80.3


@given(SCORES)
def test_breaking_ties_makes_scores_fall_in_both_precisions_and_does_it_once(scores):
    broken = strictly_decreasing(np.sort(np.array(scores))[::-1])
    assert strictly_falls(broken)
    assert strictly_falls(singles(broken))
    assert np.isfinite(singles(broken)).all()
    np.testing.assert_array_equal(strictly_decreasing(broken), broken)


@given(
    st.lists(st.one_of(st.sampled_from([0.0, 22.0874, 80.3]), st.floats(-1e30, 1e30)), max_size=60)
)
def test_a_score_moves_by_no_more_floats_than_there_are_ties(scores):
    given_scores = np.sort(np.array(scores))[::-1]
    places = places_on_the_line_of_floats(given_scores)
    moved = places - places_on_the_line_of_floats(strictly_decreasing(given_scores))
    assert (moved >= 0).all()
    assert moved.max(initial=0) <= np.count_nonzero(np.diff(places) == 0)


@given(st.lists(SCORES, max_size=6))
def test_many_topics_at_once_are_as_one_after_the_other(topics):
    each = [np.sort(np.array(scores, dtype=float))[::-1] for scores in topics]
    numbers = np.repeat(np.arange(len(each)), [len(scores) for scores in each])
    together = strictly_decreasing(np.concatenate([[], *each]), numbers)
    apart = np.concatenate([[], *map(strictly_decreasing, each)])
    np.testing.assert_array_equal(together, apart)


@pytest.mark.parametrize("scores", [[1.0, 2.0], [np.nan], [np.inf, 1.0], [1.0, -np.inf]])
def test_scores_that_rise_or_are_not_finite_are_refused(scores):
    with pytest.raises(UsageError):
        strictly_decreasing(np.array(scores))


def test_trec_eval_puts_the_larger_docno_of_a_tie_first_and_anserini_the_smaller():
    frame = frame_of([("1", "b", 1.0), ("1", "c", 1.0), ("1", "a", 1.0), ("1", "d", 2.0)])
    assert ordered(frame, ties="descending")["docno"].to_list() == ["d", "c", "b", "a"]
    assert ordered(frame, ties="ascending")["docno"].to_list() == ["d", "a", "b", "c"]
    assert frame["docno"].to_list() == ["b", "c", "a", "d"]  # the given frame is left alone


@given(ROWS, st.booleans())
def test_ordering_agrees_with_a_plain_sort(rows, descending):
    first = {qid: place for place, (qid, _, _) in reversed(list(enumerate(rows)))}
    by_docno = sorted(rows, key=lambda row: row[1].encode(), reverse=descending)
    expected = sorted(by_docno, key=lambda row: (first[row[0]], -row[2]))
    found = ordered(frame_of(rows), ties="descending" if descending else "ascending").rows()
    assert [(qid, docno) for qid, docno, _ in found] == [row[:2] for row in expected]
