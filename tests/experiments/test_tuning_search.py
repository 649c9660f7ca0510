"""Tuning searches equals searching: on the bundled arguments, CACM and args.me."""

from itertools import product
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from adducir.core.errors import UsageError
from adducir.corpora.qrels import load_qrels
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import load_topics
from adducir.evaluation.evaluator import evaluate
from adducir.experiments.tuning.folds import JudgedTopics, Pool, by_topic_set, k_fold
from adducir.experiments.tuning.grid import Grid
from adducir.experiments.tuning.systems import LexicalSearch, SharedFeedback
from adducir.experiments.tuning.tune import tune
from adducir.indexes.building import IndexSettings
from adducir.indexes.feedback import RM3
from adducir.indexes.lucene import LuceneIndex, build_index
from adducir.indexes.models import BM25, QLD
from adducir.indexes.search import search_topics

NDCG = "nDCG(judged_only=True)@5"
FEEDBACK = {"fb_terms": [4, 8], "fb_docs": [3, 5], "original_query_weight": [0.2, 0.6]}


class Counting:
    """An index that counts what is asked of it."""

    def __init__(self, index):
        self.index = index
        self.identity = index.identity
        self.searches = self.expansions = 0

    def search(self, queries, *args, **kwargs):
        self.searches += 1
        self.last = len(queries)
        return self.index.search(queries, *args, **kwargs)

    def expand(self, *args, **kwargs):
        self.expansions += 1
        return self.index.expand(*args, **kwargs)


@pytest.fixture(scope="module")
def arguments(tmp_path_factory):
    """The index of the bundled arguments, and their judged topics."""
    index = tmp_path_factory.mktemp("tuning") / "arguments"
    build_index(open_corpus("bundled:arguments"), index, IndexSettings())
    judged = JudgedTopics("bundled", load_topics("bundled:topics"), load_qrels("bundled:qrels"))
    return LuceneIndex(index), Pool.of([judged])


def loop(index, pool, folds, objective, grid, system_of, depth=1000):
    """The chosen settings and held-out values by plain searches, one topic set at a time."""
    settings = [
        dict(zip(grid, values, strict=True)) for values in product(*map(sorted, grid.values()))
    ]
    values = []
    for setting in settings:
        model, rm3 = system_of(setting)
        row = []
        for each in pool.sets:
            found = search_topics(index, each.topics, model, feedback=rm3, tag="loop", depth=depth)
            row += evaluate(found.run, each.qrels, objective).of(objective).tolist()
        values.append(row)
    chosen, held_out = [], np.zeros(len(pool))
    for fold in range(len(folds)):
        means = [round(fmean(each[row] for row in folds.train(fold)), 12) for each in values]
        best = means.index(max(means))
        chosen.append(settings[best])
        for row in folds.test(fold):
            held_out[row] = values[best][row]
    return chosen, held_out


def check(index, pool, folds, objective, grid, model, system_of, *, feedback=None):
    tuning = tune(LexicalSearch(index, model, feedback=feedback), grid, pool, folds, objective)
    chosen, held_out = loop(index, pool, folds, objective, grid, system_of)
    assert [tuning.setting(fold) for fold in range(len(folds))] == chosen
    np.testing.assert_allclose(tuning.held_out, held_out, rtol=0, atol=1e-12)
    evaluated = evaluate(tuning.run, pool.qrels, objective).of(objective)
    np.testing.assert_allclose(evaluated, held_out, rtol=0, atol=1e-12)
    return tuning


def bm25(setting):
    return BM25(**setting), None


def qld(setting):
    return QLD(**setting), None


def bm25_rm3(setting):
    return BM25(), RM3(**setting)


@pytest.mark.parametrize("objective", [NDCG, "AP", "Bpref", "R@20"])
def test_bm25_equals_a_loop(arguments, objective):
    index, pool = arguments
    grid = {"k1": [0.5, 0.9, 2.5], "b": [0.2, 0.4, 0.9]}
    check(index, pool, k_fold(pool, 5), objective, grid, BM25, bm25)


def test_qld_equals_a_loop(arguments):
    index, pool = arguments
    check(index, pool, k_fold(pool, 4), "AP", {"mu": [50, 500, 2000]}, QLD, qld)


def test_rm3_equals_a_loop(arguments):
    index, pool = arguments
    check(index, pool, k_fold(pool, 3), "AP", FEEDBACK, BM25, bm25_rm3, feedback=RM3)


def test_shared_feedback_is_the_feedback_of_the_index(arguments):
    index, pool = arguments
    texts = [*pool.queries.values(), "the of", "xyzzy", "Should should schools?"]
    for model in (BM25(k1=2.0, b=0.7), QLD(mu=300)):
        shared = SharedFeedback(index)
        for terms, docs, weight in product((3, 9), (5,), (0.0, 0.2, 0.77, 1.0)):
            rm3 = RM3(fb_terms=terms, fb_docs=docs, original_query_weight=weight)
            given = shared.queries(texts, model, rm3)
            for own, expected in zip(given, index.expand(texts, model, rm3), strict=True):
                assert own.keys() == expected.keys()
                for term, share in expected.items():
                    assert np.float32(own[term]) == np.float32(share)
            one, two = index.search(given, model), index.search(texts, model, feedback=rm3)
            assert one.counts.tolist() == two.counts.tolist()
            assert one.docnos.equals(two.docnos)
            np.testing.assert_allclose(one.scores, two.scores, rtol=1e-6)


