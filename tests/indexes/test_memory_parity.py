"""Parity with Lucene and Anserini on collections: our own, CACM and args.me (Touché)."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import load_topics
from adducir.indexes import IndexSettings, LuceneIndex, MemoryIndex, build_index, build_memory_index
from adducir.indexes.feedback import BM25PRF, RM3, FeedbackMethod, Rocchio
from adducir.indexes.index import Hits
from adducir.indexes.models import BM25, QLD, InL2

AGREEMENT = 0.999
DEPTH = 1000


class Case(NamedTuple):
    """A collection's indexes (Lucene's with one-byte and with exact lengths) and its queries."""

    queries: list[str]
    memory: MemoryIndex
    coarse: LuceneIndex
    exact: LuceneIndex


SOURCES: dict[str, tuple[str, tuple[str, ...], list[str]]] = {
    "bundled": ("bundled:arguments", (), ["bundled:topics"]),
    "cacm": ("cacm/corpus.jsonl", ("html_text",), ["cacm/topics.cacm.trec.txt"]),
    "touche": (
        "touche/argsme-subset.jsonl",
        (),
        [f"touche/topics/topics-task-1-{year}.xml" for year in ("2020", "2021-only-titles")],
    ),
}


@pytest.fixture(scope="module", params=list(SOURCES))
def case(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Case:
    source, fields, topics = SOURCES[request.param]
    if request.param != "bundled":
        folder: Path = request.getfixturevalue("collections")
        source, topics = str(folder / source), [str(folder / path) for path in topics]
    corpus, made = open_corpus(source), tmp_path_factory.mktemp(request.param)
    for name, exact in (("coarse", False), ("exact", True)):
        build_index(corpus, made / name, IndexSettings(fields, accurate_length=exact))
    build_memory_index(corpus, made / "memory", IndexSettings(fields))
    queries = [query for path in topics for query in load_topics(path).queries]
    assert len(queries) == {"bundled": 20, "cacm": 64, "touche": 99}[request.param]
    memory = MemoryIndex(made / "memory")
    return Case(queries, memory, LuceneIndex(made / "coarse"), LuceneIndex(made / "exact"))


def single(query: dict[str, float]) -> dict[str, np.float32]:
    return {term: np.float32(weight) for term, weight in query.items()}


def agree(ours: Hits, lucenes: Hits) -> None:
    """At least 99.9% of positions hold the same docno, and all scores are equal as floats go."""
    assert ours.counts.tolist() == lucenes.counts.tolist()
    differ = np.flatnonzero((ours.docnos != lucenes.docnos).to_numpy())
    listed = [
        f"position {n}: {ours.docnos[int(n)]} {ours.scores[n]!r}, "
        f"Lucene {lucenes.docnos[int(n)]} {lucenes.scores[n]!r}"
        for n in differ[:50]
    ]
    assert len(differ) <= (1 - AGREEMENT) * len(ours.docnos), "\n".join(listed)
    np.testing.assert_allclose(ours.scores, lucenes.scores, rtol=1e-6, atol=1e-7)
    print(*listed, sep="\n")


METHODS = [None, RM3(), RM3(fb_terms=50, fb_docs=20, original_query_weight=0.2)]


@pytest.mark.parametrize("rm3", METHODS)
@pytest.mark.parametrize(
    "model", [BM25(), BM25(k1=2.1, b=0.3), BM25(k1=10, b=0.9), QLD(), QLD(mu=2500)]
)
def test_rankings(case: Case, model: Any, rm3: RM3 | None) -> None:
    case.memory.accurate_length = False
    ours = case.memory.search(case.queries, model, feedback=rm3, depth=DEPTH)
    agree(ours, case.coarse.search(case.queries, model, feedback=rm3, depth=DEPTH))


@pytest.mark.parametrize("model", [InL2(), InL2(c=6.3)])
def test_rankings_by_divergence_from_randomness(case: Case, model: Any) -> None:
    ours = case.memory.search(case.queries, model, depth=DEPTH)
    agree(ours, case.coarse.search(case.queries, model, depth=DEPTH))


@pytest.mark.parametrize("method", [Rocchio(), Rocchio(gamma=0.5, fb_terms=40), BM25PRF()])
def test_rankings_by_other_feedback(case: Case, method: FeedbackMethod) -> None:
    case.memory.accurate_length = False
    ours = case.memory.search(case.queries, BM25(), feedback=method, depth=DEPTH)
    agree(ours, case.coarse.search(case.queries, BM25(), feedback=method, depth=DEPTH))


@pytest.mark.parametrize("rm3", METHODS)
@pytest.mark.parametrize("model", [BM25(), BM25(k1=2.1, b=0.7)])
def test_rankings_by_exact_lengths(case: Case, model: Any, rm3: RM3 | None) -> None:
    case.memory.accurate_length = True
    ours = case.memory.search(case.queries, model, feedback=rm3, depth=DEPTH)
    agree(ours, case.exact.search(case.queries, model, feedback=rm3, depth=DEPTH))


@pytest.mark.parametrize("depth", [10, None])
def test_other_depths(case: Case, depth: int | None) -> None:
    case.memory.accurate_length = False
    ours = case.memory.search(case.queries, BM25(), depth=depth)
    agree(ours, case.coarse.search(case.queries, BM25(), depth=depth))


@pytest.mark.parametrize("rm3", [rm3 for rm3 in METHODS if rm3])
@pytest.mark.parametrize("model", [BM25(), QLD()])
def test_expanded_queries_term_by_term(case: Case, model: Any, rm3: RM3) -> None:
    case.memory.accurate_length = False
    ours = case.memory.expand(case.queries, model, rm3)
    theirs = case.coarse.expand(case.queries, model, rm3)
    for number, (found, wanted) in enumerate(zip(ours, theirs, strict=True)):
        assert single(found) == single(wanted), case.queries[number]
