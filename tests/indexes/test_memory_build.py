"""The files of a memory index, held to Lucene's analysis and to plain Python."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_corpus import ListCorpus

from adducir.core.errors import ArtifactError, InputError
from adducir.indexes import IndexSettings, build_index
from adducir.indexes.analysis import Analysis
from adducir.indexes.memory.builder import build_from_weights, build_memory_index
from adducir.indexes.memory.files import Arrays
from adducir.indexes.memory.forward import encode, terms_of
from adducir.indexes.memory.norms import norms_of

TEXTS = {
    "B": "The teacher's café naïve U.S. e-mail don't 3.14 1,000",
    "A": "running runners RUN ran; " * 300,
    "C": "",
    "D": "the of and",
    "E": "東京 Привет мир ಕನ್ನಡ 😀 ﬁne ǅ İstanbul straße",
    "F": "x" * 300 + " " + "y" * 5000 + " tail",
    "G": "O'Neill’s rock'n'roll and/or http://a.b/c?d=e me@x.org #tag a_b c-d",
    "é": "docno beyond ASCII",
}


def built(folder: Path, texts: dict[str, str], threads: int = 2, **settings: Any) -> Arrays:
    build_memory_index(ListCorpus(texts), folder, IndexSettings(**settings), threads=threads)
    return Arrays.open(folder)


def as_counts(arrays: Arrays) -> dict[str, Counter[str]]:
    """Each document's terms, read from the postings."""
    counts: dict[str, Counter[str]] = {docno: Counter() for docno in arrays.docnos}
    docnos = arrays.docnos.to_list()
    for number, term in enumerate(arrays.terms):
        first, last = arrays.offsets[number : number + 2]
        for doc, tf in zip(arrays.docs[first:last], arrays.tfs[first:last], strict=True):
            counts[docnos[doc]][term] += int(tf)
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("stemmer", ["porter", "krovetz", "none"])
@pytest.mark.parametrize("stopwords", ["lucene", "none", ("run", "tail")])
def test_terms_are_those_of_lucenes_analysis(tmp_path: Path, stemmer: str, stopwords: Any) -> None:
    analysis = Analysis(stemmer, stopwords)
    arrays = built(tmp_path / "index", TEXTS, analysis=analysis)
    expected = dict(zip(TEXTS, map(Counter, analysis.terms(list(TEXTS.values()))), strict=True))
    assert as_counts(arrays) == {docno: count for docno, count in expected.items() if count}


def test_counts_and_order(tmp_path: Path) -> None:
    manifest = build_memory_index(ListCorpus(TEXTS), tmp_path / "index")
    arrays = Arrays.open(tmp_path / "index")
    lucene = build_index(ListCorpus(TEXTS), tmp_path / "lucene")
    for name in ("documents", "indexed", "empty", "terms", "tokens"):
        assert manifest.counts[name] == lucene.counts[name], name
    assert (manifest.counts["documents"], manifest.counts["empty"]) == (8, 1)
    assert arrays.docnos.to_list() == ["A", "B", "E", "F", "G", "é"]
    frequencies = np.diff(arrays.offsets)
    assert (np.diff(frequencies) <= 0).all()
    assert arrays.lengths.sum() == arrays.tokens == manifest.counts["tokens"]
    assert arrays.collection.sum() == arrays.tokens
    for first, last in zip(arrays.offsets[:-1], arrays.offsets[1:], strict=True):
        assert (np.diff(arrays.docs[first:last]) > 0).all()


def test_forward_files_hold_the_same_as_the_postings(tmp_path: Path) -> None:
    arrays = built(tmp_path / "index", TEXTS)
    for row, (docno, expected) in enumerate(as_counts(arrays).items()):
        terms, tfs = terms_of(arrays.forward, *arrays.forward_offsets[row : row + 2])
        found = {arrays.terms[t]: tf for t, tf in zip(terms, tfs.tolist(), strict=True)}
        assert found == expected, docno


