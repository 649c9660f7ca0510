"""Candidate sets score as rank_bm25, Lucene and the formulas do."""

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adducir.indexes import IndexSettings, LuceneIndex
from adducir.indexes.candidates import impacts, scoring, sets
from adducir.indexes.candidates.sets import CandidateSet
from adducir.indexes.candidates.vocabulary import lower_split
from adducir.indexes.models import ATIRE, BM25, BM25L, QLD, BM25Plus, Okapi

TERMS = st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h"])
CANDIDATES = st.lists(st.lists(TERMS, max_size=12), min_size=1, max_size=12).filter(any)
QUERIES = st.lists(st.lists(TERMS | st.just("unknown"), max_size=15), min_size=1, max_size=4)
K1, B, DELTA = st.floats(0.1, 10), st.floats(0, 0.99), st.floats(0, 2)


def peer_of(model: Okapi | BM25L | BM25Plus, candidates: list[list[str]]):
    peers = pytest.importorskip("rank_bm25", reason="rank_bm25 is not installed")
    name = "BM25Okapi" if isinstance(model, Okapi) else type(model).__name__
    parameters = model.model_dump(exclude={"everywhere"})
    return getattr(peers, name)(candidates, **parameters)


def hold_to_rank_bm25(
    model: Okapi | BM25L | BM25Plus, candidates: list[list[str]], queries: list[list[str]]
) -> None:
    peer = peer_of(model, candidates)
    theirs = np.array([peer.get_scores(query) for query in queries])
    ours = CandidateSet.of_tokens(candidates, threads=1)
    np.testing.assert_allclose(ours.scores(queries, model), theirs, rtol=0, atol=1e-9)
    for gold in range(min(len(candidates), 20)):
        ranks = ours.gold_ranks(queries, [gold] * len(queries), model)
        assert ranks.tolist() == (theirs >= theirs[:, gold, None]).sum(axis=1).tolist()


@settings(max_examples=60, deadline=None)
@given(CANDIDATES, QUERIES, K1, B, st.floats(-1, 1))
def test_okapi_is_rank_bm25s(candidates, queries, k1, b, epsilon) -> None:
    hold_to_rank_bm25(Okapi(k1=k1, b=b, epsilon=epsilon), candidates, queries)


@settings(max_examples=40, deadline=None)
@given(CANDIDATES, QUERIES, K1, B, DELTA)
def test_bm25l_is_rank_bm25s(candidates, queries, k1, b, delta) -> None:
    hold_to_rank_bm25(BM25L(k1=k1, b=b, delta=delta), candidates, queries)


@settings(max_examples=40, deadline=None)
@given(CANDIDATES, QUERIES, K1, B, DELTA)
def test_bm25plus_is_rank_bm25s(candidates, queries, k1, b, delta) -> None:
    hold_to_rank_bm25(BM25Plus(k1=k1, b=b, delta=delta), candidates, queries)


def zipf_texts(count: int, length: int, seed: int) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, 501)
    drawn = rng.choice(500, size=(count, length), p=weights / weights.sum())
    lengths = rng.integers(0, length + 1, size=count)
    return [[f"w{i}" for i in row[:n]] for row, n in zip(drawn, lengths, strict=True)]


@pytest.mark.parametrize("model", [Okapi(), BM25L(), BM25Plus(), Okapi(k1=0.5, b=0.9)])
def test_large_sets_with_dense_rows_score_as_rank_bm25(model) -> None:
    candidates, queries = zipf_texts(600, 30, seed=1), zipf_texts(5, 150, seed=2)
    ours = CandidateSet.of_tokens(candidates)
    assert (ours._impacts(model).dense_starts >= 0).any()
    hold_to_rank_bm25(model, candidates, queries)


@pytest.mark.parametrize("model", [Okapi(), BM25L(), BM25Plus(), BM25(), QLD(mu=100)])
def test_without_numba_scores_are_the_same(model, monkeypatch: pytest.MonkeyPatch) -> None:
    candidates, queries = zipf_texts(300, 30, seed=3), [*zipf_texts(5, 80, seed=4), []]
    gold = [0, 7, 99, 200, 299, 3]
    compiled = CandidateSet.of_tokens(candidates)
    scores, ranks = compiled.scores(queries, model), compiled.gold_ranks(queries, gold, model)
    for module in (scoring, impacts):
        monkeypatch.setattr(module, "HAS_NUMBA", False)
    plain = CandidateSet.of_tokens(candidates)
    np.testing.assert_allclose(plain.scores(queries, model), scores, rtol=0, atol=1e-10)
    assert plain.gold_ranks(queries, gold, model).tolist() == ranks.tolist()


