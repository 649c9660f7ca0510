"""Languages: terms, both engines, feedback, manifests, errors, and those of other packages."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_corpus import ListCorpus
from test_memory_analysis import LETTERS, SIGNS, in_bulk

from adducir.core.artifacts import read_manifest
from adducir.core.errors import MachineError, UsageError
from adducir.indexes import IndexSettings, LuceneIndex, MemoryIndex
from adducir.indexes.analysis import Analysis
from adducir.indexes.feedback import BM25PRF, RM3
from adducir.indexes.languages import LANGUAGES
from adducir.indexes.lucene_builder import build_index
from adducir.indexes.memory.builder import build_memory_index
from adducir.indexes.memory.filling import Analyser
from adducir.indexes.models import BM25

GERMAN = {
    "d1": "Die Häuser der Stadt sind alt und schön.",
    "d2": "Ein Haus am See, und noch ein Haus.",
    "d3": "Der Hund läuft; die Hunde bellen.",
    "d4": "The houses of the town.",
    "d5": "Straßenbahnen fahren in der Stadt, nicht am See.",
}
# fmt: off
WORDS = [
    "Häuser", "garçons", "l'avion", "книги", "домами", "كتاب", "الكتب", "किताबें", "বই", "কলম",
    "ಮನೆ", "بيوت", "σπίτια", "մեր", "მთა", "東京都", "집에서", "หนังสือ", "İstanbul", "dış",
    "çocuklar",
]
# fmt: on


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != "th"])
def test_every_language_has_an_analyser(code: str) -> None:
    assert "2026" in Analysis(language=code).terms(["2026 2027"])[0]


@pytest.mark.parametrize(
    ("code", "text", "terms"),
    [
        ("de", "die Häuser und das Haus", ["haus", "haus"]),
        ("fr", "l'avion des garçons", ["avion", "garcon"]),
        ("ru", "домами и книги", ["дом", "книг"]),
        ("zh", "東京都", ["東京", "京都"]),
        ("sw", "Watu wa Afrika", ["Watu", "wa", "Afrika"]),
    ],
)
def test_terms(code: str, text: str, terms: list[str]) -> None:
    assert Analysis(language=code).terms([text]) == [terms]


@pytest.mark.parametrize("code", ["de", "fr", "da", "nl", "ru", "ar", "ja", "zh"])
def test_terms_are_those_of_pyserini(code: str) -> None:
    pytest.importorskip("pyserini")
    from pyserini.analysis import Analyzer, get_lucene_analyzer

    theirs = Analyzer(get_lucene_analyzer(code))
    texts = [*GERMAN.values(), " ".join(WORDS)]
    assert Analysis(language=code).terms(texts) == [theirs.analyze(text) for text in texts]


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code not in ("en", "th")])
def test_in_bulk_terms_are_those_of_whole_texts(code: str) -> None:
    analysis = Analysis(language=code)
    analyser = Analyser(analysis)
    pieces = st.sampled_from([*WORDS, *SIGNS, *LETTERS, " ", " "])

    @settings(max_examples=10, deadline=None)
    @given(st.lists(st.lists(pieces, max_size=15).map("".join), min_size=1, max_size=8))
    def agree(texts: list[str]) -> None:
        assert in_bulk(analyser, texts) == analysis.terms(texts)

    agree()


def test_stop_words_of_ones_own_and_none(tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("haus\n")
    text = ["Das Haus und der Hund"]
    assert Analysis.of("", "none", "de").terms(text) == [["das", "haus", "und", "der", "hund"]]
    own = Analysis.of("", tmp_path / "stop.txt", "de")
    assert own.terms(text) == [["das", "und", "der", "hund"]]
    assert Analysis.from_settings(own.settings()) == own
    assert Analysis("", ("世界",), "ja").terms(["世界の本"]) == [["本"]]


def test_english_is_what_it_was() -> None:
    assert Analysis() == Analysis("porter", "lucene", "en")
    assert Analysis().settings() == {"stemmer": "porter", "stopwords": "lucene"}
    assert Analysis.from_settings({"stemmer": "none", "stopwords": ["a"]}) == Analysis(
        "none", ("a",)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", "lucene", "dee"), r"there is no language 'dee'; did you mean `de`\?"),
        (("porter", "lucene", "de"), "German has no stemmer 'porter', but `lucene`"),
        (("snowball", "lucene", "en"), "English has no stemmer 'snowball', but `porter` or"),
        (("", ("i",), "pl"), "Lucene's analyser of Polish takes no stop words"),
    ],
)
def test_what_a_language_has_not(arguments: tuple[str, str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Analysis(*arguments)


def test_thai_is_analysed_or_refused() -> None:
    try:
        found = Analysis(language="th").terms(["ภาษาไทย"])
    except MachineError as error:
        assert "Thai cannot be analysed here" in str(error)
    else:
        assert found == [["ภาษา", "ไทย"]]


def test_both_engines_find_the_same(tmp_path: Path) -> None:
    analysed = IndexSettings(analysis=Analysis(language="de"))
    build_index(ListCorpus(GERMAN), tmp_path / "lucene", analysed)
    build_memory_index(ListCorpus(GERMAN), tmp_path / "memory", analysed)
    lucene, memory = LuceneIndex(tmp_path / "lucene"), MemoryIndex(tmp_path / "memory")
    queries = ["Haus", "der Hund", "alte Städte", "Strassenbahn"]
    one, other = (index.search(queries, BM25()) for index in (lucene, memory))
    assert sorted(one.docnos.to_list()[: one.counts[0]]) == ["d1", "d2"]
    assert one.counts.tolist() == [2, 1, 2, 1]
    assert one.docnos.to_list() == other.docnos.to_list()
    assert one.scores.tolist() == other.scores.tolist()
    analysis = read_manifest(tmp_path / "memory").recipe["analysis"]
    assert analysis == {"stemmer": "lucene", "stopwords": "lucene", "language": "de"}


def test_feedback_takes_terms_of_any_characters(tmp_path: Path) -> None:
    texts = {f"d{n}": f"слово{n} и другое{n} книга{n % 3}" for n in range(30)}
    texts |= {"a": "дом книги море", "b": "дом море Москва"}
    analysed = IndexSettings(analysis=Analysis(language="ru"))
    build_index(ListCorpus(texts), tmp_path / "lucene", analysed)
    build_memory_index(ListCorpus(texts), tmp_path / "memory", analysed)
    one, other = (
        index.expand(["дом"], BM25(), RM3(fb_terms=5, fb_docs=5))[0]
        for index in (LuceneIndex(tmp_path / "lucene"), MemoryIndex(tmp_path / "memory"))
    )
    assert "мор" in one
    assert one == pytest.approx(other, rel=1e-7)
    memory = MemoryIndex(tmp_path / "memory")
    rm3 = RM3(fb_terms=5, fb_docs=5)
    counts, found = memory._first(["дом"], BM25(), rm3, 1)
    (by_its_formula,) = memory._feedback._expanded(counts, found, rm3)
    assert by_its_formula == other
    for index in (LuceneIndex(tmp_path / "lucene"), memory):
        assert "мор" in index.expand(["дом"], BM25(), BM25PRF(fb_docs=5))[0]


def test_the_documents_list_every_language() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "indexes.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)` \| ([\w ]+) \|", page, re.MULTILINE)
    assert rows == [(code, LANGUAGES.kind(code).label) for code in LANGUAGES]
