"""Memory indexes rank as Lucene does, to the bit; what they hold and refuse."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_corpus import TEXTS, ListCorpus, build_index, weighted_index

from adducir.core.errors import ArtifactError, UsageError
from adducir.corpora.sources import open_corpus
from adducir.corpora.topics import Topics, load_topics
from adducir.indexes.analysis import Analysis
from adducir.indexes.engines import open_index
from adducir.indexes.feedback import RM3, FeedbackMethod, Rocchio
from adducir.indexes.hits import Hits
from adducir.indexes.kinds import VERSIONS
from adducir.indexes.lucene import LuceneIndex
from adducir.indexes.memory.index import MemoryIndex
from adducir.indexes.models import BM25, DPH, QLD, Model
from adducir.indexes.search import search_topics
from adducir.indexes.search_settings import SearchSettings
from adducir.indexes.settings import LuceneSettings, MemorySettings

WORDS = [f"word{n}" for n in range(60)]
QUERIES = ["word1", "word1 word1 word30", "word7 word59 unknown", "unknown", "", " ".join(WORDS)]


def built(folder: Path, texts: dict[str, str], **options: Any) -> MemoryIndex:
    build_index(ListCorpus(texts), folder, MemorySettings(**options))
    return MemoryIndex(folder)


def same(ours: Hits, lucenes: Hits) -> None:
    assert ours.counts.tolist() == lucenes.counts.tolist()
    assert ours.docnos.to_list() == lucenes.docnos.to_list()
    np.testing.assert_allclose(ours.scores, lucenes.scores, rtol=1e-6)


class Both(NamedTuple):
    """Indexes of both engines, with lengths in a byte and exact ones."""

    memory: MemoryIndex
    lucene: LuceneIndex
    exact_memory: MemoryIndex
    exact_lucene: LuceneIndex


def both_of(folder: Path, corpus: Any, fields: tuple[str, ...] = ()) -> Both:
    made: list[Any] = []
    for accurate in (False, True):
        own = {"fields": fields, "accurate_length": accurate}
        build_index(corpus, folder / f"memory{accurate}", MemorySettings(**own))
        build_index(corpus, folder / f"lucene{accurate}", LuceneSettings(**own))
        made.append(MemoryIndex(folder / f"memory{accurate}"))
        made.append(LuceneIndex(folder / f"lucene{accurate}"))
    return Both(*made)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    draw, shares = np.random.default_rng(6), 1 / np.arange(1, 61)
    shares /= shares.sum()
    sizes = (draw.lognormal(3, 1.2, 800) + 1).astype(int)
    texts = {f"D{n}": " ".join(draw.choice(WORDS, k, p=shares)) for n, k in enumerate(sizes)}
    return both_of(tmp_path_factory.mktemp("both"), ListCorpus(texts))


@pytest.mark.parametrize(
    "model",
    [BM25(), BM25(k1=0, b=0.5), BM25(k1=12, b=1), BM25(k1=3, b=0.9), QLD(), QLD(mu=0), QLD(mu=3)],
)
def test_rankings_are_lucenes(both: Both, model: Model) -> None:
    weighted = [{"word3": 0.25, "word40": 3.0, "unknown": 1.0}, {"word2": 0.0, "word50": 1.0}, {}]
    for depth in (1, 7, 100, None):
        for queries in (QUERIES, weighted):
            ours = both.memory.search(queries, model, depth=depth)
            same(ours, both.lucene.search(queries, model, depth=depth))
            if isinstance(model, BM25):
                ours = both.exact_memory.search(queries, model, depth=depth)
                same(ours, both.exact_lucene.search(queries, model, depth=depth))


WEIGHTS = st.dictionaries(st.sampled_from(WORDS), st.floats(0, 100, width=32), max_size=12)


@given(st.lists(WEIGHTS, min_size=1, max_size=3), st.floats(0, 20), st.floats(0, 1), st.data())
def test_any_weights_and_parameters(both: Both, queries: list, k1: float, b: float, data) -> None:
    model = data.draw(st.sampled_from([BM25(k1=k1, b=b), QLD(mu=100 * k1)]))
    depth = data.draw(st.sampled_from([1, 10, 1000]))
    ours = both.memory.search(queries, model, depth=depth)
    same(ours, both.lucene.search(queries, model, depth=depth))


def test_mu_0_scores_every_document_0_as_lucene_does_and_says_so(both: Both) -> None:
    topics = Topics(["1", "2", "3"], ["word1", "word7 word59", "unknown"], "some")
    for index in (both.memory, both.lucene):
        found = search_topics(index, topics, SearchSettings(model=QLD(mu=0)), tag="zero")
        assert set(index.search(topics.queries, QLD(mu=0)).scores) == {0.0}
        ranked = found.run.frame.filter(pl.col("qid") == "1")["docno"].to_list()
        assert ranked == sorted(ranked)
        assert found.tied == ["1", "2"]
        assert search_topics(index, topics, SearchSettings(model=QLD(mu=1))).tied == []


def test_threads_and_kinds_of_queries_change_nothing(both: Both) -> None:
    one = both.memory.search(QUERIES * 20, BM25(), threads=1, feedback=RM3())
    four = both.memory.search(QUERIES * 20, BM25(), threads=4, feedback=RM3())
    assert one.docnos.to_list() == four.docnos.to_list()
    assert one.scores.tolist() == four.scores.tolist()
    mixed = both.memory.search(["word1 word2", {"word1": 1.0, "word2": 1.0}], BM25())
    half = len(mixed.scores) // 2
    assert mixed.docnos[:half].to_list() == mixed.docnos[half:].to_list()
    assert both.memory.search([], BM25()).to_polars([]).shape == (0, 3)
    frame = both.memory.search(["word1", "unknown", "word2"], BM25(), depth=2).to_polars([*"abc"])
    assert frame["qid"].to_list() == ["a", "a", "c", "c"]
    with pytest.raises(UsageError, match="qids"):
        mixed.to_polars(["1"])
    with pytest.raises(UsageError, match="docnos"):
        both.memory.score(["word1"], [])


SOURCES: dict[str, tuple[str, tuple[str, ...], list[str]]] = {
    "bundled": ("bundled:arguments", (), ["bundled:topics"]),
    "cacm": ("cacm/corpus.jsonl", ("html_text",), ["cacm/topics.cacm.trec.txt"]),
    "touche": (
        "touche/argsme-subset.jsonl",
        (),
        [f"touche/topics/topics-task-1-{year}.xml" for year in ("2020", "2021-only-titles")],
    ),
}


LARGE = [pytest.param(name, marks=pytest.mark.slow) for name in ("cacm", "touche")]


@pytest.fixture(scope="module", params=["bundled", *LARGE])
def collection(
    request: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Both, list[str]]]:
    source, fields, topics = SOURCES[request.param]
    if request.param != "bundled":
        place: Path = request.getfixturevalue("collections")
        source, topics = str(place / source), [str(place / path) for path in topics]
    queries = [query for path in topics for query in load_topics(path).queries]
    assert len(queries) == {"bundled": 20, "cacm": 64, "touche": 99}[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        if request.param != "bundled":  # by compiled code, not by NumPy
            patch.setattr("adducir.indexes.memory.index._FEW", -1)
        yield both_of(folder, open_corpus(source), fields), queries


def test_collections_are_ranked_as_by_lucene(collection: tuple[Both, list[str]]) -> None:
    """All documents and scores of a thousand hits a topic, by models and feedback."""
    indexes, queries = collection
    methods: list[FeedbackMethod | None] = [None, RM3(), Rocchio(fb_terms=40)]
    for model in (BM25(), BM25(k1=10, b=0.9), QLD()):
        for method in methods:
            ours = indexes.memory.search(queries, model, feedback=method)
            same(ours, indexes.lucene.search(queries, model, feedback=method))
            if isinstance(model, BM25):
                ours = indexes.exact_memory.search(queries, model, feedback=method)
                same(ours, indexes.exact_lucene.search(queries, model, feedback=method))
    same(*(one.search(queries, BM25(), depth=None) for one in indexes[:2]))


def test_an_index_of_nothing(tmp_path: Path) -> None:
    index = built(tmp_path / "index", {"a": "", "b": "the"})
    assert len(index) == 0
    for model in (BM25(), QLD(), DPH()):
        assert index.search(["dog"], model, feedback=RM3()).counts.tolist() == [0]
    assert index.expand(["dog"], BM25(), RM3()) == [{"dog": 0.5}]


TRICKY = {
    "B": "The teacher's café naïve U.S. e-mail don't 3.14 1,000",
    "A": "running runners RUN ran; " * 300,
    "C": "",
    "D": "the of and",
    "E": "東京 Привет мир ಕನ್ನಡ 😀 ﬁne ǅ İstanbul straße",
    "F": "x" * 300 + " " + "y" * 5000 + " tail" * 70_000,
    "G": "O'Neill’s rock'n'roll and/or http://a.b/c?d=e me@x.org #tag a_b c-d",
    "é": "docno beyond ASCII",
}


@pytest.mark.parametrize(
    ("stemmer", "stopwords"),
    [("porter", "lucene"), ("krovetz", ("run", "tail")), ("none", "lucene")],
)
def test_an_index_holds_the_terms_of_lucenes_analysis(
    tmp_path: Path, stemmer: str, stopwords: Any
) -> None:
    analysis = Analysis(stemmer, stopwords)
    own = {"stemmer": stemmer, "stopwords": stopwords}
    manifest = build_index(ListCorpus(TRICKY), tmp_path / "index", MemorySettings(**own))
    lucene = build_index(ListCorpus(TRICKY), tmp_path / "lucene", LuceneSettings(**own))
    for name in ("documents", "indexed", "empty", "terms", "tokens"):
        assert manifest.counts[name] == lucene.counts[name], name
    index = MemoryIndex(tmp_path / "index")
    terms = analysis.terms(list(TRICKY.values()))
    assert index.docnos.to_list() == sorted(d for d, t in zip(TRICKY, terms, strict=True) if t)
    # RM3 of one document with all its terms shows the document.
    everything = RM3(fb_terms=99, original_query_weight=0.0)
    how: Any = {"feedback": everything, "documents": [[(docno, 1.0)] for docno in index.docnos]}
    both, queries = (index, LuceneIndex(tmp_path / "lucene")), [""] * len(index)
    ours, theirs = (either.expand(queries, **how) for either in both)
    assert ours == list(map(pytest.approx, theirs))
    for docno, own_terms in zip(TRICKY, terms, strict=True):
        for term, count in Counter(own_terms).items():
            hits = index.search([{term: 1.0}], QLD(mu=1e-3), depth=None)
            assert docno in hits.docnos.to_list(), (term, count)


def test_any_number_of_threads_gives_the_same_files(tmp_path: Path) -> None:
    draw = np.random.default_rng(5)
    texts = {f"D{n}": " ".join(f"w{w}" for w in draw.zipf(1.3, 400) % 9999) for n in range(1500)}
    for threads in (1, 2, 3):
        build_index(ListCorpus(texts), tmp_path / str(threads), threads=threads)
    files = sorted(path.name for path in (tmp_path / "1").iterdir() if path.suffix != ".json")
    for name in files:
        contents = {(tmp_path / str(threads) / name).read_bytes() for threads in (1, 2, 3)}
        assert len(contents) == 1, name


class TestWeights:
    @pytest.fixture(params=[False, True])
    def index(self, request: Any, tmp_path: Path) -> MemoryIndex:
        documents = [("a", {"tax": 0.5, "law": 2.25}), ("b", {"tax": 1.5, "no": 0.0}), ("c", {})]
        documents += [("d", {"x": 4.0})]
        own = {"language": "en", "stemmer": "none", "accurate_length": request.param}
        return weighted_index(documents, tmp_path, **own)

    def test_scores_by_the_formula(self, index: MemoryIndex) -> None:
        average = (2.75 + 1.5 + 4) / 3
        idf = np.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
        lengths = (2.75, 1.5) if index.accurate_length else (2, 1)
        expected = [
            idf * tf / (tf + 1.2 * (0.25 + 0.75 * length / average))
            for tf, length in zip((1.5, 0.5), lengths[::-1], strict=True)
        ]
        hits = index.search(["tax"], BM25(k1=1.2, b=0.75))
        assert hits.docnos.to_list() == ["b", "a"]
        assert hits.scores.tolist() == pytest.approx(expected, rel=1e-6)
        share = (2.25 + 1) / (2.75 + 1.5 + 4 + 1)
        expected = np.log(1 + 2.25 / (2 * share)) + np.log(2 / (2 + 2))  # 2.75 counts as 2
        assert index.search(["law no"], QLD(mu=2)).scores.tolist() == pytest.approx([expected])

    def test_feedback_reads_frequencies(self, index: MemoryIndex) -> None:
        with pytest.raises(UsageError):
            index.search(["tax"], BM25(), feedback=RM3())


class TestInterface:
    def test_either_engine_opens(self, tmp_path: Path, pets: LuceneIndex) -> None:
        built(tmp_path / "index", TEXTS)
        assert isinstance(open_index(tmp_path / "index"), MemoryIndex)
        assert isinstance(open_index(pets.path), LuceneIndex)
        assert isinstance(open_index(pets.path / "lucene"), LuceneIndex)
        for wrong in (lambda: open_index(tmp_path / "nothing"), lambda: MemoryIndex(pets.path)):
            with pytest.raises(ArtifactError):
                wrong()

    def test_an_index_of_another_format_is_refused(self, tmp_path: Path, monkeypatch: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setitem(VERSIONS, "memory", 1)
            build_index(ListCorpus(TEXTS), tmp_path / "index")
        with pytest.raises(ArtifactError, match="rebuild"):
            MemoryIndex(tmp_path / "index")

    def test_what_it_refuses(self, both: Both, make_index: Callable[..., LuceneIndex]) -> None:
        index = both.memory
        for wrong in (
            lambda: index.search(["word1"], BM25(), depth=0),
            lambda: index.search("word1", BM25()),
            lambda: index.search([{"word1": -1.0}], BM25()),
            lambda: index.search([{"word1": float("nan")}], BM25()),
            lambda: index.search([{"word1": 1.0}], BM25(), feedback=RM3()),
        ):
            with pytest.raises(UsageError):
                wrong()
