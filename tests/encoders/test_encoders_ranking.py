"""Ranks of the gold item against a plain loop, and MaxSim, whose padding would win."""

from functools import partial

import numpy as np
import pytest
import torch
from some_spans import some_spans

from adducir.core.chunks import Chunking
from adducir.core.errors import InputError, UsageError
from adducir.corpora.spans import MaskedSpan
from adducir.encoders import ranking as module
from adducir.encoders.kinds import encoder_source
from adducir.encoders.model import DualEncoder
from adducir.encoders.ranking import (
    Distinct,
    DualVectors,
    MultiVectors,
    SpanWork,
    best,
    best_of,
    context_ranks,
    maxsim_packed,
    run_tasks,
    scored,
    task_among,
)
from adducir.encoders.settings import EncodingSettings
from adducir.studies.grounded_generation.hindsight.model import maxsim

MEAN = EncodingSettings(pooling="mean", similarity="dot")


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_ranks_against_a_loop(block):
    draw = np.random.default_rng(2)
    same = Distinct(["a", "b", "a", "c", "d", "b", "a"])
    assert same.firsts.tolist() == [0, 1, 3, 4]
    assert same.counts.tolist() == [3, 2, 1, 1]
    contexts = draw.integers(-2, 3, size=(9, 2)).astype(np.float32)
    distinct = draw.integers(-2, 3, size=(4, 2)).astype(np.float32)
    gold = draw.integers(0, 7, size=9)

    def scores(first, last):
        return contexts[first:last] @ distinct.T

    found = context_ranks(scores, same.of[gold], same.counts, block=block)
    whole = contexts @ distinct[same.of].T
    for query, values in enumerate(whole):
        gold_score = values[gold[query]]
        assert found.better[query] == sum(values > gold_score)
        assert found.tied[query] == sum(values == gold_score)
    assert found.candidates.tolist() == [7] * 9
    numbers, values = best(scores, 9, same, 5, block=block)
    for query in range(9):
        wanted = sorted(range(7), key=lambda n, q=query: (-whole[q, n], n))[:5]
        assert numbers[query].tolist() == wanted
        np.testing.assert_array_equal(values[query], whole[query, wanted])


def test_errors():
    counts, nan = np.ones(1, dtype=np.int64), np.full((1, 1), np.nan, dtype=np.float32)
    with pytest.raises(UsageError, match="gold item"):
        context_ranks(lambda first, last: nan, np.array([1]), counts)
    with pytest.raises(UsageError, match="not a number"):
        context_ranks(lambda first, last: nan, np.array([0]), counts)


def test_a_collection_with_equal_texts(tiny):
    spans = some_spans(20)
    twin = MaskedSpan("twin", "other", ("slow .",), spans[3].span, (), "twin-candidate")
    far = MaskedSpan("far", "other", (), ("nuclear !",), (), "far")
    task = task_among([*spans, twin], [*spans, twin, far])
    assert len(task.texts) == 22
    source = encoder_source(str(tiny), encoding=MEAN)
    vectors = DualVectors(source, {})
    work = SpanWork(vectors=vectors, tasks=partial(list, [task]), size=6)
    with scored(work, Chunking()) as each:
        ((_, scores, same),) = each
        found = context_ranks(scores, same.of[task.gold], same.counts)
        run = run_tasks(best_of([(task, scores, same)], 5), tag="t")
    assert found.tied[3] == found.tied[20] == 2
    assert found.candidates.tolist() == [22] * 21
    encoder = DualEncoder.load(source)
    whole = encoder.encode_contexts(task.spans) @ encoder.encode_documents(task.texts).T
    for query in range(20):
        if query != 3:
            assert found.ranks[query] == sum(whole[query] >= whole[query, task.gold[query]])
    assert run.lengths.tolist() == [5] * 21
    first = run.frame.filter(run.frame["qid"] == "s0")["docno"].to_list()
    assert first[0] == task.docnos[int(np.argmax(whole[0]))]


def test_spans_of_one_candidate_are_one():
    spans = some_spans(6)
    names = [span.candidate or span.id for span in spans]
    twin = MaskedSpan("twin", "other", (), (f"({spans[3].text.upper()}!)",), (), names[3])
    every = [*spans, twin, MaskedSpan("far", "other", (), ("nuclear !",), ())]
    task = task_among(spans[2:4], every)
    assert task.texts == [*(span.text for span in spans), "nuclear !"]
    assert (task.docnos, task.gold.tolist()) == ([*names, "far"], [2, 3])
    odd = MaskedSpan("odd", "other", (), ("another text .",), (), names[3])
    with pytest.raises(InputError, match=names[3]):
        task_among(spans[2:4], [*every, odd])


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
    np.testing.assert_allclose(
        maxsim((q[:, None], q_mask[:, None]), (d, d_mask)), wanted, atol=1e-5
    )
    pairs = maxsim((q, q_mask), (d[:3], d_mask[:3]))
    np.testing.assert_allclose(pairs, [wanted[row][row] for row in range(3)], atol=1e-5)
    packed = MultiVectors.of(queries), MultiVectors.of(documents)
    for products in (1, 15, 1 << 20):
        monkeypatch.setattr(module, "PRODUCTS", products)
        found = maxsim_packed(*packed)
        np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_masked_query_tokens_and_empty_documents():
    query, document = torch.ones(1, 2, 3), torch.ones(1, 2, 3)
    score = maxsim((query, torch.tensor([[True, False]])), (document, torch.ones(1, 2)))
    assert score.item() == 3.0
    empty = maxsim((query, torch.tensor([[1, 0]])), (document, torch.zeros(1, 2)))
    assert empty.item() == -np.inf
    none = np.zeros((0, 3), dtype=np.float32)
    ones = np.ones((2, 3), dtype=np.float32)
    found = maxsim_packed(MultiVectors.of([ones, none]), MultiVectors.of([none, ones, none]))
    np.testing.assert_array_equal(found, [[-np.inf, 6, -np.inf], [-np.inf, 0, -np.inf]])
    assert maxsim_packed(MultiVectors.of([]), MultiVectors.of([ones])).shape == (0, 1)


def test_the_gradient_goes_to_the_best_vector_alone():
    query = torch.tensor([[[1.0, 0.0]]])
    document = torch.tensor([[[0.5, 0.0], [0.9, 0.0], [5.0, 0.0]]], requires_grad=True)
    maxsim((query, torch.ones(1, 1)), (document, torch.tensor([[1, 1, 0]]))).sum().backward()
    np.testing.assert_array_equal(document.grad, [[[0, 0], [1, 0], [0, 0]]])
