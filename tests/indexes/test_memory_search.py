"""Memory indexes rank as Lucene does, to the bit; the errors a user meets."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_corpus import TEXTS, ListCorpus

from adducir.core.errors import ArtifactError, UsageError
from adducir.corpora.topics import Topics
from adducir.indexes import (
    IndexSettings,
    LexicalRetriever,
    LuceneIndex,
    MemoryIndex,
    QueryExpansion,
    build_memory_index,
    open_index,
)
from adducir.indexes.analysis import Analysis
from adducir.indexes.feedback import RM3
from adducir.indexes.index import Hits
from adducir.indexes.memory.builder import build_from_weights
from adducir.indexes.memory.searching import Terms
from adducir.indexes.models import BM25, QLD, Model
from adducir.indexes.search import search_topics

BACKENDS = ["numba", "numpy"]
WORDS = [f"word{n}" for n in range(60)]


def built(folder: Path, texts: dict[str, str], **options: Any) -> MemoryIndex:
    backend = options.pop("backend", None)
    build_memory_index(ListCorpus(texts), folder, IndexSettings(**options))
    return MemoryIndex(folder, backend=backend)


def some_texts(count: int, seed: int) -> dict[str, str]:
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, 61)
    return {
        f"D{n}": " ".join(
            rng.choice(WORDS, int(rng.lognormal(3, 1.2)) + 1, p=shares / shares.sum())
        )
        for n in range(count)
    }


def same(ours: Hits, lucenes: Hits) -> None:
    assert ours.counts.tolist() == lucenes.counts.tolist()
    assert ours.docnos.to_list() == lucenes.docnos.to_list()
    np.testing.assert_allclose(ours.scores, lucenes.scores, rtol=1e-6)


@pytest.fixture(scope="module")
def both(
    tmp_path_factory: pytest.TempPathFactory, make_index: Callable[..., LuceneIndex]
) -> tuple[Path, LuceneIndex, LuceneIndex]:
    """A memory index's folder; Lucene's indexes, also with exact lengths, of the same texts."""
    texts = some_texts(800, 6)
    path = tmp_path_factory.mktemp("memory") / "index"
    built(path, texts)
    return path, make_index(texts), make_index(texts, accurate_length=True)


QUERIES = ["word1", "word1 word1 word30", "word7 word59 unknown", "unknown", "", " ".join(WORDS)]
MODELS: list[tuple[Model, bool]] = [
    (BM25(), False),
    (BM25(k1=0, b=0.5), False),
    (BM25(k1=12, b=1), False),
    (BM25(), True),
    (BM25(k1=3, b=0.9), True),
    (QLD(), False),
    (QLD(mu=0), False),
    (QLD(mu=3), False),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("model", "accurate"), MODELS)
@pytest.mark.parametrize("depth", [1, 7, 100, None])
def test_rankings_are_lucenes(both: Any, backend: str, model: Any, accurate: bool, depth) -> None:
    path, coarse, exact = both
    index = MemoryIndex(path, backend=backend)
    index.accurate_length = accurate
    lucene = exact if accurate else coarse
    same(index.search(QUERIES, model, depth=depth), lucene.search(QUERIES, model, depth=depth))


def test_mu_0_scores_every_document_0_as_lucene_does_and_says_so(both: Any) -> None:
    topics = Topics(["1", "2", "3"], ["word1", "word7 word59", "unknown"], "some")
    for index in (MemoryIndex(both[0]), both[1]):
        found = search_topics(index, topics, QLD(mu=0), tag="zero")
        assert set(index.search(topics.queries, QLD(mu=0)).scores) == {0.0}
        ranked = found.run.frame.filter(pl.col("qid") == "1")["docno"].to_list()
        assert ranked == sorted(ranked)
        assert found.tied == ("1", "2")
        assert search_topics(index, topics, QLD(mu=1), tag="one").tied == ()


@pytest.mark.parametrize("backend", BACKENDS)
def test_weighted_queries_are_lucenes(both: Any, backend: str) -> None:
    queries = [
        {"word3": 0.25, "word40": 3.0, "unknown": 1.0},
        {"word0": 0.0, "word50": 1.0},
        {"word2": 0.0},
        {},
    ]
    index = MemoryIndex(both[0], backend=backend)
    for model in (BM25(), QLD(mu=20)):
        same(index.search(queries, model), both[1].search(queries, model))


WEIGHTS = st.dictionaries(st.sampled_from(WORDS), st.floats(0, 100, width=32), max_size=12)


@settings(max_examples=40, deadline=None)
@given(st.lists(WEIGHTS, min_size=1, max_size=3), st.floats(0, 20), st.floats(0, 1), st.data())
def test_any_weights_and_parameters(both: Any, queries: list, k1: float, b: float, data) -> None:
    model = data.draw(st.sampled_from([BM25(k1=k1, b=b), QLD(mu=100 * k1)]))
    depth = data.draw(st.sampled_from([1, 10, 1000]))
    ours = MemoryIndex(both[0]).search(queries, model, depth=depth)
    same(ours, both[1].search(queries, model, depth=depth))


def test_texts_and_weights_in_one_call(both: Any) -> None:
    index = MemoryIndex(both[0])
    together = index.search(["word1 word2", {"word1": 1.0, "word2": 1.0}], BM25())
    half = len(together.scores) // 2
    assert together.docnos[:half].to_list() == together.docnos[half:].to_list()


def test_any_number_of_threads_gives_the_same(both: Any) -> None:
    index, queries = MemoryIndex(both[0]), QUERIES * 20
    one = index.search(queries, BM25(), threads=1, feedback=RM3())
    four = index.search(queries, BM25(), threads=4, feedback=RM3())
    assert one.docnos.to_list() == four.docnos.to_list()
    assert one.scores.tolist() == four.scores.tolist()


def test_no_queries(both: Any) -> None:
    hits = MemoryIndex(both[0]).search([], BM25())
    assert hits.frame([]).shape == (0, 3)
    assert MemoryIndex(both[0]).expand([], BM25(), RM3()) == []


def test_lengths_beyond_lucenes_byte(tmp_path: Path) -> None:
    texts = {"a": "hit " + "x " * 1943, "b": "hit " + "x " * 1999, "c": "other"}
    index = built(tmp_path / "index", texts)
    assert index.search(["hit"], BM25()).scores.tolist()[0] == pytest.approx(
        index.search(["hit"], BM25()).scores.tolist()[1], abs=0
    )
    index.accurate_length = True
    scores = index.search(["hit"], BM25()).scores.tolist()
    assert scores[0] > scores[1]


def test_the_recipe_can_choose_exact_lengths(tmp_path: Path) -> None:
    assert built(tmp_path / "index", TEXTS, accurate_length=True).accurate_length


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_index_of_nothing(tmp_path: Path, backend: str) -> None:
    index = built(tmp_path / "index", {"a": "", "b": "the"}, backend=backend)
    assert len(index) == 0
    for model in (BM25(), QLD()):
        assert index.search(["dog"], model, feedback=RM3()).counts.tolist() == [0]
    assert index.expand(["dog"], BM25(), RM3()) == [{"dog": 0.5}]


class TestWeights:
    @pytest.fixture
    def index(self, tmp_path: Path) -> MemoryIndex:
        documents = [("a", {"tax": 0.5, "law": 2.25}), ("b", {"tax": 1.5}), ("c", {"x": 4.0})]
        settings = IndexSettings(analysis=Analysis("none"))
        build_from_weights(documents, tmp_path / "index", settings, identity={})
        return MemoryIndex(tmp_path / "index")

    def test_scores_by_the_formula(self, index: MemoryIndex) -> None:
        index.accurate_length = True
        hits = index.search(["tax"], BM25(k1=1.2, b=0.75))
        average = (2.75 + 1.5 + 4) / 3
        idf = np.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
        expected = {
            docno: idf * tf / (tf + 1.2 * (0.25 + 0.75 * length / average))
            for docno, tf, length in (("a", 0.5, 2.75), ("b", 1.5, 1.5))
        }
        assert hits.docnos.to_list() == ["b", "a"]
        found = dict(zip(hits.docnos, hits.scores.tolist(), strict=True))
        assert found == pytest.approx(expected, rel=1e-6)

    def test_query_likelihood(self, index: MemoryIndex) -> None:
        hits = index.search(["law"], QLD(mu=2))
        share = (2.25 + 1) / (2.75 + 1.5 + 4 + 1)
        expected = np.log(1 + 2.25 / (2 * share)) + np.log(2 / (2 + 2))  # 2.75 counts as 2
        assert hits.docnos.to_list() == ["a"]
        assert hits.scores.tolist() == pytest.approx([expected], rel=1e-6)

    def test_feedback_reads_frequencies(self, index: MemoryIndex) -> None:
        assert not index.has_vectors
        with pytest.raises(UsageError, match="weighted terms"):
            index.search(["tax"], BM25(), feedback=RM3())


class TestInterface:
    def test_what_an_index_says_of_itself(self, tmp_path: Path) -> None:
        index = built(tmp_path / "index", TEXTS)
        assert len(index) == 5
        assert index.docnos.to_list() == ["D1", "D2", "D3", "D5", "D6"]
        assert index.fields == ("text",)
        assert index.identity == {"name": "index", "fingerprint": index.manifest.fingerprint}
        assert index.documents.get("D4").fields == {"text": ""}
        assert index.has_vectors
        index.close()

    def test_either_engine_opens(self, tmp_path: Path, pets: LuceneIndex) -> None:
        built(tmp_path / "index", TEXTS)
        assert isinstance(open_index(tmp_path / "index"), MemoryIndex)
        assert isinstance(open_index(pets.path), LuceneIndex)
        assert isinstance(open_index(pets.path / "lucene"), LuceneIndex)
        with pytest.raises(ArtifactError, match="adducir index"):
            open_index(tmp_path / "nothing")

    def test_an_index_of_the_other_engine(self, pets: LuceneIndex) -> None:
        with pytest.raises(ArtifactError, match=r"'lucene-index', .* 'memory-index' is needed"):
            MemoryIndex(pets.path)

    def test_retrievers_take_either_engine(self, tmp_path: Path, pets: LuceneIndex) -> None:
        memory = built(tmp_path / "index", TEXTS)
        frames = []
        for index in (memory, tmp_path / "index", pets):
            bm25 = LexicalRetriever(index, depth=3)
            frames.append((bm25 >> QueryExpansion(index) >> bm25).search("dog owners"))
        assert frames[0].equals(frames[1])
        assert frames[0].drop(columns="score").equals(frames[2].drop(columns="score"))
        assert repr(bm25) == "LexicalRetriever('index', BM25(k1=0.9, b=0.4))"

    def test_a_retriever_takes_a_model_and_all_depths(self, tmp_path: Path) -> None:
        index = built(tmp_path / "index", TEXTS)
        frame = LexicalRetriever(index, QLD(mu=5), depth=None).search("dog cats owners trade")
        assert len(frame) == 5

    def test_lucene_gives_all_documents_too(self, pets: LuceneIndex) -> None:
        assert pets.search(["dog cats owners trade"], BM25(), depth=None).counts.tolist() == [5]

    @pytest.mark.parametrize("depth", [0, -3])
    def test_no_such_depth(self, both: Any, depth: int) -> None:
        with pytest.raises(UsageError, match="depth must be 1 or more"):
            MemoryIndex(both[0]).search(["word1"], BM25(), depth=depth)

    @pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
    def test_no_such_weight(self, both: Any, weight: float) -> None:
        with pytest.raises(UsageError, match="weight of 'word1' must be 0 or more"):
            MemoryIndex(both[0]).search([{"word1": weight}], BM25())

    def test_feedback_takes_texts(self, both: Any) -> None:
        with pytest.raises(UsageError, match="not weighted terms"):
            MemoryIndex(both[0]).search([{"word1": 1.0}], BM25(), feedback=RM3())


def test_packing() -> None:
    terms = Terms.of([{"a": 2.0, "z": 1.0}, {}, {"b": 0.5}], {"a": 4, "b": 1})
    assert terms.starts.tolist() == [0, 1, 1, 2]
    assert terms.numbers.tolist() == [4, 1]
    assert terms.weights.tolist() == [2.0, 0.5]


def test_hits_as_a_frame(both: Any) -> None:
    hits = MemoryIndex(both[0]).search(["word1", "unknown", "word2"], BM25(), depth=2)
    frame = hits.frame(["q1", "q2", "q3"])
    assert frame["qid"].to_list() == ["q1", "q1", "q3", "q3"]
    assert frame.schema == {"qid": pl.String, "docno": pl.String, "score": pl.Float64}