def test_feedback_is_shared_over_weights_wherever_they_stand(arguments):
    index, pool = arguments
    counting = Counting(index)
    grid = {"original_query_weight": [0.2, 0.4, 0.6, 0.8, 1.0], "fb_terms": [4, 8], "k1": [1, 2]}
    system = LexicalSearch(counting, feedback=RM3)
    tuning = tune(system, grid, pool, k_fold(pool, 2), NDCG)
    chosen = len(set(tuning.chosen))  # searched once more, for what they rank
    assert counting.searches == 20 + chosen
    assert counting.expansions == 1 + 4 + chosen
    assert sorted(system.order(Grid.of(grid, system.hyperparameters))) == list(range(20))


def test_all_topics_are_searched_in_one_call_and_a_query_once(arguments):
    index, pool = arguments
    (one,) = pool.sets
    twice = Pool.of([one, JudgedTopics("again", one.topics, one.qrels)])
    counting = Counting(index)
    folds = k_fold(twice, 3)
    tuning = tune(LexicalSearch(counting), {"k1": [0.5, 1, 2]}, twice, folds, "AP")
    chosen = len(set(tuning.chosen))  # searched once more, for what they rank
    assert (counting.searches, counting.last) == (3 + chosen, len(one.topics))
    half = len(pool)
    assert twice.ids[half] == f"again:{twice.qids[0]}"
    np.testing.assert_array_equal(tuning.values[:, :half], tuning.values[:, half:])
    names = [f"bundled:{qid}" for qid in one.qrels.qids]
    own = tuning.run.frame.filter(tuning.run.frame["qid"].is_in(names))
    assert own.height * 2 == len(tuning.run)


def test_fixed_values_are_not_to_be_tuned(arguments):
    index, pool = arguments
    system = LexicalSearch(index, fixed={"b": 0.9})
    assert list(system.hyperparameters) == ["k1"]
    with pytest.raises(UsageError, match="no parameter `b`"):
        tune(system, {"b": [0.1]}, pool, k_fold(pool, 2), NDCG)
    folds = k_fold(pool, 2)
    one = tune(system, {"k1": [1]}, pool, folds, NDCG)
    both = tune(LexicalSearch(index), {"k1": [1], "b": [0.9]}, pool, folds, NDCG)
    np.testing.assert_array_equal(one.values, both.values)


def test_feedback_without_rm3_is_refused(arguments):
    index, pool = arguments
    with pytest.raises(UsageError, match="no parameter `fb_terms`"):
        tune(LexicalSearch(index), {"fb_terms": [1]}, pool, k_fold(pool, 2), NDCG)


def test_cacm_equals_a_loop(collections: Path, tmp_path):
    folder = collections / "cacm"
    corpus = open_corpus(folder / "corpus.jsonl", format="cacm")
    build_index(corpus, tmp_path / "cacm", IndexSettings(fields=("html_text",)))
    index = LuceneIndex(tmp_path / "cacm")
    judged = load_topics(folder / "topics.tsv"), load_qrels(folder / "qrels.cacm.padded.txt")
    pool = Pool.of([JudgedTopics("cacm", *judged)])
    folds = k_fold(pool, 5)
    grid = {"k1": [0.6, 0.9, 1.2], "b": [0.2, 0.4]}
    tuning = check(index, pool, folds, "AP", grid, BM25, bm25)
    assert 0.25 < tuning.result < 0.45
    small = {"fb_terms": [10], "original_query_weight": [0.3, 0.5]}
    check(index, pool, folds, "AP", small, BM25, bm25_rm3, feedback=RM3)


def test_touche_by_year_equals_a_loop(collections: Path, tmp_path):
    folder = collections / "touche"
    settings = IndexSettings(fields=("conclusion", "premise"))
    build_index(open_corpus(folder / "argsme-subset.jsonl"), tmp_path / "argsme", settings)
    index = LuceneIndex(tmp_path / "argsme")
    corrected = "touche2020-task1-relevance-args-me-corpus-version-2020-04-01-corrected.qrels"
    names = {
        "2020": ("topics-task-1-2020.xml", corrected),
        "2021": ("topics-task-1-2021-only-titles.xml", "touche-task1-51-100-relevance.qrels"),
    }
    pool = Pool.of(
        [
            JudgedTopics(
                year, load_topics(folder / "topics" / topics), load_qrels(folder / "qrels" / qrels)
            )
            for year, (topics, qrels) in names.items()
        ]
    )
    assert len(pool) == 99
    grid = {"k1": [0.6, 2.2, 4.4], "b": [0.15, 0.55]}
    tuning = check(index, pool, by_topic_set(pool), NDCG, grid, BM25, bm25)
    assert tuning.folds.names == ("2020", "2021")
