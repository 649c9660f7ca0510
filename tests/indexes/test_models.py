"""Retrieval models: their formulas, peers, both engines, candidate sets, and the family."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from memory_corpus import ListCorpus, build_index, byte_length

from adducir.cli.app import main
from adducir.core.errors import UsageError
from adducir.indexes.candidates import CandidateSet
from adducir.indexes.kinds import MODELS
from adducir.indexes.lucene import LuceneIndex
from adducir.indexes.memory.index import MemoryIndex
from adducir.indexes.models import BM25, DPH, QLD, Model, Okapi
from adducir.indexes.settings import MemorySettings

TEXTS = {
    f"d{n:02}": " ".join(np.random.default_rng(n).choice([*"abcdefgh"], n * 3 % 70 + 1))
    for n in range(60)
} | {"one": "a a", "none": ""}
WORDS = {docno: text.split() for docno, text in TEXTS.items()}
QUERIES = ["a b", "h h c", "g nothing", "a", "nothing"]
PLAIN = {"stemmer": "none", "stopwords": "none"}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> MemoryIndex:
    path = tmp_path_factory.mktemp("models") / "index"
    build_index(ListCorpus(TEXTS), path, MemorySettings(**PLAIN))
    return MemoryIndex(path)


@pytest.fixture(scope="module")
def lucene(make_index: Callable[..., LuceneIndex]) -> LuceneIndex:
    return make_index(TEXTS, **PLAIN)


@pytest.mark.parametrize("name", list(MODELS))
def test_every_model_scores(name: str, memory: MemoryIndex) -> None:
    made = MODELS.make(name)
    hits = memory.search(QUERIES, made)
    assert np.isfinite(hits.scores).all()
    assert hits.counts[0] > hits.counts[3] > hits.counts[4] == 0
    scores = CandidateSet.of_texts([*TEXTS.values()], str.split).scores(QUERIES, made)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", [one for one in MODELS if "lucene" in MODELS.kind(one).engines()])
def test_engines_that_both_have_a_model_agree_to_the_bit(name, memory, lucene) -> None:
    made = MODELS.make(name)
    for queries in (QUERIES, [{"a": 0.3, "c": 2.5}]):
        ours, theirs = memory.search(queries, made), lucene.search(queries, made)
        assert ours.docnos.equals(theirs.docnos)
        np.testing.assert_array_equal(ours.scores, theirs.scores)


def hold(index: Any, model: Model, scores: Callable[[list[str]], Any], tolerance: float) -> None:
    """``scores`` gives the scores of all documents for a query's words."""
    hits = index.search(QUERIES, model, depth=None)
    start = 0
    for query, count in zip(QUERIES, hits.counts, strict=True):
        words = query.split()
        expected = dict(zip(TEXTS, scores(words), strict=True))
        found = hits.docnos[start : start + count].to_list()
        assert set(found) == {docno for docno in TEXTS if {*words} & {*WORDS[docno]}}
        ours = hits.scores[start : start + count]
        np.testing.assert_allclose(ours, [expected[d] for d in found], rtol=tolerance, atol=1e-9)
        assert (np.diff(ours) <= 0).all()
        start += count
    cut = index.search(QUERIES, model, depth=5)
    assert cut.docnos[:5].to_list() == hits.docnos[:5].to_list()


@pytest.mark.parametrize("model", [Okapi(), Okapi(k1=0.9, b=0.4, epsilon=0.1)])
def test_okapi_is_rank_bm25s(memory: MemoryIndex, model: Any) -> None:
    peers = pytest.importorskip("rank_bm25", reason="rank_bm25 is not installed")
    hold(memory, model, peers.BM25Okapi([*WORDS.values()], **model.model_dump()).get_scores, 0)


TOKENS = sum(map(len, WORDS.values()))
FILLED = len(WORDS) - 1


