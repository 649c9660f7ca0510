"""Analysis: languages, in bulk as for whole texts, by both engines, and what is refused."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_corpus import ListCorpus, build_index

from adducir.core.errors import ArtifactError, MachineError, UsageError
from adducir.indexes import jvm
from adducir.indexes.analysis import Analysis
from adducir.indexes.feedback import RM3
from adducir.indexes.kinds import LANGUAGES
from adducir.indexes.lucene import LuceneIndex
from adducir.indexes.memory.index import MemoryIndex
from adducir.indexes.models import BM25
from adducir.indexes.settings import MemorySettings
from adducir.indexes.vocabulary import vocabulary_of

SIGNS = "aabeS09'’.,:;_-/@#! \t\n\r\v\f\x00\x85\u00a0\u00ad\u0301\u200b\u200d\u2028\u3000"
LETTERS = "éßİſµ東京カタｶﾀ한국ไทยקע״׳अनि😀🏽👩🩇🇪⃣\U00020000\ufe0f"
# fmt: off
WORDS = [
    "Häuser", "garçons", "l'avion", "книги", "домами", "كتاب", "الكتب", "किताबें", "বই", "কলম",
    "ಮನೆ", "بيوت", "σπίτια", "մեր", "მთა", "東京都", "집에서", "หนังสือ", "İstanbul", "dış",
    "çocuklar",
]
# fmt: on


def agree(analysis: Analysis) -> Callable[[Sequence[str]], None]:
    """Holds analysis in bulk to Lucene's of whole texts, which later texts share pieces with."""
    bulk, lucene = vocabulary_of(analysis), replace(analysis, by_lucene=True)

    def hold(texts: Sequence[str]) -> None:
        terms = lucene.terms(texts)
        starts, values = bulk.of_texts(texts, grow=True)
        assert values.tolist() == bulk.of_terms(terms, grow=False).values.tolist()
        assert [last - first for first, last in pairwise(starts)] == list(map(len, terms))

    return hold


@pytest.fixture(scope="module")
def english() -> Callable[[Sequence[str]], None]:
    return agree(Analysis())


LENGTHS = st.sampled_from([1, 47, 48, 49, 199, 200, 201, 254, 255, 256, 511, 1100])


@given(
    st.lists(st.tuples(LENGTHS, st.sampled_from("xé東.-'"), st.sampled_from(" \n-")), max_size=9)
)
def test_long_pieces_in_bulk(english, pieces: list[tuple[int, str, str]]) -> None:
    text = "".join(f"ab{sign * length}{blank}" for length, sign, blank in pieces)
    english([text, "dogs " + text])


def test_more_pieces_in_bulk_than_are_kept() -> None:
    words = " ".join(f"w{n}" for n in range(140_000))
    agree(Analysis("none", "none"))([words, words])


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code not in ("en", "th")])
def test_every_language_in_bulk(code: str) -> None:
    hold = agree(Analysis(language=code))
    assert "2026" in Analysis(language=code).terms(["2026 2027"])[0]
    pieces = st.sampled_from([*WORDS, *SIGNS, *LETTERS, " ", " "])

    @settings(max_examples=10, deadline=None)
    @given(st.lists(st.lists(pieces, max_size=15).map("".join), min_size=1, max_size=8))
    def held(texts: list[str]) -> None:
        hold(texts)

    held()


@pytest.mark.parametrize(
    ("analysis", "text", "terms"),
    [
        (Analysis(), "The dogs' quick/brown running at home-school", "dog quick brown run home"),
        (Analysis("none"), "organizations running", "organizations running"),
        (Analysis("porter"), "organizations running", "organ run"),
        (Analysis("krovetz"), "organizations running", "organization running"),
        (Analysis(stopwords="none"), "the dog", "the dog"),
        (Analysis(language="de"), "die Häuser und das Haus", "haus haus"),
        (Analysis("", "none", "de"), "Das Haus und der Hund", "das haus und der hund"),
        (Analysis(language="fr"), "l'avion des garçons", "avion garcon"),
        (Analysis(language="ru"), "домами и книги", "дом книг"),
        (Analysis(language="zh"), "東京都", "東京 京都"),
        (Analysis("", ("世界",), "ja"), "世界の本", "本"),
        (Analysis(language="sw"), "Watu wa Afrika", "Watu wa Afrika"),
    ],
)
def test_terms(analysis: Analysis, text: str, terms: str) -> None:
    assert analysis.terms([text])[0][: len(terms.split())] == terms.split()


@pytest.mark.parametrize("code", ["de", "fr", "da", "nl", "ru", "ar", "ja", "zh"])
def test_terms_are_those_of_pyserini(code: str) -> None:
    pytest.importorskip("pyserini")
    from pyserini.analysis import Analyzer, get_lucene_analyzer

    theirs, texts = Analyzer(get_lucene_analyzer(code)), [*WORDS, " ".join(WORDS)]
    assert Analysis(language=code).terms(texts) == [theirs.analyze(text) for text in texts]


def test_settings_and_stop_lists(tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("Haus\n\nhund\n")
    own = Analysis.of("", tmp_path / "stop.txt", "de")
    assert own.terms(["das Haus und der Hund"]) == [["das", "und", "der"]]
    assert Analysis.from_settings(own.settings()) == own
    assert Analysis() == Analysis("porter", "lucene", "en")
    assert Analysis().settings() == {"stemmer": "porter", "stopwords": "lucene"}
    plain = {"stemmer": "none", "stopwords": ["a"]}
    assert Analysis.from_settings(plain) == Analysis("none", ("a",))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("", "lucene", "dee"), "`de`"),
        (("porter", "lucene", "de"), "`lucene`"),
        (("snowball", "lucene", "en"), "`porter`"),
        (("", ("i",), "pl"), "Polish"),
    ],
)
def test_what_a_language_does_not_have(arguments: tuple[str, str, str], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        Analysis(*arguments)
    with pytest.raises(UsageError, match="nltk"):
        Analysis.of("porter", "nltk")


def test_thai_is_analysed_or_refused() -> None:
    try:
        found = Analysis(language="th").terms(["ภาษาไทย"])
    except MachineError as error:
        assert "Thai" in str(error)
    else:
        assert found == [["ภาษา", "ไทย"]]


def test_feedback_takes_terms_of_any_characters(tmp_path: Path, make_index) -> None:
    texts = {f"d{n}": f"слово{n} и другое{n} книга{n % 3}" for n in range(30)}
    texts |= {"a": "дом книги море", "b": "дом море Москва"}
    build_index(ListCorpus(texts), tmp_path / "memory", MemorySettings(language="ru"))
    lucene: LuceneIndex = make_index(texts, language="ru")
    one, other = (
        index.expand(["дом"], BM25(), RM3(fb_terms=5, fb_docs=5))[0]
        for index in (lucene, MemoryIndex(tmp_path / "memory"))
    )
    assert "мор" in one
    assert one == pytest.approx(other, rel=1e-7)


def test_an_index_analysed_by_another_lucene_is_refused(tmp_path: Path, monkeypatch) -> None:
    for language in ("en", "de"):
        own = MemorySettings(language=language)
        build_index(ListCorpus({"a": "Haus"}), tmp_path / language, own)
    monkeypatch.setattr(jvm, "lucene_version", lambda: 11)
    with pytest.raises(ArtifactError, match="rebuild=True"):
        MemoryIndex(tmp_path / "de")
    build_index(ListCorpus({"a": "Haus"}), tmp_path / "de", own)
    assert [len(MemoryIndex(tmp_path / language)) for language in ("en", "de")] == [1, 1]