def test_negative_idf_gets_the_floor_worked_by_hand() -> None:
    candidates = [["a", "b"], ["a", "c"], ["a", "a"]]
    rare = math.log(2.5) - math.log(1.5)  # b and c, in one of three
    common = math.log(0.5) - math.log(3.5)  # a, in all three
    floor = 0.25 * (common + rare + rare) / 3
    tf1, tf2 = 2.5 / (1 + 1.5), 2 * 2.5 / (2 + 1.5)  # all candidates have the mean length
    scores = CandidateSet.of_tokens(candidates).scores([["a"], ["b", "a"]], Okapi())
    expected = [
        [floor * tf1, floor * tf1, floor * tf2],
        [(rare + floor) * tf1, floor * tf1, floor * tf2],
    ]
    assert floor < 0
    np.testing.assert_allclose(scores, expected, atol=1e-12)


def by_formula(
    candidates: list[list[str]], query: list[str], part: Callable[[int, int, int, float], float]
) -> list[float]:
    """Sums of ``part(n, tf, dl, avgdl)`` over the query's terms that a candidate holds."""
    average = sum(map(len, candidates)) / len(candidates)
    held = [Counter(candidate) for candidate in candidates]
    n = {term: sum(term in one for one in held) for term in set(query)}
    return [sum(part(n[t], one[t], one.total(), average) for t in query if one[t]) for one in held]


def test_atire_is_its_formula() -> None:
    candidates, query = [*zipf_texts(50, 20, seed=5)], zipf_texts(1, 40, seed=6)[0]

    def part(n: int, tf: int, dl: int, average: float) -> float:
        return math.log(50 / n) * tf * 1.9 / (tf + 0.9 * (0.6 + 0.4 * dl / average))

    scores = CandidateSet.of_tokens(candidates).scores([query], ATIRE())
    np.testing.assert_allclose(scores[0], by_formula(candidates, query, part), atol=1e-9)


def test_bm25plus_for_held_terms_only_is_lv_and_zhais() -> None:
    candidates, query = [*zipf_texts(50, 20, seed=5)], zipf_texts(1, 40, seed=6)[0]

    def part(n: int, tf: int, dl: int, average: float) -> float:
        return math.log(51 / n) * (1 + tf * 2.5 / (tf + 1.5 * (0.25 + 0.75 * dl / average)))

    ours = CandidateSet.of_tokens(candidates)
    scores = ours.scores([query], BM25Plus(everywhere=False))
    np.testing.assert_allclose(scores[0], by_formula(candidates, query, part), atol=1e-9)
    shifted = ours.scores([query], BM25Plus()) - ours.scores([query], BM25Plus(delta=0))
    np.testing.assert_allclose(shifted, shifted[0, 0], atol=1e-9)


@pytest.fixture(scope="module")
def short_texts() -> list[str]:
    """Texts up to 40 terms, whose lengths Lucene's byte holds exactly; two have no term."""
    return [" ".join(words) for words in zipf_texts(80, 30, seed=7)] + ["", "the of"]


@pytest.mark.parametrize("model", [BM25(), BM25(k1=2.0, b=0.9), QLD(), QLD(mu=50)])
def test_lucenes_models_are_lucenes(
    model, short_texts: list[str], make_index: Callable[..., LuceneIndex]
) -> None:
    index = make_index({f"D{i:03}": text for i, text in enumerate(short_texts)})
    queries = [" ".join(words) for words in zipf_texts(6, 25, seed=8)]
    hits = index.search(queries, model, depth=len(short_texts))
    theirs = np.zeros((len(queries), len(short_texts)))
    frame = hits.frame([str(i) for i in range(len(queries))])
    for qid, docno, score in frame.iter_rows():
        theirs[int(qid), int(docno[1:])] = score
    ours = CandidateSet.of_texts(short_texts).scores(queries, model)
    assert IndexSettings().analysis == index.analysis
    assert (theirs > 0).sum() > 100
    np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-6)


def test_threads_change_nothing() -> None:
    candidates, queries = zipf_texts(300, 30, seed=9), zipf_texts(41, 60, seed=10)
    one = CandidateSet.of_tokens(candidates, threads=1)
    three = CandidateSet.of_tokens(candidates, threads=3)
    gold = list(range(41))
    assert (one.scores(queries, Okapi()) == three.scores(queries, Okapi())).all()
    assert (one.gold_ranks(queries, gold, BM25()) == three.gold_ranks(queries, gold, BM25())).all()


def test_parity_holds_from_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "SCORES", 5)
    texts = ["A b  C", "c c\nd", "", "B d e"]
    queries = ["C c, b", "E unknown", ""]
    peer = peer_of(Okapi(), [lower_split(text) for text in texts])
    theirs = np.array([peer.get_scores(lower_split(query)) for query in queries])
    ours = CandidateSet.of_texts(texts, lower_split)
    np.testing.assert_allclose(ours.scores(queries, Okapi()), theirs, rtol=0, atol=1e-9)
    ranking = ours.rank(queries, Okapi())
    assert ranking.numbers.tolist() == np.argsort(-theirs, axis=1, kind="stable").tolist()
