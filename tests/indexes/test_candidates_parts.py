"""A collection that is ranked part by part, against the same collection ranked as a whole."""

import tracemalloc

import numpy as np
import pytest

from adducir.core.errors import UsageError
from adducir.indexes import jvm
from adducir.indexes.analysis import Analysis
from adducir.indexes.candidates.parts import Best, rank_parts
from adducir.indexes.candidates.ranking import Ranking
from adducir.indexes.candidates.sets import CandidateSet
from adducir.indexes.candidates.vocabulary import LuceneTerms, QueriedWords, lower_split
from adducir.indexes.models import ATIRE, BM25, QLD, BM25Plus, InL2, Okapi


def texts_of(count: int, length: int, seed: int) -> list[str]:
    """Zipf-distributed words; many texts are equal to others, some are empty."""
    draw = np.random.default_rng(seed)
    weights = 1 / np.arange(1, 301)
    lengths = draw.integers(0, length, size=count)
    found = [
        " ".join(f"w{n}" for n in draw.choice(300, k, p=weights / weights.sum())) for k in lengths
    ]
    return [*found, *found[: count // 3]]


TEXTS = texts_of(240, 14, seed=1)
QUERIES = [*texts_of(9, 20, seed=2), "", "nowhere w5 nowhere w5"]


@pytest.mark.parametrize("model", [BM25(), Okapi(), ATIRE(), InL2(), QLD()])
@pytest.mark.parametrize("size", [7, 37, 320, 1000])
def test_parts_give_the_best_of_the_whole_to_the_bit(model, size: int) -> None:
    whole = CandidateSet.of_texts(TEXTS, lower_split)
    scores = whole.scores(QUERIES, model)
    for depth in (1, 25, len(TEXTS), 10_000):
        found = rank_parts(TEXTS, QUERIES, model, depth, size=size, analysis=lower_split, threads=2)
        # What was done before: all scores, and a stable sort of them.
        order = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
        assert np.array_equal(found.numbers, order)
        assert np.array_equal(found.scores, np.take_along_axis(scores, order, axis=1))


def test_parts_in_lucenes_analysis() -> None:
    texts = ["Cats are running.", "A cat ran", "", "dogs", "The cats' running dogs", "Zebras, 7"]
    queries = ["running cats", "zebra dogs", "unknown"]
    whole = CandidateSet.of_texts(texts).rank(queries, BM25(), 4)
    for size in (1, 2, 4):
        found = rank_parts(texts, queries, BM25(), 4, size=size)
        assert np.array_equal(found.numbers, whole.numbers)
        assert np.array_equal(found.scores, whole.scores)


def test_a_model_that_scores_absent_terms_is_refused_in_parts() -> None:
    whole = rank_parts(TEXTS, QUERIES, BM25Plus(), 5, analysis=lower_split)
    assert whole.numbers.shape == (len(QUERIES), 5)
    with pytest.raises(UsageError, match="lack a term"):
        rank_parts(TEXTS, QUERIES, BM25Plus(), 5, size=100, analysis=lower_split)
    with pytest.raises(UsageError, match="depth"):
        rank_parts(TEXTS, QUERIES, BM25(), 0, analysis=lower_split)


def test_there_may_be_no_text_and_no_query() -> None:
    assert rank_parts([], ["a"], BM25(), 3, analysis=lower_split).numbers.shape == (1, 0)
    assert rank_parts(["a"], [], BM25(), 3, analysis=lower_split).numbers.shape == (0, 1)


def test_equal_scores_of_several_parts_stand_in_order_of_the_collection() -> None:
    best = Best(1, 3)
    for first in (0, 2, 4):
        best.add(Ranking(np.array([[1, 0]], dtype=np.int32), np.array([[2.0, 1.0]])), first)
    assert best.ranking.numbers.tolist() == [[1, 3, 5]]
    assert best.ranking.scores.tolist() == [[2.0, 2.0, 2.0]]


def test_memory_does_not_grow_with_queries_times_texts() -> None:
    texts, queries = texts_of(9000, 6, seed=3), texts_of(900, 6, seed=4)
    rank_parts(TEXTS, QUERIES, BM25(), 10, size=100, analysis=lower_split)  # compiles
    tracemalloc.start()
    rank_parts(texts, queries, BM25(), 10, size=1000, analysis=lower_split, threads=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < len(texts) * len(queries) * 8 / 3


def test_java_keeps_nothing_of_the_threads_that_called_it() -> None:
    threads = jvm.java_class("java.lang.management.ManagementFactory").getThreadMXBean()
    runtime = jvm.java_class("java.lang.Runtime").getRuntime()
    vocabulary = LuceneTerms(Analysis())
    texts = [f"word{number % 5000} once more " * 100 for number in range(8000)]
    seen: list[tuple[int, int]] = []
    for _ in range(4):
        vocabulary.of_texts(texts, grow=True)
        runtime.gc()
        seen.append((threads.getThreadCount(), runtime.totalMemory() - runtime.freeMemory()))
    counts, bytes_used = zip(*seen, strict=True)
    assert counts[-1] <= counts[0]
    assert bytes_used[-1] < bytes_used[0] + 5_000_000  # each thread held 6 MB


@pytest.mark.parametrize("size", [7, 320])
def test_terms_that_no_query_holds_need_no_numbers(size: int) -> None:
    whole = CandidateSet.of_texts(TEXTS, lower_split).rank(QUERIES, BM25(), 25)
    words = QueriedWords(lower_split, QUERIES)
    found = rank_parts(TEXTS, QUERIES, BM25(), 25, size=size, vocabulary=words)
    assert np.array_equal(found.numbers, whole.numbers)
    assert np.array_equal(found.scores, whole.scores)
