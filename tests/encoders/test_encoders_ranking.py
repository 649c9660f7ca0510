"""Ranks of the gold item against a plain loop; equal texts tie whatever their batch was."""

import numpy as np
import pytest
from some_spans import some_spans

from adducir.core.errors import InputError, UsageError
from adducir.core.names import TextFile
from adducir.corpora.relic import Pools, RelicBook, RelicQuote
from adducir.corpora.spans import MaskedSpan
from adducir.encoders.maxsim import MultiVectors, maxsim_packed
from adducir.encoders.model import DualEncoder
from adducir.encoders.ranking import (
    Distinct,
    best,
    book_tasks,
    by_maxsim,
    by_vectors,
    collection_task,
    context_ranks,
    pool_tasks,
    rank_task,
    run_task,
    task_among,
)
from adducir.encoders.sources import encoder_source


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_ranks_against_a_loop(block):
    draw = np.random.default_rng(2)
    values = ["a", "b", "a", "c", "d", "b", "a"]
    same = Distinct(values)
    assert same.firsts.tolist() == [0, 1, 3, 4]
    assert same.counts.tolist() == [3, 2, 1, 1]
    contexts = draw.integers(-2, 3, size=(9, 2)).astype(np.float32)
    distinct = draw.integers(-2, 3, size=(4, 2)).astype(np.float32)
    gold = draw.integers(0, 7, size=9)
    found = context_ranks(by_vectors(contexts, distinct), same.of[gold], same.counts, block=block)
    whole = contexts @ distinct[same.of].T
    for query, scores in enumerate(whole):
        gold_score = scores[gold[query]]
        assert found.better[query] == sum(scores > gold_score)
        assert found.tied[query] == sum(scores == gold_score)
    assert found.candidates.tolist() == [7] * 9
    numbers, scores = best(by_vectors(contexts, distinct), 9, same, 5, block=block)
    for query in range(9):
        wanted = sorted(range(7), key=lambda n, q=query: (-whole[q, n], n))[:5]
        assert numbers[query].tolist() == wanted
        np.testing.assert_array_equal(scores[query], whole[query, wanted])


def test_late_interaction_ranks_in_the_same_way():
    draw = np.random.default_rng(4)
    contexts = MultiVectors.of([draw.normal(size=(n, 3)).astype("f4") for n in (2, 5, 1)], 3)
    texts = MultiVectors.of([draw.normal(size=(n, 3)).astype("f4") for n in (1, 4, 2, 3)], 3)
    same = Distinct(range(4))
    found = context_ranks(by_maxsim(contexts, texts), np.array([3, 0, 1]), same.counts, block=4)
    whole = maxsim_packed(contexts, texts)
    for query, gold in enumerate((3, 0, 1)):
        assert found.ranks[query] == sum(whole[query] >= whole[query, gold])


def test_errors():
    same = Distinct(["a"])
    with pytest.raises(UsageError, match="gold item"):
        context_ranks(by_vectors(np.ones((1, 2)), np.ones((1, 2))), np.array([1]), same.counts)
    nan = np.full((1, 2), np.nan, dtype=np.float32)
    with pytest.raises(UsageError, match="not a number"):
        context_ranks(by_vectors(nan, np.ones((1, 2))), np.array([0]), same.counts)
    none = context_ranks(by_vectors(nan[:0], np.ones((1, 2))), np.zeros(0, dtype=int), same.counts)
    assert len(none.ranks) == 0


def test_a_collection_with_equal_texts(tiny):
    spans = some_spans(20)
    twin = MaskedSpan("twin", "other", ("slow .",), spans[3].span, (), "twin-candidate")
    more = [MaskedSpan("far", "other", (), ("nuclear !",), (), "far")]
    task = collection_task([*spans, twin], more)
    assert len(task.texts) == 22
    encoder = DualEncoder.load(encoder_source(str(tiny)))
    found = rank_task(encoder, task)
    assert found.tied[3] == found.tied[20] == 2
    assert found.candidates.tolist() == [22] * 21
    scores = encoder.encode_contexts(task.spans) @ encoder.encode_documents(task.texts).T
    for query in range(20):
        if query != 3:
            assert found.ranks[query] == sum(scores[query] >= scores[query, task.gold[query]])
    run = run_task(encoder, task, 5, tag="t")
    assert run.lengths.tolist() == [5] * 21
    first = run.frame.filter(run.frame["qid"] == "s0")["docno"].to_list()
    assert first[0] == task.docnos[int(np.argmax(scores[0]))]


def test_candidates_in_files_are_those_in_memory():
    spans = some_spans(6)
    names = [span.candidate or span.id for span in spans]
    twin = MaskedSpan("twin", "other", (), spans[3].span, (), names[3])
    every = [*spans, twin, MaskedSpan("far", "other", (), ("nuclear !",), ())]
    task, filed = task_among(spans[2:4], every), task_among(spans[2:4], iter(every), TextFile)
    assert list(filed.texts) == task.texts == [*(span.text for span in spans), "nuclear !"]
    assert list(filed.docnos) == task.docnos == [*names, "far"]
    assert filed.gold.tolist() == task.gold.tolist() == [2, 3]
    odd = MaskedSpan("odd", "other", (), ("another text .",), (), names[3])
    with pytest.raises(InputError, match=f"the candidate {names[3]!r} has two texts"):
        task_among(spans[2:4], [*every, odd], TextFile)


def test_values_of_one_hash_are_not_taken_for_one():
    assert hash(-1) == hash(-2)
    same = Distinct([-2, 5, -1, -2, 5, -1, 7])
    assert same.of.tolist() == [0, 1, 2, 0, 1, 2, 3]
    assert same.firsts.tolist() == [0, 1, 2, 6]
    assert same.counts.tolist() == [2, 2, 2, 1]


def test_each_query_of_a_pool_has_candidates_of_its_own():
    spans = some_spans(2)
    texts = {"c0": spans[0].text, "c1": spans[1].text, "x": "slow ."}
    pools = Pools(spans, {"s0": ["x", "c0"], "s1": ["c1", "c0", "x"]}, texts)
    tasks = list(pool_tasks(pools))
    assert [task.gold.tolist() for task in tasks] == [[1], [0]]
    assert [task.texts[task.gold[0]] for task in tasks] == [span.text for span in spans]
    assert tasks[1].docnos == ["c1", "c0", "x"]


def test_the_passages_of_a_book_are_its_quotations_candidates(tiny):
    sentences = [span.text for span in some_spans(9)]
    quotes = {
        "q1": RelicQuote(["the cat ."], 4, 2, ["a dog ."]),
        "q2": RelicQuote(["slow ."], 8, 1, []),
        "q3": RelicQuote(["fast ."], None, 1, []),
    }
    tasks = list(book_tasks({"a book": RelicBook(quotes, sentences)}))
    assert [(len(task.texts), [s.id for s in task.spans]) for task in tasks] == [
        (9, ["q2"]),
        (8, ["q1"]),
    ]
    two = tasks[1]
    assert two.texts[two.gold[0]] == " ".join(sentences[4:6])
    assert two.docnos[two.gold[0]] == "a_book/4+2" == two.spans[0].candidate
    assert two.keys == {"length": ["2"], "book": ["a book"]}
    ranks = rank_task(DualEncoder.load(encoder_source(str(tiny))), two).ranks
    assert 1 <= ranks[0] <= 8
