"""The memory engine gives Lucene's documents and Lucene's scores, to the last bit."""

from collections.abc import Callable
from pathlib import Path

import pytest

from adducir.corpora.documents import Corpus, open_corpus
from adducir.corpora.topics import load_topics
from adducir.indexes import BM25, QLD, IndexSettings, LuceneIndex, RM3Settings, build_index
from adducir.indexes.memory.build import build_memory_index
from adducir.indexes.memory.index import MemoryIndex

Pair = tuple[LuceneIndex, MemoryIndex, list[str]]
MODELS = [BM25(), BM25(2.1, 0.9), QLD(), QLD(50)]
FEEDBACK = [None, RM3Settings(), RM3Settings(20, 5, 0.3)]


@pytest.fixture(scope="module")
def pair_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Pair]:
    """Both indexes of a corpus, and queries."""

    def make(corpus: Corpus, fields: tuple[str, ...], *topics: str | Path) -> Pair:
        folder = tmp_path_factory.mktemp("parity")
        settings = IndexSettings(fields=fields)
        build_index(corpus, folder / "lucene", settings)
        build_memory_index(corpus, folder / "memory", settings)
        queries = [query for source in topics for query in load_topics(source).queries]
        return LuceneIndex(folder / "lucene"), MemoryIndex(folder / "memory"), queries

    return make


def held_equal(pair: Pair) -> None:
    lucene, memory, queries = pair
    for model in MODELS:
        for rm3 in FEEDBACK:
            expected = lucene.search(queries, model, rm3=rm3, depth=1000)
            found = memory.search(queries, model, rm3=rm3, depth=1000)
            assert found.counts.tolist() == expected.counts.tolist()
            assert found.docnos.to_list() == expected.docnos.to_list()
            assert found.scores.tolist() == expected.scores.tolist()
    rm3 = RM3Settings(15, 7, 0.4)
    for mine, theirs in zip(
        memory.expand(queries, BM25(), rm3), lucene.expand(queries, BM25(), rm3), strict=True
    ):
        assert mine.keys() == theirs.keys()
        assert mine == pytest.approx(theirs, rel=1e-6)


def test_bundled_arguments(pair_of: Callable[..., Pair]) -> None:
    corpus = open_corpus("bundled:arguments")
    held_equal(pair_of(corpus, ("conclusion", "premise"), "bundled:topics"))


def test_cacm(pair_of: Callable[..., Pair], collections: Path) -> None:
    corpus = open_corpus(collections / "cacm/corpus.jsonl", format="cacm")
    held_equal(pair_of(corpus, ("html_text",), collections / "cacm/topics.tsv"))


def test_argsme(pair_of: Callable[..., Pair], collections: Path) -> None:
    touche = collections / "touche"
    topics = [touche / "topics" / f"topics-task-1-{y}.xml" for y in ("2020", "2021-only-titles")]
    corpus = open_corpus(touche / "argsme-subset.jsonl")
    held_equal(pair_of(corpus, ("conclusion", "premise"), *topics))
