"""The construction on real novels and real criticism."""

import random
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest

from adducir.studies.literary_evidence.alignment import share_words
from adducir.studies.literary_evidence.builder import Built, find_quotations
from adducir.studies.literary_evidence.construction import construct, relic_of, spans_of
from adducir.studies.literary_evidence.rules import rules_of
from adducir.studies.literary_evidence.similarity import count_words, normalise, normalised, ratio
from adducir.studies.literary_evidence.sources import Source, read_book, read_work

RELIC = rules_of("relic", {})
STRICT = {
    "105": 139,
    "121": 151,
    "1260": 44,
    "141": 29,
    "158": 239,
    "161": 24,
    "599": 20,
    "766": 0,
    "768": 124,
    "98": 0,
}
LICENCE = ("gutenberg", "electronic works", "redistribut", "trademark", "e-text", "etext")


@pytest.fixture(scope="module")
def persuasion(collections: Path) -> Source:
    return read_book(collections / "gutenberg/novels/105-persuasion.txt")


def check_windows(built: Built) -> None:
    """No licence, no quotation in its own context, and nothing but the books' own sentences."""
    sentences = {book.name: book.sentences for book in built.books}
    for window in built.windows:
        passage = sentences[window.book][window.start : window.start + window.length]
        assert 1 <= len(passage) == window.length <= 5
        assert len(window.left) <= 4 and len(window.right) <= 4
        whole = " ".join((window.context, *passage)).lower()
        assert not [word for word in LICENCE if word in whole]
        _check_own_context(passage, window.left, window.right)


def _check_own_context(passage: Sequence[str], *sides: Sequence[str]) -> None:
    """Search a context for its quotation by plain means: all pieces of 25 characters, all pairs."""
    quotation = normalise(" ".join(passage))
    pieces = {quotation[at : at + 25] for at in range(len(quotation) - 24)}
    for side in sides:
        context = normalise(" ".join(side))
        assert not [piece for piece in pieces if piece in context]
        for sentence in normalised(side):
            assert max(ratio(sentence, one) for one in normalised(passage)) < 80


def test_a_real_novel_in_real_criticism(persuasion: Source, collections: Path) -> None:
    work = read_work(collections / "gutenberg/criticism/52622-jane-austen-and-her-times.txt")
    built = find_quotations([persuasion], [work], RELIC)
    check_windows(built)
    (report,) = built.report.books
    assert (report.sentences, report.windows) == (4997, 5)
    # Each was read in both books.
    places = [(330, 3), (1196, 2), (1406, 3), (4626, 4), (4639, 5)]
    assert [(one.start, one.length) for one in built.windows] == places


def edited(sentence: str, rng: random.Random) -> str:
    """A critic's liberties: a word in ten left out (not the last), a bracket, a short form."""
    *words, last = sentence.split()
    kept = [word for word in words if rng.random() > 0.1]
    kept.insert(len(kept) // 2, "[sic]")
    return " ".join((*kept, last)).replace("Captain", "Capt")


def elided(sentence: str) -> str:
    """A sentence without the fourth of its words that is in the middle."""
    words = sentence.split()
    third = len(words) * 3 // 8
    return " ".join((*words[:third], ". . .", *words[third + len(words) // 4 :]))


def planted_file(path: Path, remarks: Sequence[str], quoted: Sequence[str]) -> None:
    """Write criticism with a quotation as a paragraph after every twelve sentences."""
    paragraphs: list[str] = []
    for at, quotation in enumerate(quoted):
        own = " ".join(remarks[12 * at : 12 * at + 12])
        paragraphs += [textwrap.fill(own, 70), textwrap.fill(f"“{quotation}”", 60)]
    path.write_text("\n\n".join([*paragraphs, " ".join(remarks[-8:])]), encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "length", "least"),
    [("exact", 1, 50), ("edited", 1, 48), ("elided", 1, 48), ("block", 3, 48), ("edited", 3, 42)],
)
def test_planted_gold_is_recovered(
    persuasion: Source, collections: Path, tmp_path: Path, kind: str, length: int, least: int
) -> None:
    """Fifty passages of the novel, in criticism that never quotes it."""
    rng = random.Random(13)
    sentences = persuasion.sentences
    long = [at for at in range(len(sentences) - 5) if count_words(sentences[at]) >= 16]
    starts = rng.sample(long, 50)
    quoted: list[str] = []
    for start in starts:
        passage = sentences[start : start + length]
        if kind == "edited":
            passage = [edited(one, rng) for one in passage]
        quoted.append(elided(passage[0]) if kind == "elided" else " ".join(passage))
    chesterton = read_work(next((collections / "gutenberg/criticism").glob("22362*")))
    remarks = [text for text in chesterton.sentences if count_words(text) > 8]
    planted_file(tmp_path / "planted.txt", remarks, quoted)
    built = find_quotations(
        [persuasion], [read_work(tmp_path / "planted.txt")], rules_of("relic", {"min_matches": 1})
    )
    check_windows(built)
    found = {(window.start, window.length) for window in built.windows}
    hit = [start for start in starts if (start, length) in found]
    assert len(hit) >= least, len(hit)
    for window in built.windows:  # nothing is found where nothing was planted
        ends = window.start, window.start + window.length
        assert any(start <= ends[0] and ends[1] <= start + length + 1 for start in starts)


@pytest.mark.slow
def test_all_novels_and_all_criticism(collections: Path) -> None:
    """The counts of RELiC's rules in docs/quotations.md, of which the small study was made."""
    folder = collections / "gutenberg"
    built = construct([folder / "novels"], [folder / "criticism"], RELIC)
    check_windows(built)
    counts = {one.name.partition("-")[0]: one.windows for one in built.report.books}
    assert counts == {
        "105": 62,
        "121": 58,
        "1260": 13,
        "141": 19,
        "158": 147,
        "161": 11,
        "599": 12,
        "766": 0,
        "768": 48,
        "98": 0,
    }
    assert built.report.dropped() == {"long": 191, "echo": 12, "few": 2, "duplicate": 1}
    total = sum(one.matches for one in built.report.books)
    assert (total, built.report.windows) == (1808, 370)
    relic, spans = relic_of(built), spans_of(built)
    assert sum(len(book.quotes) for book in relic.values()) == len(spans) == built.report.windows
    assert [span.id for span in spans] == [name for one in relic.values() for name in one.quotes]
    assert not [
        text
        for book in built.books
        for text in book.sentences
        if any(word in text.lower() for word in LICENCE[:4])
    ]


@pytest.mark.slow
def test_all_novels_by_the_strict_rules(collections: Path) -> None:
    """The counts in docs/quotations.md, and that no window shows its own quotation."""
    folder = collections / "gutenberg"
    built = construct([folder / "novels"], [folder / "criticism"])
    counts = {one.name.partition("-")[0]: one.windows for one in built.report.books}
    assert counts == STRICT
    sentences = {book.name: book.sentences for book in built.books}
    for window in built.windows:
        passage = sentences[window.book][window.start : window.start + window.length]
        assert 1 <= len(passage) == window.length <= 5
        whole = normalise(" ".join(passage))
        assert not [
            one for one in (*window.left, *window.right) if share_words(normalise(one), whole, 8)
        ]
