"""English analysis without Java: equal to Lucene's, by proof, by texts and by stored values."""

from collections.abc import Sequence

import numpy as np
import pytest
import word_rules
from hypothesis import given
from hypothesis import strategies as st

from adducir.indexes import jvm
from adducir.indexes.analysis import Analysis
from adducir.indexes.building import packed
from adducir.indexes.text.analysers import EnglishAnalyser, TextAnalyser
from adducir.indexes.vocabulary import BulkAnalyser, bulk_analyser

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


def test_the_rules_are_those_of_the_installed_tokeniser_for_every_text() -> None:
    assert list(word_rules.differences(word_rules.compiled(), word_rules.lucene())) == []


def test_the_tables_are_those_of_the_rules_and_the_installed_java() -> None:
    assert word_rules.TABLE.read_text(encoding="ascii") == word_rules.written()


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


@given(TEXTS)
def test_tokens_and_their_types(texts: list[str]) -> None:
    english = EnglishAnalyser(stems=False)
    assert [list(english.tokens(text)) for text in texts] == tokens_of_lucene(texts)


@given(TEXTS)
def test_any_texts_split_at_blanks(texts: list[str]) -> None:
    lucene, ours = Analysis(language="yo", by_lucene=True), Analysis(language="yo")
    terms = lucene.terms(texts)
    assert isinstance(ours.own, TextAnalyser)
    assert ours.terms(texts) == terms
    assert in_bulk(bulk_analyser(ours), texts) == terms
