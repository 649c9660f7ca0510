"""English analysis without Java: equal to Lucene's, by proof, by texts and by stored values."""

import hashlib
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import word_rules
from hypothesis import given
from hypothesis import strategies as st

from adducir.corpora.documents import text_of
from adducir.corpora.sources import open_corpus
from adducir.indexes import jvm
from adducir.indexes.analysis import Analysis
from adducir.indexes.building import packed
from adducir.indexes.text.analysers import EnglishAnalyser, TextAnalyser
from adducir.indexes.vocabulary import BulkAnalyser, bulk_analyser

with_lucene = pytest.mark.skipif(find_spec("pyserini") is None, reason="Lucene is not installed")

SAMPLES = [sign for name, sign in word_rules.CLASSES.items() if name != "Other"]
MORE = [*" \n\u00a0\u0085-’＇sSIİéÉßςΣÅK\U00010400\U00020000", "'s", "’S", "＇s", "ing", "a" * 250]
SIGNS = st.one_of(st.sampled_from(SAMPLES + MORE), st.characters(exclude_categories=["Cs"]))
MIXED = st.lists(SIGNS)
TEXTS = st.lists(MIXED.map("".join), max_size=20)


def in_bulk(analyser: BulkAnalyser, texts: Sequence[str]) -> list[list[str]]:
    """Each text's terms by an analyser of blocks."""
    analysed = []
    for docnos, block in packed((("", text.encode()) for text in texts), with_docnos=False):
        tokens, starts = analyser.tokens(len(docnos), block)
        terms = np.array([*analyser.terms(), ""], dtype=object)
        analysed += [part.tolist() for part in np.split(terms[tokens], starts[1:-1])]
    return analysed


