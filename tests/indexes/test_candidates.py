"""Candidate sets, against rank_bm25, Lucene, formulas and a stable sort."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import UsageError
from adducir.indexes import jvm
from adducir.indexes.analysis import Analysis
from adducir.indexes.candidates import CandidateSet, rank, rank_parts
from adducir.indexes.lucene import LuceneIndex
from adducir.indexes.models import BM25, QLD, Okapi
from adducir.indexes.vocabulary import Vocabulary, lower_split, vocabulary_of

rank_bm25 = pytest.importorskip("rank_bm25", reason="rank_bm25 is not installed")

TERMS = st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h"])
CANDIDATES = st.lists(st.lists(TERMS, max_size=12), min_size=1, max_size=12).filter(any)
QUERIES = st.lists(st.lists(TERMS | st.just("unknown"), max_size=15), min_size=1, max_size=4)
MODELS = st.builds(Okapi, k1=st.floats(0.1, 10), b=st.floats(0, 0.99), epsilon=st.floats(-1, 1))


def of_tokens(lists: list[list[str]], threads: int | None = None) -> CandidateSet:
    vocabulary = Vocabulary()
    return CandidateSet(vocabulary.of_terms(lists, grow=True), vocabulary, threads)


def peer_scores(model, candidates: list[list[str]], queries: list[list[str]]) -> np.ndarray:
    peer = rank_bm25.BM25Okapi(candidates, **model.model_dump())
    return np.array([peer.get_scores(query) for query in queries])


def hold_to_rank_bm25(model, ours: CandidateSet, candidates, queries) -> None:
    theirs = peer_scores(model, candidates, queries)
    np.testing.assert_allclose(ours.scores(queries, model), theirs, rtol=0, atol=1e-9)
    for gold in range(min(len(candidates), 20)):
        ranks = sum(ours.gold_counts(queries, [gold] * len(queries), model))
        assert ranks.tolist() == (theirs >= theirs[:, gold, None]).sum(axis=1).tolist()


@given(CANDIDATES, QUERIES, MODELS)
def test_variants_of_bm25_are_rank_bm25s(candidates, queries, model) -> None:
    hold_to_rank_bm25(model, of_tokens(candidates, threads=1), candidates, queries)


def zipf(count: int, length: int, seed: int) -> list[list[str]]:
    """Texts of up to ``length`` terms, some of none."""
    draw = np.random.default_rng(seed)
    weights = 1 / np.arange(1, 501)
    drawn = draw.choice(500, size=(count, length), p=weights / weights.sum())
    lengths = draw.integers(0, length + 1, size=count)
    return [[f"w{i}" for i in row[:n]] for row, n in zip(drawn, lengths, strict=True)]


@pytest.mark.parametrize("model", [Okapi(), Okapi(k1=0.5, b=0.9)])
def test_large_sets_in_threads_score_as_rank_bm25(model) -> None:
    candidates, queries = zipf(600, 30, seed=1), zipf(41, 150, seed=2)
    ours = of_tokens(candidates, threads=3)
    hold_to_rank_bm25(model, ours, candidates, queries[:5])
    single = of_tokens(candidates, threads=1)
    assert (ours.scores(queries, model) == single.scores(queries, model)).all()


@pytest.mark.parametrize("model", [BM25(), BM25(k1=2.0, b=0.9), QLD(), QLD(mu=50)])
def test_lucenes_models_are_lucenes(model, make_index: Callable[..., LuceneIndex]) -> None:
    # Texts up to 40 terms, whose lengths Lucene's byte holds exactly; two have no term.
    texts = [" ".join(words) for words in zipf(80, 30, seed=7)] + ["", "the of"]
    index = make_index({f"D{i:03}": text for i, text in enumerate(texts)})
    queries = [" ".join(words) for words in zipf(6, 25, seed=8)]
    frame = index.search(queries, model, depth=len(texts)).to_polars(list("012345"))
    theirs = np.zeros((len(queries), len(texts)))
    for qid, docno, score in frame.iter_rows():
        theirs[int(qid), int(docno[1:])] = score
    ours = CandidateSet.of_texts(texts).scores(queries, model)
    assert (theirs > 0).sum() > 100
    np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-6)


def test_a_query_may_be_text_terms_or_weights() -> None:
    candidates = CandidateSet.of_texts(["a b c", "a a d", "e"], lower_split)
    queries = ["A a d", ["a", "a", "d"], {"a": 2.0, "d": 1.0}, {"a": 0.5}, []]
    scores = candidates.scores(queries, Okapi())
    np.testing.assert_allclose(scores[1:3], scores[[0, 0]], atol=1e-12)
    np.testing.assert_allclose(scores[3] * 2, candidates.scores([["a"]], Okapi())[0], atol=1e-12)
    assert (scores[4] == 0).all()
    lucene = CandidateSet.of_texts(["dogs bark", "cats purr"])
    assert lucene.scores([["dog"], {"cat": 1.5}], BM25()).argmax(axis=1).tolist() == [0, 1]
    assert (lucene.scores([["dogs"]], BM25()) == 0).all()


def test_what_cannot_be_is_refused() -> None:
    tokens = of_tokens([["a"], ["b"], ["c"]])
    texts = CandidateSet.of_texts(["a", "b"], lower_split)
    for wrong in (
        lambda: CandidateSet.of_texts("a text", lower_split),
        lambda: texts.scores("a", Okapi()),
        lambda: tokens.scores(["a"], Okapi()),
        lambda: tokens.scores([["a"], "b"], Okapi()),
        lambda: texts.scores([{"a": float("nan")}], Okapi()),
        lambda: texts.scores([["a"]], "bm25"),
        lambda: texts.rank([], Okapi(), depth=0),
        *(
            (lambda gold=gold: sum(tokens.gold_counts([["a"], ["b"]], gold, Okapi())))
            for gold in ([0], [0, 3], [0, -1], [0.0, 1.0], [[0], [1]])
        ),
    ):
        with pytest.raises(UsageError):
            wrong()


CLOSE = st.integers(-40, 40).map(lambda n: 1 + n * 1e-12)  # equal in single precision
SCORE = CLOSE | st.integers(-2, 2).map(float) | st.sampled_from([-0.0, 1e-300, -1e-300, 1e300])


@given(st.lists(SCORE | st.floats(-100, 100), max_size=150), st.none() | st.integers(1, 160))
def test_rankings_order_whole_scores_and_ties_by_number(row, depth) -> None:
    scores = np.array([row, row[::-1]], dtype=np.float64)
    found = rank(scores, depth)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    assert found.numbers.tolist() == expected.tolist()
    assert found.scores.tolist() == np.take_along_axis(scores, expected, axis=1).tolist()


@pytest.mark.parametrize("depth", [None, 1, 100, 4999])
def test_thousands_of_scores_are_ordered(depth: int | None) -> None:
    draw = np.random.default_rng(1)
    scores = np.stack([draw.gamma(2, 3, 5000), draw.integers(0, 9, 5000), np.zeros(5000)])
    scores[0, ::2] = 5 + draw.random(2500) * 1e-9
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    assert (rank(scores, depth).numbers == expected).all()


def test_gold_ranks_count_ties_against_us() -> None:
    candidates = of_tokens([["x"], ["x"], ["x", "y"], ["z"], []])
    queries, gold = [["x"], ["x"], ["y"], ["y"], []], [1, 2, 2, 0, 4]
    assert sum(candidates.gold_counts(queries, gold, BM25())).tolist() == [2, 3, 1, 5, 5]
    above, level = candidates.gold_counts(queries, gold, BM25())
    assert (above + (level + 1) / 2).tolist() == [1.5, 3, 1, 3.5, 3]


@pytest.mark.parametrize("lists", [[], [[]], [[], []], [["a"]]])
@pytest.mark.parametrize("model", [Okapi(), Okapi(b=1), BM25(), BM25(b=1)])
def test_small_sets_have_finite_scores(lists: list[list[str]], model) -> None:
    candidates = of_tokens(lists)
    scores = candidates.scores([["a", "unknown"], []], model)
    assert scores.shape == (2, len(lists))
    assert np.isfinite(scores).all()
    assert candidates.scores([], model).shape == (0, len(lists))
    assert sum(candidates.gold_counts([], [], model)).tolist() == []


TEXTS = [" ".join(words) for words in zipf(240, 14, seed=1)]
TEXTS += TEXTS[:80]
QUESTIONS = [*(" ".join(words) for words in zipf(9, 20, seed=2)), "", "nowhere w5 nowhere w5"]


@pytest.mark.parametrize("model", [BM25(), Okapi(), QLD()])
@pytest.mark.parametrize("size", [7, 37, 320, 1000])
def test_parts_give_the_best_of_the_whole_to_the_bit(model, size: int) -> None:
    scores = CandidateSet.of_texts(TEXTS, lower_split).scores(QUESTIONS, model)
    for depth in (1, 25, 10_000):
        order = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
        best = np.take_along_axis(scores, order, axis=1)
        for analysis in (lower_split, Vocabulary(lower_split, QUESTIONS)):
            if analysis is not lower_split and not isinstance(model, BM25):
                continue
            found = rank_parts(
                TEXTS, QUESTIONS, model, depth, size=size, analysis=analysis, threads=2
            )
            assert np.array_equal(found.numbers, order)
            assert np.array_equal(found.scores, best)


def test_parts_may_be_of_lucenes_terms_or_empty() -> None:
    texts = ["Cats are running.", "A cat ran", "", "dogs", "The cats' running dogs", "Zebras, 7"]
    queries = ["running cats", "zebra dogs", "unknown"]
    whole = CandidateSet.of_texts(texts).rank(queries, BM25(), 4)
    for size in (1, 2, 4):
        found = rank_parts(texts, queries, BM25(), 4, size=size)
        assert np.array_equal(found.numbers, whole.numbers)
        assert np.array_equal(found.scores, whole.scores)
    assert rank_parts([], ["a"], BM25(), 3, analysis=lower_split).numbers.shape == (1, 0)
    assert rank_parts(["a"], [], BM25(), 3, analysis=lower_split).numbers.shape == (0, 1)


def test_memory_does_not_grow_with_queries_times_candidates() -> None:
    candidates = of_tokens([[f"w{i % 97}", f"w{i % 89}"] for i in range(20_000)])
    queries = [[f"w{i}"] for i in range(1500)]
    texts, asked = [" ".join(words) for words in zipf(9000, 6, seed=3)], ["w1 w2"] * 900
    rank_parts(TEXTS, QUESTIONS, BM25(), 10, size=100, analysis=lower_split)  # compiles
    tracemalloc.start()
    sum(candidates.gold_counts(queries, [0] * len(queries), Okapi()))
    candidates.rank(queries, Okapi(), depth=10)
    whole = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    rank_parts(texts, asked, BM25(), 10, size=1000, analysis=lower_split, threads=1)
    parts = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert whole < 20_000 * 1500 * 8 / 3
    assert parts < 9000 * 900 * 8 / 3


def test_java_keeps_nothing_of_the_threads_that_called_it() -> None:
    threads = jvm.java_class("java.lang.management.ManagementFactory").getThreadMXBean()
    runtime = jvm.java_class("java.lang.Runtime").getRuntime()
    vocabulary = vocabulary_of(Analysis())
    texts = [f"word{number % 5000} once more " * 100 for number in range(8000)]
    seen: list[tuple[int, int]] = []
    for _ in range(4):
        vocabulary.of_texts(texts, grow=True)
        runtime.gc()
        seen.append((threads.getThreadCount(), runtime.totalMemory() - runtime.freeMemory()))
    assert seen[-1][0] <= seen[0][0]
    assert seen[-1][1] < seen[0][1] + 5_000_000  # each thread held 6 MB
