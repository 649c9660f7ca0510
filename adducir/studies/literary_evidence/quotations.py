"""Quotations from books in criticism: windows as in RELiC, and what was dropped and why."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from adducir.core.progress import progress
from adducir.corpora.spans import MaskedSpan
from adducir.studies.literary_evidence.finding import (
    AlikeSentences,
    Finder,
    Rules,
    Window,
    normalise,
)
from adducir.studies.literary_evidence.relic import RelicBook, RelicQuote, spans_of_relic
from adducir.studies.literary_evidence.shared_words import SharedWords
from adducir.studies.literary_evidence.sources import Source, is_english, read_source, text_files

NOT_CRITICISM = ("anthology", "cyclopaedia", "cyclopedia", "dictionary", "encyclop", "thesaurus")
"""Works with such titles are not criticism. RELiC names dictionary, anthology and encyclopedia."""
REASONS = {
    "anthology": "the work's title shows that it is not criticism",
    "foreign": "the work is not English",
    "few": "the work has too few matches of the book",
    "many": "the work has so many matches that it is another edition",
    "shared": "another book has the same words",
    "long": "the quotation has too many sentences",
    "bare": "the context is missing",
    "language": "the context is not English",
    "duplicate": "another copy of the work has the same window",
}
"""Why a quotation is dropped. The first four drop all of a work's quotations from a book."""


@dataclass(slots=True)
class BookCounts:
    """The counts of one book; ``matches`` include those in dropped works."""

    sentences: int
    sought: int
    matches: int = 0
    quotations: int = 0
    windows: int = 0
    works: set[str] = field(default_factory=set)
    dropped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Built:
    """Books by name, windows by book, position and work, and why works were not searched."""

    books: list[Source]
    windows: list[Window]
    counts: list[BookCounts]
    refused: dict[str, str]

    def rows(self) -> list[list[str]]:
        """A table of the books, as text: a header, a row per book, and totals."""
        used = [reason for reason in REASONS if any(count.dropped[reason] for count in self.counts)]
        head = ["book", "sentences", "sought", "matches", "quotations", "windows", "works", *used]
        numbers = [
            [
                count.sentences,
                count.sought,
                count.matches,
                count.quotations,
                count.windows,
                len(count.works),
            ]
            + [count.dropped[reason] for reason in used]
            for count in self.counts
        ]
        sums = [sum(column) for column in zip(*numbers, strict=True)]
        # A work may quote several books, so the numbers of works do not add up.
        sums[head.index("works") - 1] = len(set().union(*(count.works for count in self.counts)))
        names = [*(book.name for book in self.books), "all"]
        rows = ([name, *map(str, some)] for name, some in zip(names, [*numbers, sums], strict=True))
        return [head, *rows]

    def relic(self) -> dict[str, RelicBook]:
        """The windows in the form of RELiC's official files, numbered from 000000."""
        sentences = {book.name: book.sentences for book in self.books}
        quotes: dict[str, dict[str, RelicQuote]] = {}
        for number, window in enumerate(self.windows):
            quote = RelicQuote(list(window.left), window.start, window.length, list(window.right))
            quotes.setdefault(window.book, {})[f"{number:06}"] = quote
        return {name: RelicBook(some, sentences[name]) for name, some in quotes.items()}

    def spans(self, books: Mapping[str, RelicBook]) -> Iterable[MaskedSpan]:
        """The windows of some books as masked spans, with the same ids."""
        extra = {
            f"{number:06}": {"work": window.work, "sentence": window.place, "quoted": window.quoted}
            for number, window in enumerate(self.windows)
        }
        return spans_of_relic(books, extra)


def construct(primary: Sequence[Path], secondary: Sequence[Path], rules: Rules) -> Built:
    """Find quotations from books in criticism: text files, or folders of them."""

    def read(paths: Iterable[Path], *, is_work: bool = False) -> Iterator[Source]:
        for path in paths:
            yield read_source(path, is_work=is_work)
            progress().advance(1)

    paths = text_files(primary), text_files(secondary)
    with progress().doing("Reading books", len(paths[0]), "books"):
        books = [*read(paths[0])]
    with progress().doing("Searching criticism", len(paths[1]), "works"):
        return find_quotations(books, read(paths[1], is_work=True), rules)


def find_quotations(books: Sequence[Source], works: Iterable[Source], rules: Rules) -> Built:
    """Find quotations from books in works of criticism, one work in memory at a time."""
    books = sorted(books, key=lambda book: book.name)
    finder = (AlikeSentences if rules.rules == "relic" else SharedWords)(books, rules)
    counts = [
        BookCounts(len(book.sentences), sought)
        for book, sought in zip(books, finder.sought, strict=True)
    ]
    refused: dict[str, str] = {}
    windows: list[Window] = []
    for work in works:
        if any(word in work.title.lower() for word in NOT_CRITICISM):
            refused[work.name] = "anthology"
        elif not is_english(" ".join(work.sentences)):
            refused[work.name] = "foreign"
        else:
            windows += _windows_of(work, finder, counts)
    return Built(books, _without_duplicates(windows, finder, counts), counts, refused)


def _windows_of(work: Source, finder: Finder, counts: Sequence[BookCounts]) -> list[Window]:
    """The windows of a work, for the books that it quotes neither too rarely nor too often."""
    matched, rules = finder.find(work), finder.rules
    windows: list[Window] = []
    for number, count in enumerate(counts):
        quotations = [quotation for quotation in matched.quotations if quotation.book == number]
        matches, shared = matched.matches[number], matched.shared[number]
        count.matches += matches
        count.quotations += len(quotations) + shared
        count.dropped["shared"] += shared
        few = matches < rules.min_matches
        if few or matches > max(finder.max_matches(finder.books[number]), rules.min_matches):
            count.dropped["few" if few else "many"] += len(quotations)
            continue
        for window in (
            candidate for quotation in quotations for candidate in finder.windows(quotation, work)
        ):
            if window.length > rules.max_sentences:
                count.dropped["long"] += 1
            elif not window.left and not window.right:
                count.dropped["bare"] += 1
            elif not is_english(window.context):
                count.dropped["language"] += 1
            else:
                windows.append(window)
    return windows


def _without_duplicates(
    windows: Iterable[Window], finder: Finder, counts: Sequence[BookCounts]
) -> list[Window]:
    from rapidfuzz.fuzz import QRatio

    alike = finder.rules.min_similarity or 80.0
    of_book = {book.name: count for book, count in zip(finder.books, counts, strict=True)}
    contexts: dict[tuple[str, int, int], list[str]] = {}
    kept: list[Window] = []
    for window in sorted(windows, key=lambda window_: window_[:5]):
        context, count = normalise(window.context), of_book[window.book]
        same = contexts.setdefault(window[:3], [])
        if any(QRatio(context, kept_context) >= alike for kept_context in same):
            count.dropped["duplicate"] += 1
            continue
        same.append(context)
        count.windows += 1
        count.works.add(window.work)
        kept.append(window)
    return kept
