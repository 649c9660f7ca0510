"""What candidate sets do beside scoring: analysis, windows, rankings, gold ranks, batches."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adducir.core.errors import UsageError
from adducir.indexes import feeding
from adducir.indexes.analysis import Analysis
from adducir.indexes.candidates import ranking, sets, vocabulary
from adducir.indexes.candidates.batch import RankingTask, gold_ranks_of_sets, rank_sets, score_sets
from adducir.indexes.candidates.ranking import Ranking
from adducir.indexes.candidates.sets import CandidateSet
from adducir.indexes.candidates.vocabulary import lower_split
from adducir.indexes.models import BM25, Okapi

SENTENCES = [
    "Call me Ishmael.",
    "Some years ago, having little money, I thought I would sail about a little.",
    "It is a way I have of driving off the spleen.",
    "Whenever I find myself growing grim about the mouth, I account it high time to sail.",
    "",
    "There is nothing surprising in this: all men cherish nearly the same feelings.",
]
QUERIES = ["a little money to sail", "the men of Ishmael", "nothing; the the", "", "zyzzyva"]


@pytest.mark.parametrize("analysis", [None, lower_split, Analysis("krovetz", "none")])
@pytest.mark.parametrize("n", range(1, 8))
def test_windows_score_as_documents_of_their_own(n: int, analysis) -> None:
    passages = [" ".join(SENTENCES[i : i + n]) for i in range(len(SENTENCES) - n + 1)]
    apart = CandidateSet.of_texts(passages, analysis)
    windows = CandidateSet.of_texts(SENTENCES, analysis).windows(n)
    assert len(windows) == len(passages)
    for model in (Okapi(), BM25()):
        scores = windows.scores(QUERIES, model)
        assert scores.shape == (len(QUERIES), len(passages))
        np.testing.assert_allclose(scores, apart.scores(QUERIES, model), rtol=0, atol=1e-12)


def test_windows_are_not_analysed_again() -> None:
    seen: list[str] = []

    def cut(text: str) -> list[str]:
        seen.append(text)
        return text.split()

    sentences = CandidateSet.of_texts(SENTENCES, cut)
    for n in range(1, 6):
        sentences.windows(n)
    assert seen == SENTENCES


def test_windows_of_windows_and_of_nothing_are_refused() -> None:
    sentences = CandidateSet.of_texts(SENTENCES, lower_split)
    with pytest.raises(UsageError, match="1 candidate or more"):
        sentences.windows(0)
    with pytest.raises(UsageError, match="of sentences"):
        sentences.windows(2).windows(2)


TRICKY = [
    "The dogs' owner's e-mail: O'Neill's naïve café, 3.14 and U.S.A.",
    "日本語のテキスト und Größe; İstanbul ﬁne",
    "word" * 300,
    "a lone surrogate \ud800 here",
    "",
    "the of and",
]


@pytest.mark.parametrize("block", [1, 1 << 20])
def test_lucenes_terms_are_those_of_the_analysis(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeding, "_BLOCK_BYTES", block)
    texts = [text.replace("\ud800", "?") for text in TRICKY]
    terms = Analysis().terms(texts)
    found = vocabulary.LuceneTerms(Analysis())
    numbers = found.of_texts(TRICKY, grow=True)
    assert np.diff(numbers.starts).tolist() == [len(one) for one in terms]
    again = found.of_terms(terms, grow=False)
    assert again.values.tolist() == numbers.values.tolist()
    assert found.of_terms([["nowhere"]], grow=False).values.tolist() == [vocabulary.UNKNOWN]


def test_a_query_may_be_text_terms_or_weights() -> None:
    candidates = CandidateSet.of_texts(["a b c", "a a d", "e"], lower_split)
    queries = ["A a d", ["a", "a", "d"], {"a": 2.0, "d": 1.0}, {"a": 0.5}, []]
    scores = candidates.scores(queries, Okapi())
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-12)
    np.testing.assert_allclose(scores[0], scores[2], atol=1e-12)
    np.testing.assert_allclose(scores[3] * 2, candidates.scores([["a"]], Okapi())[0], atol=1e-12)
    assert (scores[4] == 0).all()


def test_ready_terms_of_lucene_are_found() -> None:
    candidates = CandidateSet.of_texts(["dogs bark", "cats purr"])
    assert candidates.scores([["dog"], {"cat": 1.5}], BM25()).argmax(axis=1).tolist() == [0, 1]
    assert (candidates.scores([["dogs"]], BM25()) == 0).all()


def test_texts_and_lists_are_not_mixed_up() -> None:
    tokens = CandidateSet.of_tokens([["a"], ["b"]])
    texts = CandidateSet.of_texts(["a", "b"], lower_split)
    for wrong in (
        lambda: CandidateSet.of_texts("a text", lower_split),
        lambda: CandidateSet.of_tokens(["a", "b"]),
        lambda: texts.scores("a", Okapi()),
        lambda: tokens.scores(["a"], Okapi()),
        lambda: tokens.scores([["a"], "b"], Okapi()),
        lambda: texts.scores([{"a": float("nan")}], Okapi()),
        lambda: list(score_sets([RankingTask("text", ["a"])], Okapi())),
    ):
        with pytest.raises(UsageError):
            wrong()
    assert len(CandidateSet.of_tokens([["a"]], lower_split).scores(["A"], Okapi())) == 1


CLOSE = st.integers(-40, 40).map(lambda n: 1 + n * 1e-12)  # equal in single precision
SCORE = CLOSE | st.integers(-2, 2).map(float) | st.sampled_from([-0.0, 1e-300, -1e-300, 1e300])


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=100, deadline=None)
@given(st.lists(SCORE | st.floats(-100, 100), max_size=150), st.none() | st.integers(1, 160))
def test_rankings_order_whole_scores_and_ties_by_number(
    compiled: bool, row: list[float], depth: int | None
) -> None:
    scores = np.array([row, row[::-1]], dtype=np.float64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "HAS_NUMBA", compiled)
        found = ranking.rank(scores, depth)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    assert found.numbers.tolist() == expected.tolist()
    assert found.scores.tolist() == np.take_along_axis(scores, expected, axis=1).tolist()


@pytest.mark.parametrize("depth", [None, 1, 100, 4999])
def test_thousands_of_scores_are_ordered(depth: int | None) -> None:
    rng = np.random.default_rng(1)
    scores = np.stack([rng.gamma(2, 3, 5000), rng.integers(0, 9, 5000), np.zeros(5000)])
    scores[0, ::2] = 5 + rng.random(2500) * 1e-9
    found = ranking.rank(scores, depth)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    assert (found.numbers == expected).all()


def test_rankings_hold_every_candidate_and_make_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "SCORES", 7)  # blocks of two queries
    candidates = CandidateSet.of_tokens([["x"], ["y"], ["x", "y"]], threads=2)
    found = candidates.rank([["y"]] * 5, Okapi())
    assert sorted(found.numbers[4].tolist()) == [0, 1, 2]
    frame = found.frame(list("12345"), ["D0", "D1", "D2"])
    assert frame.columns == ["qid", "docno", "score"]
    assert frame["qid"].to_list() == list("111222333444555")
    assert frame["docno"][:3].to_list() == [f"D{n}" for n in found.numbers[0]]
    assert frame["score"][:3].to_list() == found.scores[0].tolist()
    assert candidates.rank([["y"]], Okapi(), depth=2).numbers.shape == (1, 2)
    with pytest.raises(UsageError, match="depth"):
        candidates.rank([], Okapi(), depth=0)


def test_gold_ranks_count_ties_against_us() -> None:
    candidates = CandidateSet.of_tokens([["x"], ["x"], ["x", "y"], ["z"], []])
    queries = [["x"], ["x"], ["y"], ["y"], []]
    gold = [1, 2, 2, 0, 4]
    assert candidates.gold_ranks(queries, gold, BM25()).tolist() == [2, 3, 1, 5, 5]
    expected = candidates.gold_ranks(queries, gold, BM25(), ties="expected")
    assert expected.tolist() == [1.5, 3, 1, 3.5, 3]


@pytest.mark.parametrize("gold", [[0], [0, 3], [0, -1], [0.0, 1.0], [[0], [1]]])
def test_gold_candidates_that_cannot_be_are_refused(gold) -> None:
    candidates = CandidateSet.of_tokens([["x"], ["y"], ["z"]])
    with pytest.raises(UsageError):
        candidates.gold_ranks([["x"], ["y"]], gold, Okapi())


def test_nonsense_settings_are_refused() -> None:
    candidates = CandidateSet.of_tokens([["x"]])
    for wrong in (
        lambda: Okapi(k1=-1),
        lambda: Okapi(b=1.5),
        lambda: Okapi(epsilon=float("inf")),
        lambda: candidates.scores([["x"]], "bm25"),
        lambda: candidates.gold_ranks([["x"]], [0], Okapi(), ties="for"),
    ):
        with pytest.raises(UsageError):
            wrong()


@pytest.mark.parametrize("lists", [[], [[]], [[], []], [["a"]]])
@pytest.mark.parametrize("model", [Okapi(), Okapi(b=1), BM25(), BM25(b=1)])
def test_small_sets_have_finite_scores(lists: list[list[str]], model) -> None:
    candidates = CandidateSet.of_tokens(lists)
    scores = candidates.scores([["a", "unknown"], []], model)
    assert scores.shape == (2, len(lists))
    assert np.isfinite(scores).all()
    assert candidates.scores([], model).shape == (0, len(lists))
    assert candidates.gold_ranks([], [], model).tolist() == []
    if lists:
        assert candidates.gold_ranks([[]], [0], model).tolist() == [len(lists)]


TASKS = [
    RankingTask(SENTENCES, QUERIES, [1, 0, 5, 4, 3]),
    RankingTask([], []),
    RankingTask(["sail the seas", "Ishmael sails"], ["sail", ["seas"]], [1, 0]),
    RankingTask(["", "only this, the one"], []),
    RankingTask([text * 3 for text in SENTENCES], QUERIES[::-1], [0, 1, 2, 3, 4]),
]


@pytest.mark.parametrize("analysis", [None, lower_split])
def test_sets_in_a_batch_score_as_alone(analysis) -> None:
    alone = [CandidateSet.of_texts(task.texts, analysis) for task in TASKS]
    scores = list(score_sets(iter(TASKS), Okapi(), analysis=analysis))
    assert len(scores) == len(TASKS)
    for one, task, found in zip(alone, TASKS, scores, strict=True):
        np.testing.assert_allclose(found, one.scores(task.queries, Okapi()), rtol=0, atol=1e-12)
    for one, task, found in zip(
        alone, TASKS, rank_sets(TASKS, BM25(), depth=3, analysis=analysis), strict=True
    ):
        assert isinstance(found, Ranking)
        assert found.numbers.tolist() == one.rank(task.queries, BM25(), 3).numbers.tolist()
    tasks = [task._replace(gold=task.gold or []) for task in TASKS]
    for one, task, found in zip(
        alone, tasks, gold_ranks_of_sets(tasks, Okapi(), analysis=analysis), strict=True
    ):
        assert found.tolist() == one.gold_ranks(task.queries, task.gold, Okapi()).tolist()


def test_a_batch_needs_gold_candidates_for_gold_ranks() -> None:
    with pytest.raises(UsageError, match="gold"):
        list(gold_ranks_of_sets([RankingTask(["a"], ["a"])], Okapi(), analysis=lower_split))


def test_gold_ranks_and_rankings_never_hold_all_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "SCORES", 1 << 17)  # a megabyte
    candidates = CandidateSet.of_tokens([[f"w{i % 97}", f"w{i % 89}"] for i in range(20_000)])
    queries = [[f"w{i}"] for i in range(500)]
    candidates.gold_ranks(queries, [0] * 500, Okapi())
    tracemalloc.start()
    candidates.gold_ranks(queries, [0] * 500, Okapi())
    candidates.rank(queries, Okapi(), depth=10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10e6  # all scores take 80 MB


def test_a_model_is_applied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    applied = []
    apply = sets.apply

    def counting(postings, model, *others):
        applied.append(model)
        return apply(postings, model, *others)

    monkeypatch.setattr(sets, "apply", counting)
    candidates = CandidateSet.of_tokens([["a", "a"], ["b"], ["c"]])
    models = Okapi(), Okapi(), Okapi(k1=1.0), Okapi(k1=1.0)
    scores = [candidates.scores([["a"]], model)[0, 0] for model in models]
    assert applied == [Okapi(), Okapi(k1=1.0)]
    assert scores[0] == scores[1] != scores[2] == scores[3]
