"""RELiC's construction, from books and criticism to windows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adducir.corpora.quotations.blocks import Block, grow_blocks, join_matches
from adducir.corpora.quotations.language import is_english
from adducir.corpora.quotations.matching import (
    Present,
    Sought,
    find_matches,
    present,
    resolve,
    seek,
)
from adducir.corpora.quotations.report import BookReport, Report
from adducir.corpora.quotations.rules import NOT_CRITICISM, Rules
from adducir.corpora.quotations.sources import Source
from adducir.corpora.quotations.windows import Window, fault_of, without_duplicates


@dataclass(frozen=True, slots=True)
class Built:
    """What was built.

    Attributes:
        books: The books, in the order of their names.
        windows: The windows, ordered by book, place in the book and work.
        report: The counts.
    """

    books: list[Source]
    windows: list[Window]
    report: Report


def find_quotations(
    books: Sequence[Source],
    works: Iterable[Source],
    rules: Rules | None = None,
) -> Built:
    """Find the quotations of books in works of criticism.

    Args:
        books: The primary sources.
        works: The secondary sources; each is held in memory only while it is searched.
        rules: Thresholds; by default RELiC's.
    """
    rules = rules or Rules()
    books = sorted(books, key=lambda book: book.name)
    sought = [seek(book.sentences, rules.words) for book in books]
    reports = [
        BookReport(book.name, len(book.sentences), len(one.places))
        for book, one in zip(books, sought, strict=True)
    ]
    report = Report(reports)
    windows: list[Window] = []
    for work in works:
        report.artefacts[work.name] = work.artefacts
        refusal = _refusal(work)
        if refusal:
            report.refused[work.name] = refusal
        else:
            report.works[work.name] = len(work.sentences)
            windows += _windows_of(work, books, sought, rules, reports)
    return Built(books, _finished(windows, reports, rules), report)


def _refusal(work: Source) -> str | None:
    """Why a work is not searched at all, or None."""
    if any(word in work.title.lower() for word in NOT_CRITICISM):
        return "anthology"
    return None if is_english(" ".join(work.sentences)) else "foreign"


def _windows_of(
    work: Source,
    books: Sequence[Source],
    sought: Sequence[Sought],
    rules: Rules,
    reports: Sequence[BookReport],
) -> list[Window]:
    """The windows of one work, with faulty ones counted and left out."""
    prepared = present(work.sentences)
    blocks = _blocks(prepared, sought, rules, reports)
    windows: list[Window] = []
    for block in blocks:
        report = reports[block.book]
        window = _window(block, work, books[block.book].name, rules)
        fault = fault_of(window, sought[block.book].texts, rules)
        if fault:
            report.dropped[fault] += 1
        else:
            windows.append(window)
    return windows


def _blocks(
    work: Present, sought: Sequence[Sought], rules: Rules, reports: Sequence[BookReport]
) -> list[Block]:
    """The quotations of a work, of the books that it quotes neither too rarely nor too often."""
    found = [
        match
        for number, book in enumerate(sought)
        for match in find_matches(number, book, work, rules.alike)
    ]
    matches = resolve(found)
    blocks = grow_blocks(join_matches(matches), work.texts, [book.texts for book in sought], rules)
    kept: list[Block] = []
    for number, report in enumerate(reports):
        count = sum(match.book == number for match in matches)
        own = [block for block in blocks if block.book == number]
        report.matches += count
        report.quotations += len(own)
        if rules.fewest <= count <= rules.most:
            kept += own
        elif own:
            report.dropped["few" if count < rules.fewest else "many"] += len(own)
    return sorted(kept, key=lambda block: block.first)


def _window(block: Block, work: Source, book: str, rules: Rules) -> Window:
    sentences = work.sentences
    return Window(
        book,
        work.name,
        tuple(sentences[max(0, block.first - rules.context) : block.first]),
        block.start,
        block.length,
        tuple(sentences[block.last : block.last + rules.context]),
        block.first,
        " ".join(sentences[block.first : block.last]),
    )


def _finished(
    windows: Iterable[Window], reports: Sequence[BookReport], rules: Rules
) -> list[Window]:
    """The windows in their order, without duplicates, and counted."""
    ordered = sorted(windows, key=lambda w: (w.book, w.start, w.length, w.work, w.place))
    kept: list[Window] = []
    for report in reports:
        own, dropped = without_duplicates(
            (window for window in ordered if window.book == report.name), rules.alike
        )
        if dropped:
            report.dropped["duplicate"] += dropped
        report.windows = len(own)
        for window in own:
            report.works[window.work] += 1
            report.lengths[window.length] += 1
        kept += own
    return kept
