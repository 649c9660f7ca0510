"""MaxSim against a plain loop, with padding that would win if it were zero."""

import numpy as np
import pytest
import torch

from adducir.encoders import maxsim as module
from adducir.encoders.maxsim import MultiVectors, maxsim_packed
from adducir.studies.grounded_generation.hindsight.model import maxsim


def plain(query, document):
    return sum(max(float(q @ d) for d in document) for q in query)


@pytest.fixture
def texts():
    draw = np.random.default_rng(3)

    def some(lengths):
        return [draw.normal(size=(length, 5)).astype(np.float32) for length in lengths]

    return some([1, 4, 2]), some([3, 1, 6, 2, 2])


def padded(parts, fill=7.0):
    longest = max(map(len, parts))
    values = np.full((len(parts), longest, 5), fill, dtype=np.float32)
    mask = np.zeros((len(parts), longest), dtype=bool)
    for row, part in enumerate(parts):
        values[row, : len(part)], mask[row, : len(part)] = part, True
    return torch.from_numpy(values), torch.from_numpy(mask)


def test_all_three_ways_agree_with_a_loop(texts, monkeypatch):
    queries, documents = texts
    wanted = [[plain(q, d) for d in documents] for q in queries]
    (q, q_mask), (d, d_mask) = padded(queries), padded(documents)
    np.testing.assert_allclose(maxsim(q[:, None], d, q_mask[:, None], d_mask), wanted, atol=1e-5)
    pairs = maxsim(q, d[:3], q_mask, d_mask[:3])
    np.testing.assert_allclose(pairs, [wanted[row][row] for row in range(3)], atol=1e-5)
    packed = MultiVectors.of(queries, 5), MultiVectors.of(documents, 5)
    for products in (1, 15, 1 << 20):
        monkeypatch.setattr(module, "PRODUCTS", products)
        found = maxsim_packed(*packed)
        np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_padding_never_wins_where_all_artifacts_are_negative():
    query = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    document = torch.tensor([[[-1.0, -0.5], [-0.4, -2.0], [0.0, 0.0]]])
    mask = torch.tensor([[1, 1, 0]])
    score = maxsim(query, document, torch.ones(1, 2), mask)
    assert score.item() == pytest.approx(-0.4 - 0.5)


def test_masked_query_tokens_and_empty_documents():
    query, document = torch.ones(1, 2, 3), torch.ones(1, 2, 3)
    score = maxsim(query, document, torch.tensor([[True, False]]), torch.ones(1, 2))
    assert score.item() == 3.0
    empty = maxsim(query, document, torch.tensor([[1, 0]]), torch.zeros(1, 2))
    assert empty.item() == -np.inf
    none = np.zeros((0, 3), dtype=np.float32)
    ones = np.ones((2, 3), dtype=np.float32)
    found = maxsim_packed(MultiVectors.of([ones, none], 3), MultiVectors.of([none, ones, none], 3))
    np.testing.assert_array_equal(found, [[-np.inf, 6, -np.inf], [-np.inf, 0, -np.inf]])
    assert maxsim_packed(MultiVectors.of([], 3), MultiVectors.of([ones], 3)).shape == (0, 1)


def test_the_gradient_goes_to_the_best_vector_alone():
    query = torch.tensor([[[1.0, 0.0]]])
    document = torch.tensor([[[0.5, 0.0], [0.9, 0.0], [5.0, 0.0]]], requires_grad=True)
    maxsim(query, document, torch.ones(1, 1), torch.tensor([[1, 1, 0]])).sum().backward()
    np.testing.assert_array_equal(document.grad, [[[0, 0], [1, 0], [0, 0]]])
