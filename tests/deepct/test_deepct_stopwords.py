"""Stop lists: which words are in them, and that they can be told apart."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from adducir.core.errors import InputError, MachineError, UsageError
from adducir.deepct.stopwords import stop_words
from adducir.deepct.words import match_key, words


def test_our_list_holds_function_words_and_no_others() -> None:
    english = stop_words("english")
    assert stop_words("lucene").words < english.words
    assert {"the", "should", "don't", "against", "yourselves", "because"} <= english.words
    topical = {"people", "gun", "right", "good", "evidence", "year", "ban", "students", "death"}
    assert not topical & english.words


def test_every_word_of_our_list_is_one_that_words_can_give() -> None:
    for word in stop_words("english"):
        found = words(word)
        assert [match_key(each.text) for each in found] == [word]


def test_lucene_has_33_and_none_has_none() -> None:
    assert len(stop_words("lucene")) == 33
    assert len(stop_words("none")) == 0
    assert "the" not in stop_words("none")


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "stop.txt"
    path.write_text("# mine\nThe\n\ndon’t\n the \n", encoding="utf-8")
    assert list(stop_words(path)) == ["don't", "the"]
    path.write_text("a\ntwo words\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"stop.txt:2: .*several words"):
        stop_words(path)
    with pytest.raises(UsageError, match="is no stop list"):
        stop_words(tmp_path / "absent.txt")


def test_identity_is_of_the_words_not_of_the_name(tmp_path: Path) -> None:
    path = tmp_path / "copy.txt"
    path.write_text("\n".join(stop_words("lucene")), encoding="utf-8")
    assert stop_words(path).identity() == stop_words("lucene").identity()
    assert stop_words("english").identity() != stop_words("lucene").identity()


def test_nltks_list_where_it_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk.corpus", SimpleNamespace(stopwords=_Absent()))
    with pytest.raises(MachineError, match=r"nltk\.downloader stopwords"):
        stop_words("nltk")


def test_nltks_list_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    present = SimpleNamespace(words=lambda language: ["The", language])
    monkeypatch.setitem(sys.modules, "nltk.corpus", SimpleNamespace(stopwords=present))
    assert list(stop_words("nltk")) == ["english", "the"]


class _Absent:
    def words(self, language: str) -> list[str]:
        raise LookupError(language)
