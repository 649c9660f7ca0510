"""Words as an index has them, BERT's basic words, and the keys under which words meet."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adducir.corpora.sources import open_corpus
from adducir.deepct import terms as module
from adducir.deepct.terms import LONGEST, Word, basic_words, match_key, words


def texts(text: str) -> list[str]:
    return [word.text for word in words(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t ", []),
        ("?! -- ___ ...", []),
        ("Guns kill.", ["Guns", "kill"]),
        ("don't", ["don't"]),
        ("don’t", ["don’t"]),
        ("'quoted' dogs'", ["quoted", "dogs"]),
        ("John's rock'n'roll", ["John's", "rock'n'roll"]),
        ("e-mail pro/con", ["e", "mail", "pro", "con"]),
        ("1,000.5 3.14 10%", ["1,000.5", "3.14", "10"]),
        ("1, 2;3 4.", ["1", "2;3", "4"]),
        ("U.S.A. i.e. www.debate.org", ["U.S.A", "i.e", "www.debate.org"]),
        ("one..two a.1 1.a", ["one", "two", "a", "1", "1", "a"]),
        ("pro:con 12:30", ["pro:con", "12", "30"]),
        ("CO2 3rd x_1 _y_", ["CO2", "3rd", "x_1", "_y_"]),
        ("café e\u0301te\u0301", ["café", "e\u0301te\u0301"]),
        ("Straße Ελλάδα", ["Straße", "Ελλάδα"]),
        ("日本語 ひら カタカナ", ["日", "本", "語", "ひ", "ら", "カタカナ"]),
        ("ภาษาไทย 한국어", ["ภาษาไทย", "한국어"]),
        ("yes 🎉 no™", ["yes", "no"]),
    ],
)
def test_words_by_hand(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_places_and_a_word_beyond_lucenes_limit() -> None:
    assert words("A dog's é") == [Word(0, 1, "A"), Word(2, 7, "dog's"), Word(8, 9, "é")]
    assert LONGEST == 255
    long = "x" * (2 * LONGEST + 3)
    assert [(w.start, len(w.text)) for w in words(f"a {long} b")] == [
        (0, 1),
        (2, LONGEST),
        (2 + LONGEST, LONGEST),
        (2 + 2 * LONGEST, 3),
        (6 + 2 * LONGEST, 1),
    ]
    assert len(words("x" * LONGEST)) == 1


@given(st.text() | st.text(alphabet="aB1_'’.,:;- \né日ひカ\u0301\u200d"))
def test_words_are_slices_in_order(text: str) -> None:
    end = 0
    for word in words(text):
        assert end <= word.start < word.end
        assert text[word.start : word.end] == word.text
        assert any(character.isalnum() for character in word.text) or not word.text.isascii()
        end = word.end


@given(st.text(alphabet="abZ019_'.,:;- \n\"", max_size=40))
@example("a.b'c:d,e;f_1.2'3,4;5:6")
def test_the_quick_pattern_for_ascii_is_the_same(text: str) -> None:
    spans = [match.span() for match in module._UNICODE.finditer(text)]
    assert [(word.start, word.end) for word in words(text)] == spans


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("Dogs", "dogs"),
        ("Dog's", "dog"),
        ("DOG'S", "dog"),
        ("dog’s", "dog"),
        ("don’t", "don't"),
        ("it's", "it"),
        ("s", "s"),
        ("Été", "été"),
    ],
)
def test_keys(word: str, key: str) -> None:
    assert match_key(word) == key


def test_basic_words_by_hand() -> None:
    text = "Don't  CAFÉ e-mail\x00 日本."
    found = basic_words(text)
    assert [word.text for word in found] == [
        *("don", "'", "t", "cafe", "e", "-", "mail", "日", "本", ".")
    ]
    assert [text[word.start : word.end] for word in found] == [
        *("Don", "'", "t", "CAFÉ", "e", "-", "mail", "日", "本", ".")
    ]
    assert words(text, whole=False) == found
    assert basic_words(" ") == basic_words("") == []


def _basic_reference(text: str) -> list[str]:
    """BERT's basic tokenisation character by character (Devlin et al., tokenization.py)."""
    spaced = "".join(f" {c} " if "\u4e00" <= c <= "\u9fff" else c for c in text)
    plain = "".join(
        c for c in unicodedata.normalize("NFD", spaced.lower()) if unicodedata.category(c) != "Mn"
    )
    return "".join(
        f" {c} " if c in "!\"#$%'()*+,-./:;<=>?@[]^_`{|}~&\\" or _is_punctuation(c) else c
        for c in plain
    ).split()


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character).startswith("P")


@given(st.text(alphabet="aBcZ09 \n\t'-_.,$^~’–«»éÉüÑçø日本ΩДж", max_size=60))
def test_basic_words_follow_bert(text: str) -> None:
    assert [word.text for word in basic_words(text)] == _basic_reference(text)


@pytest.mark.slow
def test_words_are_those_of_lucenes_analyser(collections: Path) -> None:
    """Token by token on real arguments: all but emoji (the sign ™ is one to Lucene)."""
    from adducir.indexes.analysis import Analysis

    corpus = open_corpus(collections / "touche/argsme-subset.jsonl")
    premises = [document.fields["premise"] for document in corpus] + ["x" * 600]
    lucene = Analysis(stemmer="none", stopwords="none").terms(premises)
    count = 0
    for premise, terms in zip(premises, lucene, strict=True):
        ours = [match_key(word.text) for word in words(premise)]
        assert ours == [term.replace("’", "'") for term in terms if term not in "™😀"]
        count += len(terms)
    assert count == 2_226_615 + 3