def tokens_of_lucene(texts: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Each text's standard tokens with their types, by the installed Lucene."""
    chain = jvm.java_class("adducir.Analyzers").chain(["standard", "typeAsSynonym prefix=T"])
    joined = jvm.java_class("adducir.Analysis")(chain).terms(list(texts))
    rows = [text.split("\n") if text else [] for text in joined]
    return [[(t, kind[2:-1]) for t, kind in zip(row[::2], row[1::2], strict=True)] for row in rows]


@with_lucene
def test_the_rules_are_those_of_the_installed_tokeniser_for_every_text() -> None:
    assert list(word_rules.differences(word_rules.compiled(), word_rules.lucene())) == []


@with_lucene
def test_the_tables_are_those_of_the_rules_and_the_installed_java() -> None:
    assert word_rules.TABLE.read_text(encoding="ascii") == word_rules.written()


@with_lucene
@pytest.mark.parametrize("stopwords", ["lucene", "none", ("a", "1", "the", "ⓜ", "A")])
@pytest.mark.parametrize("stemmer", ["porter", "none"])
def test_any_texts(stemmer: str, stopwords: str | tuple[str, ...]) -> None:
    analysis = Analysis(stemmer, stopwords)
    lucene, bulk = Analysis(stemmer, stopwords, by_lucene=True), bulk_analyser(analysis)

    @given(TEXTS)
    def hold(texts: list[str]) -> None:
        terms = lucene.terms(texts)
        assert analysis.terms(texts) == terms
        assert in_bulk(bulk, texts) == terms

    hold()


@with_lucene
@given(TEXTS)
def test_tokens_and_their_types(texts: list[str]) -> None:
    english = EnglishAnalyser(stems=False)
    assert [list(english.tokens(text)) for text in texts] == tokens_of_lucene(texts)


@with_lucene
@given(TEXTS)
def test_any_texts_split_at_blanks(texts: list[str]) -> None:
    lucene, ours = Analysis(language="yo", by_lucene=True), Analysis(language="yo")
    terms = lucene.terms(texts)
    assert isinstance(ours.own, TextAnalyser)
    assert ours.terms(texts) == terms
    assert in_bulk(bulk_analyser(ours), texts) == terms


def every_code_point(step: int) -> list[str]:
    """Texts of every ``step``-th code point alone, doubled, and between letters and digits."""
    signs = [chr(code) for code in range(0, 0x110000, step) if not 0xD800 <= code < 0xE000]
    return [f"{c} {c}{c} a{c}b 1{c}2 A{c}'s {c}'S" for c in signs]


@with_lucene
@pytest.mark.slow
def test_every_code_point() -> None:
    """Every 97th is among the stored texts."""
    texts = every_code_point(1)
    assert in_bulk(bulk_analyser(Analysis()), texts) == Analysis(by_lucene=True).terms(texts)


@with_lucene
@pytest.mark.slow
def test_collections(collections: Path) -> None:
    ours, lucene = Analysis(), Analysis(by_lucene=True)
    bulk = bulk_analyser(ours)
    for source in ("cacm/corpus.jsonl", "touche/argsme-subset.jsonl"):
        corpus = open_corpus(str(collections / source))
        texts = [text_of(document, tuple(document.fields)) for document in corpus]
        terms = lucene.terms(texts)
        assert in_bulk(bulk, texts) == terms
        assert ours.terms(texts) == terms


ROOTS = "a b is so hop fail tan size controll rolle proba decid trouble meté über y ay syz"
ENDS = (
    "s es ies sses ed eed ing y e l ll at bl iz ational tional enci anci izer bli alli entli eli "
    "ousli ization ation ator alism iveness fulness ousness aliti iviti biliti logi icate ative "
    "alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent sion tion ion ou "
    "ism ate iti ous ive ize"
)
STORED = {  # digests of Lucene's terms
    "every string of three classes": "91e510e1f16849a2",
    "every two endings of some roots": "e30179a65289669c",
    "every 97th code point": "35e3e2ea2aad548e",
}


def stored_texts(name: str) -> list[str]:
    if name.startswith("every string"):
        return ["".join(signs) for signs in product(word_rules.CLASSES.values(), repeat=3)]
    if name.startswith("every two"):
        pairs = ["".join(pair) for pair in product(ROOTS.split(), ENDS.split())]
        return [" ".join(start + end for end in ENDS.split()) for start in pairs]
    return every_code_point(97)


def digest(terms: list[list[str]]) -> str:
    joined = "\n".join(" ".join(row) for row in terms)
    return hashlib.sha256(joined.encode()).hexdigest()[:16]


@with_lucene
@pytest.mark.parametrize("name", STORED)
def test_stored_values_are_lucenes(name: str) -> None:
    assert digest(Analysis(by_lucene=True).terms(stored_texts(name))) == STORED[name]


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("is_compiled", [False, True])
def test_terms_are_those_stored(name: str, is_compiled: bool, monkeypatch) -> None:
    monkeypatch.setattr("adducir.indexes.text.bulk.was_compiled", lambda _: is_compiled)
    texts = stored_texts(name)
    assert digest(Analysis().terms(texts)) == STORED[name]
    assert digest(in_bulk(bulk_analyser(Analysis()), texts)) == STORED[name]


TERMS = {
    "The dogs' owner’s CATS, running": "dog owner cat run",
    "İstanbul ΟΔΟΣ Straße ﬁne Ǆ": "istanbul οδοσ straße ﬁne ǆ",
    "can't U.S.A. 3.14 1,000 a:b C++ x_y": "can't u.s.a 3.14 1,000 a:b c x_y",
    "東京 カタカナ ﾊﾝｶｸ ひらがな 한국어 ภาษาไทย": "東 京 カタカナ ﾊﾝｶｸ ひ ら が な 한국어 ภาษาไทย",
    "👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇩🇪🇫 1️⃣ ☺": "👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇩🇪 1️⃣ ☺",
    "ש\"ס ז'ורנל cafe\u0301 \u00adsoft\u00adhyphen": "ש\"ס ז'ורנל cafe\u0301 soft\u00adhyphen",
    "a" * 254 + "\U00010400" + "b": "a" * 254 + " \U00010428b",
}


@pytest.mark.parametrize("text", TERMS)
def test_terms_of_some_texts(text: str) -> None:
    assert Analysis().terms([text]) == in_bulk(bulk_analyser(Analysis()), [text])
    assert " ".join(Analysis().terms([text])[0]) == TERMS[text]


def test_a_table_of_words_that_is_full() -> None:
    texts = [" ".join(f"w{number}x" for number in range(150_000)) + " the " + "é" * 700] * 2
    analysis = Analysis("none")
    assert in_bulk(bulk_analyser(analysis), texts) == analysis.terms(texts)