@pytest.mark.parametrize("threads", [1, 3])
def test_any_number_of_threads_gives_the_same_files(tmp_path: Path, threads: int) -> None:
    rng = np.random.default_rng(5)
    texts = {f"D{n}": " ".join(f"w{w}" for w in rng.zipf(1.3, 400) % 9999) for n in range(1500)}
    one = built(tmp_path / "one", texts, threads=2)
    other = built(tmp_path / "other", texts, threads=threads)
    assert one.terms == other.terms
    for name in ("offsets", "docs", "tfs", "forward", "forward_offsets", "lengths", "collection"):
        assert (getattr(one, name) == getattr(other, name)).all(), name


def test_frequencies_that_need_more_than_a_byte(tmp_path: Path) -> None:
    arrays = built(tmp_path / "index", {"a": "x", "b": "word " * 70_000, "c": "word y"})
    assert arrays.tfs.dtype == np.uint32
    assert as_counts(arrays)["b"] == {"word": 70_000}


def test_nothing_to_index(tmp_path: Path) -> None:
    arrays = built(tmp_path / "index", {"a": "", "b": "the"})
    assert (arrays.documents, arrays.terms, arrays.tokens) == (0, [], 0)


def test_weights_as_they_are(tmp_path: Path) -> None:
    documents = [("b", {"tax": 2.0, "law": 1.0}), ("a", {"law": 7.0, "zero": 0.0}), ("c", {})]
    settings = IndexSettings(analysis=Analysis("none"))
    build_from_weights(documents, tmp_path / "whole", settings, identity={"n": 1})
    assert as_counts(Arrays.open(tmp_path / "whole")) == {
        "a": {"law": 7},
        "b": {"law": 1, "tax": 2},
    }
    halves = [("a", {"law": 0.5}), ("b", {"law": 1.25})]
    build_from_weights(halves, tmp_path / "halves", settings, identity={"n": 2})
    arrays = Arrays.open(tmp_path / "halves")
    assert arrays.tfs.tolist() == [0.5, 1.25]
    assert arrays.lengths.tolist() == [0.5, 1.25]


def test_a_docno_twice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="twice"):
        build_from_weights(
            [("a", {"x": 1}), ("a", {"y": 1})], tmp_path / "i", IndexSettings(), identity={}
        )
    assert not (tmp_path / "i").exists()


def test_a_damaged_file_names_itself(tmp_path: Path) -> None:
    built(tmp_path / "index", TEXTS)
    (tmp_path / "index/lengths.npy").write_bytes(b"no array")
    with pytest.raises(ArtifactError, match=r"lengths\.npy.*--rebuild"):
        Arrays.open(tmp_path / "index")


@given(st.lists(st.dictionaries(st.integers(0, 2**31 - 1), st.integers(1, 2**31 - 1), max_size=20)))
def test_forward_code_round_trip(documents: list[dict[int, int]]) -> None:
    starts = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    pairs = [pair for document in documents for pair in sorted(document.items())]
    terms = np.array([term for term, _ in pairs], dtype=np.int32)
    tfs = np.array([tf for _, tf in pairs], dtype=np.int32)
    out = np.empty(10 * len(pairs) + 1, dtype=np.uint8)
    offsets = np.empty(len(documents) + 1, dtype=np.int64)
    encode(starts, terms, tfs, out, offsets)
    for document, first, last in zip(documents, offsets[:-1], offsets[1:], strict=True):
        found = terms_of(out, first, last)
        assert dict(zip(*map(np.ndarray.tolist, found), strict=True)) == document


def test_norms_are_lucenes(make_index: Callable[..., Any]) -> None:
    from adducir.indexes import jvm

    jvm.start()
    small = jvm.java_class("org.apache.lucene.util.SmallFloat")
    lengths = np.unique(np.concatenate([np.arange(3000), 2 ** np.arange(31) - 1, [2**31 - 1]]))
    expected = [small.intToByte4(int(length)) % 256 for length in lengths]
    assert norms_of(lengths).tolist() == expected