def by_hand(name: str, word: str, docno: str) -> float:
    """Formulas as their papers, Lucene (jm) and Terrier (pl2) write them, a document at a time."""
    tf, dl = WORDS[docno].count(word), len(WORDS[docno])
    n = sum(word in words for words in WORDS.values())
    occurrences = sum(words.count(word) for words in WORDS.values())
    documents, average = len(WORDS), TOKENS / len(WORDS)
    if not tf:
        return 0.0
    if name == "bm25":
        idf = math.log(1 + (FILLED - n + 0.5) / (n + 0.5))
        return idf * tf / (tf + 0.9 * (0.6 + 0.4 * byte_length(dl) / (TOKENS / FILLED)))
    if name == "dph":
        f = tf / dl if tf < dl else 0.99999
        inner = tf * math.log2(tf / dl * TOKENS / occurrences)
        return (1 - f) ** 2 / (tf + 1) * (inner + 0.5 * math.log2(2 * math.pi * tf * (1 - f)))
    if name == "bm25+":
        idf = math.log((documents + 1) / n)
        return idf * (1.9 * tf / (0.9 * (0.6 + 0.4 * dl / average) + tf) + 1)
    if name == "bm25l":
        c = tf / (0.6 + 0.4 * dl / average)
        return math.log((documents + 1) / (n + 0.5)) * 1.9 * (c + 0.5) / (0.9 + c + 0.5)
    if name == "jm":
        return math.log(1 + 0.9 * tf / dl / (0.1 * (occurrences + 1) / (TOKENS + 1)))
    t, f, rec = tf * math.log2(1 + average / dl), occurrences / documents, 1 / math.log(2)
    gain = t * math.log2(1 / f) + f * rec + 0.5 * math.log2(2 * math.pi * t)
    return (gain + t * (math.log2(t) - rec)) / (t + 1)


@pytest.mark.parametrize("name", ["bm25", "dph", "bm25+", "bm25l", "jm", "pl2"])
def test_models_are_their_formulas(memory: MemoryIndex, name: str) -> None:
    def scores(words: list[str]) -> list[float]:
        return [sum(by_hand(name, word, docno) for word in words) for docno in TEXTS]

    hold(memory, MODELS.make(name), scores, 1e-6 if name == "bm25" else 1e-9)


def test_an_engine_without_a_model_says_who_has_it(lucene: LuceneIndex, memory) -> None:
    with pytest.raises(UsageError, match=r"dph.*bm25, qld.*memory"):
        lucene.search(["a"], DPH())

    class OfLucene(Model):
        """A model that Lucene alone has."""

        def similarity(self, *, exact_lengths):
            return BM25().similarity(exact_lengths=exact_lengths)

    with pytest.raises(UsageError, match=r"OfLucene.*lucene indexes have"):
        memory.search(["a"], OfLucene())
    theirs, ours = lucene.search(["a"], OfLucene()), lucene.search(["a"], BM25())
    assert theirs.docnos.equals(ours.docnos)


def test_exact_lengths_are_for_bm25(make_index: Callable[..., LuceneIndex]) -> None:
    index = make_index(TEXTS, accurate_length=True, **PLAIN)
    assert index.search(["a"], BM25()).counts[0] > 5
    with pytest.raises(UsageError):
        index.search(["a"], QLD())


def test_arguments_are_checked_where_they_are_given() -> None:
    for wrong in (
        lambda: BM25(b=2),
        lambda: BM25(k2=1),
        lambda: QLD(mu=float("nan")),
        lambda: Okapi(epsilon=float("inf")),
        lambda: MODELS.make("bm25", {"k1": -1}),
        lambda: MODELS.make("bm25", {"mu": 1}),
        lambda: MODELS.make("bm52"),
    ):
        with pytest.raises(UsageError):
            wrong()
    assert MODELS.make("bm25", {"k1": "1.5"}) == BM25(k1=1.5)


def test_an_index_can_be_inspected(memory: MemoryIndex, lucene: LuceneIndex, capsys) -> None:
    for index in (memory, lucene):
        for word in ("a", "h", "nothing"):
            counts = {docno: words.count(word) for docno, words in WORDS.items() if word in words}
            found = index.term(word)
            assert dict(found.postings.rows()) == counts
            assert (found.df, found.cf) == (len(counts), sum(counts.values()))
        assert index.vector("d07") == Counter(WORDS["d07"])
        assert list(index.vector("d20").values()) == sorted(Counter(WORDS["d20"]).values())[::-1]
        facts = index.facts()
        assert (facts["fields"], facts["documents"]) == (["text"], len(TEXTS))
        assert facts["analysis"]["stemmer"] == "none"
        with pytest.raises(UsageError, match="'d99'"):
            index.vector("d99")
        assert main(["show", str(index.path), "--set", "term=h", "--depth", "2"]) == 0
        assert f"h: df {index.term('h').df}, cf " in capsys.readouterr().out
        assert main(["show", str(index.path), "--set", "docno=one"]) == 0
        assert capsys.readouterr().out.split() == ["a", "2"]
        assert main(["show", str(index.path)]) == 0
        assert "fields: ['text']" in capsys.readouterr().out
