"""Average precision of recovered terms, against all orders and by hand."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.deepct.examples import Example
from adducir.deepct.recovery import (
    average_precisions,
    by_tf_idf,
    constant,
    expected_average_precision,
    recovery,
)


def plain(hits):
    found = [sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit]
    return sum(found) / len(found)


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6))
def test_ties_count_as_the_mean_over_all_orders(items):
    weights = np.array([weight for weight, _ in items], dtype=float)
    relevant = np.array([hit for _, hit in items])
    if not relevant.any():
        return
    orders = [
        plain([relevant[i] for i in order])
        for order in permutations(range(len(items)))
        if all(weights[a] >= weights[b] for a, b in pairwise(order))
    ]
    assert expected_average_precision(weights, relevant) == pytest.approx(np.mean(orders))


def example(docno, text, targets, stops=()):
    count = len(text.split())
    is_stop = tuple(i in stops for i in range(count))
    return Example(docno, 0, text, tuple(float(t) for t in targets), is_stop, docno)


def test_stop_words_are_left_out_and_passages_without_terms_too():
    examples = [
        example("a", "the cat ran", [0, 1, 0], stops=[0]),
        example("b", "a dog", [0, 0]),
    ]
    values = average_precisions(examples, lambda _: [np.array([9.0, 1, 2]), np.array([1.0, 2])])
    assert values[0] == 0.5
    assert np.isnan(values[1])
    found = recovery("x", examples, values)
    assert (found.mean, found.passages, found.documents) == (0.5, 1, 1)


def test_constant_weights_get_what_chance_gets():
    (value,) = average_precisions([example("a", "a b c", [1, 0, 0])], constant)
    assert value == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


def test_tf_idf_prefers_what_is_frequent_here_and_rare_elsewhere():
    training = [example(str(n), "common words here", [0, 0, 0]) for n in range(5)]
    (weights,) = by_tf_idf(training)([example("x", "common rare rare", [0, 1, 1])])
    assert weights[1] == weights[2] > weights[0] * 10


def test_the_interval_draws_documents():
    examples = [example(str(n // 10), "a b", [1, 0]) for n in range(100)]
    values = np.repeat([0.0, 1.0] * 5, 10)
    wide = recovery("x", examples, values)
    apart = [e._replace(docno=str(i)) for i, e in enumerate(examples)]
    narrow = recovery("x", apart, values)
    assert wide.mean == narrow.mean == 0.5
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
