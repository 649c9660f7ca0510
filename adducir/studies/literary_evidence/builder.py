"""The construction of windows, from books and criticism."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adducir.studies.literary_evidence.blocks import Block
from adducir.studies.literary_evidence.finding import Finder, SimilarSentences
from adducir.studies.literary_evidence.language import is_english
from adducir.studies.literary_evidence.report import BookReport, Report
from adducir.studies.literary_evidence.rules import NOT_CRITICISM, RELIC, Rules
from adducir.studies.literary_evidence.shared_words import SharedWords
from adducir.studies.literary_evidence.sources import Source
from adducir.studies.literary_evidence.windows import (
    Window,
    error_of,
    windows_of,
    without_duplicates,
)


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
        works: The secondary sources; each is held in memory only while it is searched.
        rules: The way to find quotations, and its thresholds; by default the strict ones.
    """
    rules = rules or Rules()
    books = sorted(books, key=lambda book: book.name)
    finder: Finder = (SimilarSentences if rules.name == RELIC else SharedWords)(books, rules)
    reports = [
        BookReport(book.name, len(book.sentences), sought)
        for book, sought in zip(books, finder.sought, strict=True)
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
            windows += _windows_of(work, books, finder, rules, reports)
    return Built(books, _finished(windows, reports, rules), report)


def _refusal(work: Source) -> str | None:
    """Why a work is not searched at all, or None."""
    if any(word in work.title.lower() for word in NOT_CRITICISM):
        return "anthology"
    return None if is_english(" ".join(work.sentences)) else "foreign"


def _windows_of(
    work: Source,
    books: Sequence[Source],
    finder: Finder,
    rules: Rules,
    reports: Sequence[BookReport],
) -> list[Window]:
    """The windows of one work, with malformed ones counted and left out."""
    windows: list[Window] = []
    for block in _blocks(work, finder, rules, reports):
        report, texts = reports[block.book], finder.texts[block.book]
        for window in windows_of(block, work, books[block.book].name, texts, rules):
            error = error_of(window, texts, rules)
            if error:
                report.dropped[error] += 1
            else:
                windows.append(window)
    return windows


def _blocks(
    work: Source, finder: Finder, rules: Rules, reports: Sequence[BookReport]
) -> list[Block]:
    """The quotations of a work, of the books that it quotes neither too rarely nor too often."""
    found = finder.find(work)
    kept: list[Block] = []
    for number, report in enumerate(reports):
        count = found.matches[number]
        own = [block for block in found.blocks if block.book == number]
        report.matches += count
        report.quotations += len(own) + found.shared[number]
        if found.shared[number]:
            report.dropped["shared"] += found.shared[number]
        most = report.sentences // 2 if rules.max_matches is None else rules.max_matches
        if rules.min_matches <= count <= max(most, rules.min_matches):
            kept += own
        elif own:
            report.dropped["few" if count < rules.min_matches else "many"] += len(own)
    return sorted(kept, key=lambda block: block.first)


def _finished(
    windows: Iterable[Window], reports: Sequence[BookReport], rules: Rules
) -> list[Window]:
    """The windows in their order, without duplicates, and counted."""
    ordered = sorted(windows, key=lambda w: (w.book, w.start, w.length, w.work, w.place))
    kept: list[Window] = []
    for report in reports:
        own, dropped = without_duplicates(
            (window for window in ordered if window.book == report.name), rules.min_similarity
        )
        if dropped:
            report.dropped["duplicate"] += dropped
        report.windows = len(own)
        for window in own:
            report.works[window.work] += 1
            report.lengths[window.length] += 1
        kept += own
    return kept
