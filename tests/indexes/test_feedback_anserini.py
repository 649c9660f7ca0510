"""Feedback equals Anserini's own classes: the same terms, weights and rankings, by both engines."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from anserini import Anserini

from adducir.core.errors import UsageError
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import load_topics
from adducir.indexes import (
    IndexSettings,
    LexicalRetriever,
    LuceneIndex,
    MemoryIndex,
    QueryExpansion,
    build_index,
    build_memory_index,
)
from adducir.indexes.feedback import BM25PRF, FEEDBACK, RM3, FeedbackMethod, Rocchio
from adducir.indexes.models import ATIRE, BM25, DPH


class Case(NamedTuple):
    """A collection's indexes and its queries."""

    lucene: LuceneIndex
    memory: MemoryIndex
    queries: list[str]


@pytest.fixture(scope="module", params=["bundled", "cacm"])
def case(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Case:
    source, topics = "bundled:arguments", "bundled:topics"
    fields: tuple[str, ...] = ()
    if request.param == "cacm":
        folder: Path = request.getfixturevalue("collections") / "cacm"
        source, topics = str(folder / "corpus.jsonl"), str(folder / "topics.cacm.trec.txt")
        fields = ("html_text",)
    made, corpus = tmp_path_factory.mktemp(request.param), open_corpus(source)
    build_index(corpus, made / "lucene", IndexSettings(fields))
    build_memory_index(corpus, made / "memory", IndexSettings(fields))
    queries = [*load_topics(topics).queries[:25], "dog dog owners", "nothing xyzzyx", "the of"]
    return Case(LuceneIndex(made / "lucene"), MemoryIndex(made / "memory"), queries)


def single(query: dict[str, float]) -> dict[str, np.float32]:
    return {term: np.float32(weight) for term, weight in query.items()}


# The class, and its arguments: for Rocchio terms and documents of the top and of the bottom, alpha,
# beta, gamma, debug, negative; for BM25PRF terms, documents, k1, b, weight, debug; for RM3 terms,
# documents, weight, debug, filter.
CASES: list[tuple[FeedbackMethod, str, tuple[Any, ...]]] = [
    (Rocchio(), "RocchioReranker", (10, 10, 10, 10, 1.0, 0.75, 0.0, False, False)),
    (
        Rocchio(fb_terms=25, fb_docs=4, bottom_fb_terms=30, bottom_fb_docs=7, beta=2, gamma=0.6),
        "RocchioReranker",
        (25, 4, 30, 7, 1.0, 2.0, 0.6, False, True),
    ),
    (BM25PRF(), "BM25PrfReranker", (20, 10, 0.9, 0.4, 0.2, False)),
    (
        BM25PRF(fb_terms=7, fb_docs=20, prf_k1=2.0, prf_b=0.8, new_term_weight=0.5),
        "BM25PrfReranker",
        (7, 20, 2.0, 0.8, 0.5, False),
    ),
    (RM3(), "Rm3Reranker", (10, 10, 0.5, False, True)),
]


@pytest.mark.parametrize(("method", "reranker", "arguments"), CASES)
def test_both_engines_equal_anserini(case: Case, method, reranker, arguments) -> None:
    theirs = Anserini(case.lucene, reranker, *arguments)
    expanded = list(map(single, case.lucene.expand(case.queries, BM25(), method)))
    assert expanded == list(map(single, case.memory.expand(case.queries, BM25(), method)))
    found = case.lucene.search(case.queries, BM25(), feedback=method)
    ours = case.memory.search(case.queries, BM25(), feedback=method)
    assert found.docnos.equals(ours.docnos)
    np.testing.assert_array_equal(found.scores, ours.scores)
    starts = np.concatenate(([0], np.cumsum(found.counts)))
    for place, query in enumerate(case.queries):
        weights, docnos, scores = theirs.search(query)
        if weights:
            assert weights == expanded[place]
        span = slice(int(starts[place]), int(starts[place + 1]))
        assert docnos == found.docnos[span].to_list()
        np.testing.assert_allclose(found.scores[span], scores, rtol=1e-6)


def test_rm3_by_its_formula_is_rm3_as_it_is_compiled(case: Case) -> None:
    memory = case.memory
    for method in (RM3(), RM3(fb_terms=3, fb_docs=40, original_query_weight=0.1)):
        counts, found = memory._first(case.queries, BM25(), method, 1)
        made = memory._feedback._expanded(counts, found, method)
        assert list(made) == memory._feedback.weights(counts, found, method, 1)


@pytest.mark.parametrize("method", [RM3(), Rocchio(gamma=0.2), BM25PRF()])
def test_a_pipeline_is_a_search_with_feedback(case: Case, method: FeedbackMethod) -> None:
    for index in (case.lucene, case.memory):
        (query,) = case.queries[:1]
        first = index.search([query], BM25(), depth=method.depth)
        documents = list(zip(first.docnos.to_list(), first.scores.tolist(), strict=True))
        (direct,) = index.expand([query], BM25(), method)
        assert index.expand_from(query, documents, method) == direct
        bm25 = LexicalRetriever(index, depth=20)
        pipeline = LexicalRetriever(index, depth=method.depth) >> QueryExpansion(index, method)
        found = (pipeline >> bm25).search(query)
        hits = index.search([query], BM25(), feedback=method, depth=20)
        assert found["docno"].to_list() == hits.docnos.to_list()
        assert found["score"].to_list() == pytest.approx(hits.scores.tolist(), rel=1e-6)


@pytest.mark.parametrize("method", [Rocchio(), BM25PRF()])
def test_any_model_can_find_the_feedback(case: Case, method: FeedbackMethod) -> None:
    for model in (ATIRE(), DPH()):
        expanded = case.memory.expand(case.queries[:3], model, method)
        assert all(len(query) > 3 for query in expanded)
        hits = case.memory.search(case.queries[:3], model, feedback=method, depth=5)
        assert hits.counts.tolist() == [5, 5, 5]


def test_what_does_not_go_together(case: Case, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="text, not weighted terms"):
        case.lucene.search([{"dog": 1.0}], BM25(), feedback=Rocchio())
    build_index(open_corpus("bundled:arguments"), tmp_path / "i", IndexSettings(vectors=False))
    with pytest.raises(UsageError, match="no document vectors"):
        LuceneIndex(tmp_path / "i").expand(["dog"], BM25(), Rocchio())


class Negative(FeedbackMethod):
    """A method that gives a weight which cannot be searched."""

    def expanded(self, query, documents, collection):
        return {"dog": -1.0}


def test_negative_weights_are_refused(case: Case) -> None:
    for index in (case.lucene, case.memory):
        with pytest.raises(UsageError, match="weight of 'dog' must be 0 or more"):
            index.search(["dog"], BM25(), feedback=Negative())


@pytest.mark.parametrize("name", list(FEEDBACK))
def test_every_method_says_what_it_is(name: str) -> None:
    kind = FEEDBACK.kind(name)
    assert kind.__doc__
    assert all(field.description for field in kind.model_fields.values())
    made = FEEDBACK.make(name, {"fb_docs": "7"})
    settings = FEEDBACK.settings(made, "method")
    assert settings.pop("method") == name
    assert FEEDBACK.make(name, settings) == made
    with pytest.raises(UsageError):
        FEEDBACK.make(name, {"fb_docs": 0})
