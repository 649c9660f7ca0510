"""Targets by hand, and query term recall against its definition."""

import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from adducir.core.errors import InputError, MachineError, UsageError
from adducir.deepct.terms import (
    Targets,
    Tokenization,
    basic_words,
    match_key,
    query_term_recall,
    stop_words,
    words,
)

ENGLISH = stop_words("english")


def positive(found: Targets) -> list[str]:
    return [word.text for word, value in zip(found.words, found.values, strict=True) if value]


def by_reference(passage: str, reference: str, tokenization: Tokenization = "lucene") -> list[str]:
    return positive(
        query_term_recall(passage, [reference], stop_words=ENGLISH, tokenization=tokenization)
    )


@pytest.mark.parametrize(
    ("passage", "reference", "expected"),
    [
        # possessives, on either side and with either apostrophe
        ("The school's uniform", "Schools need rules", ["school's"]),
        ("schools", "the school’s roof", ["schools"]),
        ("it's its", "it's its", []),
        # hyphens: two words each
        ("e-mail is not snail-mail", "email", []),
        ("e-mail is not snail-mail", "mail", ["mail", "mail"]),
        # short forms are one word, and stop words
        ("They don't. We can’t. We won't.", "don't can't won't", []),
        ("rock'n'roll", "roll", []),
        # accents are letters of their own in an index without folding
        ("café Café cafe", "CAFÉ", ["café", "Café"]),
        # stems that meet, and stems that do not
        ("argue argues arguing argument", "Arguments", ["argument"]),
        ("argue argues arguing argument", "argued", ["argue", "argues", "arguing"]),
        ("universe university", "universities", ["universe", "university"]),
        ("policy police", "policies", ["policy"]),
        ("relational relate", "relation", ["relational", "relate"]),
        # stop words on either side, recognised before stemming: "being" is one, "beings" is not
        ("being the beings", "beings being", ["beings"]),
        # numbers, case, repetition
        ("In 2020, 1,000 GUNS and guns", "2020: 1,000 guns", ["2020", "1,000", "GUNS", "guns"]),
        ("", "guns", []),
        ("guns", "", []),
    ],
)
def test_reference_targets_by_hand(passage: str, reference: str, expected: list[str]) -> None:
    assert by_reference(passage, reference) == expected


def test_values_stand_beside_their_words() -> None:
    found = query_term_recall("The guns: do ban guns!", ["Ban guns"], stop_words=ENGLISH)
    assert found.words == words("The guns: do ban guns!")
    assert found.values == [0.0, 1.0, 0.0, 1.0, 1.0]
    assert found.is_stop == [True, False, True, False, False]


def test_query_term_recall_by_hand() -> None:
    queries = ["ban guns", "Gun laws and more laws", "the", "tax law"]
    found = query_term_recall("Laws ban the gun, taxes", queries, stop_words=ENGLISH)
    assert [word.text for word in found.words] == ["Laws", "ban", "the", "gun", "taxes"]
    assert found.values == [0.5, 0.25, 0.0, 0.5, 0.25]


WORDS = st.sampled_from(["gun", "guns", "law", "Law's", "the", "and", "tax", "taxing", "é", "2nd"])
SENTENCES = st.lists(WORDS, max_size=8).map(" ".join)


@given(SENTENCES, st.lists(SENTENCES, min_size=1, max_size=5))
def test_query_term_recall_is_its_definition(passage: str, queries: list[str]) -> None:
    """QTR(t, d): the number of d's queries that hold t, over the number of d's queries."""
    stemmer = PorterStemmer()

    def stems(text: str) -> set[str]:
        plain = [word.lower().removesuffix("'s") for word in text.split()]
        return {stemmer.stem(word) for word in plain if word not in ("the", "and")}

    expected = []
    for word in passage.split():
        term = stems(word)
        holding = [query for query in queries if term and term <= stems(query)]
        expected.append(float(Fraction(len(holding), len(queries))))
    found = query_term_recall(passage, queries, stop_words=stop_words("lucene"))
    assert found.values == pytest.approx(expected, abs=0)


@pytest.mark.parametrize(
    ("passage", "reference", "expected"),
    [
        # 's goes, and BERT's own "s" of it is a stop word
        ("The school's uniform", "schools", ["school"]),
        # every other mark cuts, also inside a word
        ("e-mail", "mail", ["mail"]),
        ("rock'n'roll", "roll", ["roll"]),
        # the typographic form of 's is not taken off, but cut
        ("school’s", "schools", ["school"]),
        # an accent is no ASCII letter: the token is "caf", the word that looks it up "cafe"
        ("café", "café", []),
        ("cafe", "café", []),
        # NLTK's tokeniser cuts "gonna" into "gon" and "na", BERT's words do not
        ("gonna", "gonna", []),
        ("Guns GUN", "gun", ["guns", "gun"]),
        # 's is taken off wherever it stands
        ("hop shop", "the 'shop' sells", ["hop"]),
    ],
)
def test_original_keys_by_hand(passage: str, reference: str, expected: list[str]) -> None:
    assert by_reference(passage, reference, tokenization="bert") == expected


def test_original_targets_stand_beside_berts_words() -> None:
    found = query_term_recall("The guns, guns.", ["gun"], stop_words=ENGLISH, tokenization="bert")
    assert found.words == basic_words("The guns, guns.")
    assert found.values == [0.0, 1.0, 0.0, 1.0, 0.0]
    assert found.is_stop == [True, False, False, False, False]


def test_original_recall_counts_queries_without_terms() -> None:
    found = query_term_recall(
        "gun", ["gun", "the", "guns", "?"], stop_words=ENGLISH, tokenization="bert"
    )
    assert found.values == [0.5]


def test_stop_lists(tmp_path: Path) -> None:
    assert stop_words("lucene") < ENGLISH
    assert (len(stop_words("lucene")), len(stop_words("none"))) == (33, 0)
    assert {"the", "should", "don't", "against", "yourselves", "because"} <= ENGLISH
    assert not {"people", "gun", "right", "good", "evidence", "year"} & ENGLISH
    for word in ENGLISH:  # each is one that words() can give
        assert [match_key(each.text) for each in words(word)] == [word]
    path = tmp_path / "stop.txt"
    path.write_text("# mine\nThe\n\ndon’t\n the \n", encoding="utf-8")
    assert stop_words(path) == {"don't", "the"}
    path.write_text("\n".join(stop_words("lucene")), encoding="utf-8")
    assert stop_words(path) == stop_words("lucene")
    path.write_text("a\ntwo words\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"stop.txt:2"):
        stop_words(path)
    with pytest.raises(UsageError):
        stop_words(tmp_path / "absent.txt")


def test_nltks_list_where_it_is_and_where_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    present = SimpleNamespace(words=lambda language: ["The", language])
    monkeypatch.setitem(sys.modules, "nltk.corpus", SimpleNamespace(stopwords=present))
    assert stop_words("nltk") == {"english", "the"}

    def absent(language: str) -> list[str]:
        raise LookupError(language)

    monkeypatch.setattr(present, "words", absent)
    with pytest.raises(MachineError, match=r"nltk\.downloader stopwords"):
        stop_words("nltk")
