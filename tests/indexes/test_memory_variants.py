"""BM25's variants over a memory index score as rank_bm25 does."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memory_corpus import ListCorpus

from adducir.indexes import IndexSettings, MemoryIndex, build_memory_index
from adducir.indexes.analysis import Analysis
from adducir.indexes.models import ATIRE, BM25L, BM25Plus, Okapi

QUERIES = ["w1", "w1 w1 w30 unknown", "w0 w2 w49", "unknown", " ".join(f"w{n}" for n in range(50))]


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    rng = np.random.default_rng(9)
    words, shares = [f"w{n}" for n in range(50)], 1 / np.arange(1, 51)
    return {
        f"D{n:03d}": " ".join(rng.choice(words, int(rng.integers(1, 60)), p=shares / shares.sum()))
        for n in range(200)
    } | {"empty": ""}


@pytest.fixture(scope="module")
def index(texts: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> MemoryIndex:
    path = tmp_path_factory.mktemp("memory") / "index"
    analysis = Analysis("none", "none")
    build_memory_index(ListCorpus(texts), path, IndexSettings(analysis=analysis))
    return MemoryIndex(path)


def hold_to(index: MemoryIndex, model: Any, texts: dict[str, str], scores: Any) -> None:
    """``scores`` gives the peer's scores of all documents for a query's words."""
    docnos = list(texts)
    hits = index.search(QUERIES, model, depth=None)
    assert hits.scores.dtype == np.float64
    start = 0
    for query, count in zip(QUERIES, hits.counts, strict=True):
        words = set(query.split())
        theirs = dict(zip(docnos, scores(query.split()), strict=True))
        matching = {docno for docno in docnos if words & set(texts[docno].split())}
        found = hits.docnos[start : start + count].to_list()
        assert set(found) == matching
        ours = hits.scores[start : start + count]
        np.testing.assert_allclose(ours, [theirs[d] for d in found], rtol=0, atol=1e-9)
        assert (np.diff(ours) <= 0).all()
        start += count
    cut = index.search(QUERIES, model, depth=5)
    assert cut.docnos[:5].to_list() == hits.docnos[:5].to_list()


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (Okapi(), "BM25Okapi"),
        (Okapi(k1=0.9, b=0.4, epsilon=0.1), "BM25Okapi"),
        (BM25L(), "BM25L"),
        (BM25Plus(), "BM25Plus"),
    ],
)
def test_rank_bm25s_variants(index, texts: dict[str, str], model: Any, name: str) -> None:
    peers = pytest.importorskip("rank_bm25", reason="rank_bm25 is not installed")
    parameters = {key: value for key, value in vars(model).items() if key != "everywhere"}
    peer = getattr(peers, name)([text.split() for text in texts.values()], **parameters)
    hold_to(index, model, texts, peer.get_scores)


def test_atire_is_the_formula(index: MemoryIndex, texts: dict[str, str]) -> None:
    documents = [text.split() for text in texts.values()]
    average = sum(map(len, documents)) / len(documents)

    def scores(words: list[str]) -> list[float]:
        return [sum(added(word, document) for word in words) for document in documents]

    def added(word: str, document: list[str]) -> float:
        tf, holding = document.count(word), sum(word in other for other in documents)
        if not tf:
            return 0.0
        rest = 1.2 * (0.25 + 0.75 * len(document) / average)
        return float(np.log(len(documents) / holding)) * tf * 2.2 / (tf + rest)

    hold_to(index, ATIRE(k1=1.2, b=0.75), texts, scores)


def test_a_delta_for_documents_with_the_term_only(index: MemoryIndex, tmp_path: Path) -> None:
    plain = index.search(["w1"], BM25Plus(everywhere=False), depth=3)
    both = index.search(["w1"], BM25Plus(), depth=3)
    assert plain.scores.tolist() == pytest.approx(both.scores.tolist())
