"""Retrieval models: the family, its kinds, and those that were not there before."""

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from memory_corpus import ListCorpus

from adducir.core.errors import UsageError
from adducir.indexes import IndexSettings, LuceneIndex, MemoryIndex, build_memory_index
from adducir.indexes.analysis import Analysis
from adducir.indexes.candidates import CandidateSet
from adducir.indexes.models import BM25, DPH, MODELS, QLD, InL2, Model

TEXTS = {
    f"d{n}": " ".join(np.random.default_rng(n).choice([*"abcdefgh"], n * 3 % 70 + 1))
    for n in range(60)
} | {"one": "a a", "none": "the"}
QUERIES = ["a b", "h h c", "g nothing", "a"]
PLAIN = {"analysis": Analysis(stemmer="none", stopwords="none")}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> MemoryIndex:
    path = tmp_path_factory.mktemp("models") / "index"
    build_memory_index(ListCorpus(TEXTS), path, IndexSettings(**PLAIN))
    return MemoryIndex(path)


@pytest.fixture(scope="module")
def lucene(make_index: Callable[..., LuceneIndex]) -> LuceneIndex:
    return make_index(TEXTS, **PLAIN)


@pytest.mark.parametrize("name", list(MODELS))
def test_every_model_says_what_it_is(name: str, memory: MemoryIndex) -> None:
    kind = MODELS.kind(name)
    assert kind.__doc__
    assert all(field.description for field in kind.model_fields.values())
    made = MODELS.make(name)
    assert MODELS.name_of(type(made)) == name
    settings = MODELS.settings(made, "model")
    assert settings.pop("model") == name
    assert MODELS.make(name, settings) == made
    assert "memory" in kind.engines()
    hits = memory.search(QUERIES, made)
    assert np.isfinite(hits.scores).all()
    assert hits.counts[0] > hits.counts[3] > 0
    scores = CandidateSet.of_tokens([text.split() for text in TEXTS.values()]).scores(
        [query.split() for query in QUERIES], made
    )
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", [one for one in MODELS if "lucene" in MODELS.kind(one).engines()])
def test_engines_that_both_have_a_model_agree_to_the_bit(name, memory, lucene) -> None:
    made = MODELS.make(name)
    ours, theirs = memory.search(QUERIES, made), lucene.search(QUERIES, made)
    assert ours.docnos.equals(theirs.docnos)
    np.testing.assert_array_equal(ours.scores, theirs.scores)
    weighted = [{"a": 0.3, "c": 2.5}]
    ours, theirs = memory.search(weighted, made), lucene.search(weighted, made)
    assert ours.docnos.equals(theirs.docnos)
    np.testing.assert_array_equal(ours.scores, theirs.scores)


def test_inl2_is_its_formula(memory: MemoryIndex) -> None:
    short = {docno: text.split() for docno, text in TEXTS.items() if len(text.split()) <= 40}
    lengths = {docno: len(text.split()) for docno, text in TEXTS.items()}
    average = sum(lengths.values()) / len(lengths)
    n = sum("a" in text.split() for text in TEXTS.values())
    hits = memory.search(["a"], InL2(c=2.5))
    found = dict(zip(hits.docnos, hits.scores.tolist(), strict=True))
    for docno, words in short.items():  # lengths up to 40 are exact in a byte
        if "a" in words:
            tfn = words.count("a") * math.log2(1 + 2.5 * average / len(words))
            score = tfn / (tfn + 1) * math.log2((len(TEXTS) + 1) / (n + 0.5))
            assert found[docno] == pytest.approx(score, rel=1e-6)


def test_dph_is_its_formula(memory: MemoryIndex) -> None:
    counts = {docno: Counter(text.split()) for docno, text in TEXTS.items()}
    tokens = sum(count.total() for count in counts.values())
    hits = memory.search(["a b"], DPH(), depth=None)
    found = dict(zip(hits.docnos, hits.scores.tolist(), strict=True))
    for docno, count in counts.items():
        score = 0.0
        for term in "ab":
            tf, length = count[term], count.total()
            if tf:
                f = tf / length if tf < length else 0.99999
                rarity = tokens / len(counts) / sum(other[term] for other in counts.values())
                inner = tf * math.log2(tf / length * rarity * len(counts))
                inner += 0.5 * math.log2(2 * math.pi * tf * (1 - f))
                score += (1 - f) ** 2 / (tf + 1) * inner
        assert found.get(docno, 0.0) == pytest.approx(score, rel=1e-12, abs=1e-12)
    assert "one" in found  # nothing but the term: finite, not a number over nothing


def test_an_engine_without_a_model_says_who_has_it(lucene: LuceneIndex, memory) -> None:
    with pytest.raises(UsageError, match=r"no model 'dph'.*--engine memory.*bm25, qld, inl2"):
        lucene.search(["a"], DPH())

    class OfLucene(Model):
        """A model that Lucene alone has."""

        def similarity(self, *, exact_lengths):
            return BM25().similarity(exact_lengths=exact_lengths)

    with pytest.raises(UsageError, match=r"no model '.*OfLucene'.*--engine lucene"):
        memory.search(["a"], OfLucene())
    theirs, ours = lucene.search(["a"], OfLucene()), lucene.search(["a"], BM25())
    assert theirs.docnos.equals(ours.docnos)


def test_exact_lengths_are_for_bm25(make_index: Callable[..., LuceneIndex]) -> None:
    index = make_index(TEXTS, accurate_length=True, **PLAIN)
    assert index.search(["a"], BM25()).counts[0] > 5
    for model in (QLD(), InL2()):
        with pytest.raises(UsageError, match="which only BM25 reads"):
            index.search(["a"], model)


def test_arguments_are_checked_where_they_are_given() -> None:
    for wrong in (
        lambda: BM25(b=2),
        lambda: BM25(k2=1),
        lambda: QLD(mu=float("nan")),
        lambda: MODELS.make("bm25", {"k1": -1}),
        lambda: MODELS.make("bm25", {"mu": 1}),
        lambda: MODELS.make("bm52"),
    ):
        with pytest.raises(UsageError):
            wrong()
    assert MODELS.make("bm25", {"k1": "1.5"}) == BM25(k1=1.5)
