"""Feedback equals Anserini's own classes: the same terms, weights and rankings."""

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from anserini import Anserini
from memory_corpus import ListCorpus, build_index

from adducir.core.errors import MachineError, UsageError
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import load_topics
from adducir.indexes.feedback import RM3, Bo1, FeedbackMethod, Rocchio
from adducir.indexes.lucene import LuceneIndex
from adducir.indexes.memory.index import MemoryIndex
from adducir.indexes.models import BM25, QLD
from adducir.indexes.retriever import LexicalRetriever, QueryExpansion
from adducir.indexes.settings import LuceneSettings, MemorySettings


def single(query: dict[str, float]) -> dict[str, np.float32]:
    return {term: np.float32(weight) for term, weight in query.items()}


class Case(NamedTuple):
    """A collection's indexes and its queries."""

    lucene: LuceneIndex
    memory: MemoryIndex
    queries: list[str]


@pytest.fixture(scope="module", params=["bundled", pytest.param("cacm", marks=pytest.mark.slow)])
def case(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Case:
    source, topics = "bundled:arguments", "bundled:topics"
    fields: tuple[str, ...] = ()
    if request.param == "cacm":
        folder: Path = request.getfixturevalue("collections") / "cacm"
        source, topics = str(folder / "corpus.jsonl"), str(folder / "topics.cacm.trec.txt")
        fields = ("html_text",)
    made, corpus = tmp_path_factory.mktemp(request.param), open_corpus(source)
    build_index(corpus, made / "lucene", LuceneSettings(fields=fields))
    build_index(corpus, made / "memory", MemorySettings(fields=fields))
    queries = [*load_topics(topics).queries[:8], "dog dog owners", "nothing xyzzyx", "the of"]
    return Case(LuceneIndex(made / "lucene"), MemoryIndex(made / "memory"), queries)


# The class, and its arguments: for Rocchio terms and documents of the top and of the bottom, alpha,
# beta, gamma, debug, negative; for RM3 terms, documents, weight, debug, filter.
CASES: list[tuple[FeedbackMethod, str, tuple[Any, ...]]] = [
    (Rocchio(), "RocchioReranker", (10, 10, 10, 10, 1.0, 0.75, 0.0, False, False)),
    (
        Rocchio(fb_terms=25, fb_docs=4, beta=2),
        "RocchioReranker",
        (25, 4, 10, 10, 1.0, 2.0, 0.0, False, False),
    ),
    (RM3(), "Rm3Reranker", (10, 10, 0.5, False, True)),
    (
        RM3(fb_terms=20, fb_docs=5, original_query_weight=0.2),
        "Rm3Reranker",
        (20, 5, 0.2, False, True),
    ),
]


@pytest.mark.parametrize(("method", "reranker", "arguments"), CASES)
def test_engines_equal_anserini(case: Case, method, reranker, arguments) -> None:
    theirs = Anserini(case.lucene, reranker, *arguments)
    expanded = list(map(single, case.lucene.expand(case.queries, BM25(), method)))
    found = case.lucene.search(case.queries, BM25(), feedback=method)
    assert expanded == list(map(single, case.memory.expand(case.queries, BM25(), method)))
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


@pytest.mark.parametrize("method", [Bo1(), Bo1(fb_docs=5, fb_terms=25), Bo1(fb_docs=1)])
def test_bo1_is_terriers(case: Case, method: Bo1) -> None:
    """Terrier 5's DFRBagExpansionTerms and Bo1 in plain loops over what the index holds."""
    expanded = case.lucene.expand(case.queries, BM25(), method)
    assert expanded == case.memory.expand(case.queries, BM25(), method)
    found = case.lucene.search(case.queries, BM25(), feedback=method)
    ours = case.memory.search(case.queries, BM25(), feedback=method)
    assert found.docnos.equals(ours.docnos)
    number, log = len(case.lucene), math.log2  # documents with text
    for query, weights in zip(case.queries, expanded, strict=True):
        own = Counter(case.memory.analysis.terms([query])[0])
        hits = case.memory.search([query], BM25(), depth=method.fb_docs)
        vectors = [case.memory.vector(docno) for docno in hits.docnos]
        scores = {}
        for term in {term for vector in vectors for term in vector}:
            if sum(term in vector for vector in vectors) < min(2, len(vectors)) and term not in own:
                continue
            x, mean = sum(v.get(term, 0) for v in vectors), case.memory.term(term).cf / number
            scores[term] = x * log((1 + mean) / mean) + log(1 + mean)
        best = sorted(scores, key=lambda term: (-scores[term], term))
        best = best[: max(method.fb_terms, len(own))]
        wanted = {term: count / max(own.values()) for term, count in own.items()}
        for term in best:
            x = sum(vector.get(best[0], 0) for vector in vectors)
            norm = x * log((1 + x / number) / (x / number)) + log(1 + x / number)
            wanted[term] = wanted.get(term, 0) + scores[term] / norm
        assert weights == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("method", [RM3(), Rocchio(beta=0.5), Bo1()])
def test_a_pipeline_is_a_search_with_feedback(case: Case, method: FeedbackMethod) -> None:
    for index in (case.lucene, case.memory):
        (query,) = case.queries[:1]
        first = index.search([query], BM25(), depth=method.depth)
        documents = list(zip(first.docnos.to_list(), first.scores.tolist(), strict=True))
        (direct,) = index.expand([query], BM25(), method)
        assert index.expand([query], feedback=method, documents=[documents]) == [direct]
        bm25 = LexicalRetriever(index, depth=20)
        pipeline = LexicalRetriever(index, depth=method.depth) >> QueryExpansion(index, method)
        found = (pipeline >> bm25).search(query)
        hits = index.search([query], BM25(), feedback=method, depth=20)
        assert found["docno"].to_list() == hits.docnos.to_list()
        assert found["score"].to_list() == pytest.approx(hits.scores.tolist(), rel=1e-6)


Pair = tuple[MemoryIndex, LuceneIndex]


@pytest.fixture(scope="module")
def pair(
    tmp_path_factory: pytest.TempPathFactory, make_index: Callable[..., LuceneIndex]
) -> Callable[[dict[str, str]], Pair]:
    def make(texts: dict[str, str]) -> Pair:
        path = tmp_path_factory.mktemp("memory") / "index"
        build_index(ListCorpus(texts), path)
        return MemoryIndex(path), make_index(texts)

    return make


@pytest.fixture(scope="module")
def topical(pair: Any) -> Pair:
    """Texts with many terms of equal frequency, and of every kind that RM3 leaves out."""
    draw, words = np.random.default_rng(8), [f"w{n:03d}" for n in range(400)]
    odd = ["a1", "x", "3.14", "naïve", "l'été", "z" * 20, "z" * 21, "東京", "u.s.a", "99"]
    texts = {}
    for n in range(300):
        picked = [*draw.choice(words, int(draw.integers(3, 60))), "everywhere"]
        picked += ["leash", *draw.choice(odd, 3)] if n % 10 == 0 else []
        texts[f"D{n:03d}"] = " ".join(picked)
    return pair(texts)


QUERIES = ["leash", "leash w001 w001 unknown", "w010 w200 3.14 naïve", "unknown", "", "everywhere"]


@pytest.mark.parametrize(
    ("model", "rm3"),
    [
        (BM25(), RM3(fb_terms=1, fb_docs=1)),
        (BM25(), RM3(fb_terms=100, fb_docs=40, original_query_weight=0.2)),
        (BM25(), RM3(fb_terms=4, fb_docs=1000, original_query_weight=1.0)),
        (QLD(mu=50), RM3()),
        (QLD(mu=50), RM3(fb_terms=7, fb_docs=3, original_query_weight=0.0)),
    ],
)
def test_rm3_is_alike_in_both_engines(topical: Pair, model: Any, rm3: RM3) -> None:
    memory, lucene = topical
    ours, theirs = memory.expand(QUERIES, model, rm3), lucene.expand(QUERIES, model, rm3)
    assert list(map(single, ours)) == list(map(single, theirs))
    for found in ours:
        assert list(found.values()) == sorted(found.values(), reverse=True)
    found, wanted = (one.search(QUERIES, model, feedback=rm3, depth=None) for one in topical)
    assert found.counts.tolist() == wanted.counts.tolist()
    assert found.docnos.to_list() == wanted.docnos.to_list()
    np.testing.assert_allclose(found.scores, wanted.scores, rtol=1e-6)


def test_rm3_worked_by_hand(pair: Any) -> None:
    noise = {f"N{n}": f"noise{n} filler{n}" for n in range(90)}
    subject = "leash leash leash leash law law law park park walker"
    for index in pair(noise | {f"P{n}": subject for n in range(8)}):
        # Each feedback document keeps its 2 best terms (leash 4, law 3), so the relevance model
        # is 4/7 and 3/7; the query, all "leash", gets its share of the weight.
        rm3 = RM3(fb_terms=2, fb_docs=5, original_query_weight=0.8)
        (weights,) = index.expand(["leash"], BM25(), rm3)
        assert weights == pytest.approx({"leash": 0.8 + 0.2 * 4 / 7, "law": 0.2 * 3 / 7})
        # A term of more than a tenth of the documents is no expansion.
        assert index.search(["the", "leash"], BM25(), feedback=RM3()).counts.tolist() == [0, 8]
    texts = {f"N{n}": f"common noise{n}" for n in range(18)}
    for index in pair(texts | {"P1": "leash common", "P2": "leash common"}):
        (weights,) = index.expand(["leash"], BM25(), RM3(fb_terms=5, fb_docs=2))
        assert weights == pytest.approx({"leash": 1.0})


def test_feedback_from_documents_that_add_nothing(topical: Pair) -> None:
    for index in topical:
        assert index.expand(["leash"] * 2, documents=[[], [("D010", 0.0)]]) == [{"leash": 0.5}] * 2


class Negative(FeedbackMethod):
    """A method that gives a weight which cannot be searched."""

    def expanded(self, query, documents, collection):
        return {"dog": -1.0}


def test_what_does_not_go_together(topical: Pair, make_index: Callable[..., LuceneIndex]) -> None:
    bare = make_index({"a": "dog"}, vectors=False)
    for wrong in (
        lambda: bare.expand(["dog"], BM25(), Rocchio()),
        lambda: bare.search(["dog"], BM25(), feedback=RM3()),
        *(
            call
            for index in topical
            for call in (
                lambda index=index: index.expand(["leash"], documents=[[("D010", -1.0)]]),
                lambda index=index: index.expand(["leash"], documents=[[("P99", 1.0)]]),
                lambda index=index: index.expand(["leash"], BM25(), documents=[[("D010", 1.0)]]),
                lambda index=index: index.search([{"dog": 1.0}], BM25(), feedback=Rocchio()),
            )
        ),
    ):
        with pytest.raises(UsageError):
            wrong()
    for index in topical:  # the method's fault, not the user's
        with pytest.raises(MachineError, match=r"Negative\.expanded"):
            index.search(["leash"], BM25(), feedback=Negative())
