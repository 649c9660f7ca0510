"""What a collection of literary evidence holds: Table 1, appendix A.3 and Figure 2 of RELiC.

A *work* is a critic's text (a secondary source). RELiC's files do not name works; the masked spans
that ``quotations`` writes do. Words are separated by white space. Quotations whose place is hidden
count as windows, and for their length in sentences.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from adducir.studies.literary_evidence.relic import LENGTHS, RelicBook
from adducir.tables.build import figure_table
from adducir.tables.table import Column, Layout, ResultTable

_COUNTS = ("Books", "Windows", "Sentences")


@dataclass
class BookFigures:
    """Sums over the quotations of one book, or of several."""

    books: int = 0
    sentences: int = 0
    context: list[int] = field(default_factory=list)  # words of each window's context
    quotation: list[int] = field(default_factory=list)  # words of each quotation
    lengths: Counter[int] = field(default_factory=Counter)  # windows by sentences of the quotation
    works: Counter[str] = field(default_factory=Counter)  # windows by work
    of_books: list[tuple[float, int]] = field(default_factory=list)  # share quoted, and works

    @classmethod
    def of(cls, book: RelicBook, works: Mapping[str, str]) -> "BookFigures":
        figures, places = cls(1, len(book.sentences)), set[int]()
        for name, (left, start, length, right) in book.quotes.items():
            figures.context.append(_words([*left, *right]))
            figures.lengths[length] += 1
            if name in works:
                figures.works[works[name]] += 1
            if start is not None:
                places.update(range(start, start + length))
                figures.quotation.append(_words(book.sentences[start : start + length]))
        figures.of_books = [(len(places) / max(1, len(book.sentences)), len(figures.works))]
        return figures

    @classmethod
    def sum(cls, parts: Iterable["BookFigures"]) -> "BookFigures":
        total = cls()
        for part in parts:
            for name, value in vars(part).items():
                setattr(total, name, getattr(total, name) + value)
        return total

    def cells(self, *, with_works: bool) -> list[float | None]:
        windows = self.lengths.total()
        shares, works = zip(*self.of_books, strict=True) if self.of_books else ((), ())
        cells: list[float | None] = [self.books, windows, self.sentences]
        cells += [_mean(self.context), _mean(self.quotation), _mean(shares)]
        cells.append(windows / self.books if self.books else None)
        if with_works:
            cells += [len(self.works), _mean(works), _mean(self.works.values())]
        return [*cells, *(self.lengths[n] / windows if windows else None for n in LENGTHS)]


def _words(sentences: Iterable[str]) -> int:
    return sum(len(sentence.split()) for sentence in sentences)


def _mean(values: Iterable[float]) -> float | None:
    held = [*values]
    return float(np.mean(held)) if held else None


def collection_table(
    files: Mapping[str, Mapping[str, RelicBook]],
    layout: Layout,
    works: Mapping[str, str],
    *,
    by_book: bool = False,
) -> ResultTable:
    """A row per file, or per book, and one for all; ``works`` are those of windows, by id."""
    parts = {
        file: {title: BookFigures.of(book, works) for title, book in books.items()}
        for file, books in files.items()
    }
    rows = {file: BookFigures.sum(of_books.values()) for file, of_books in parts.items()}
    if by_book:
        several = len(parts) > 1
        rows = {
            f"{file}: {title}" if several else title: figures
            for file, of_books in parts.items()
            for title, figures in of_books.items()
        }
    if len(rows) > 1:
        rows["all"] = BookFigures.sum(rows.values())
    names = ["Words of context", "Words of quotation", "Share quoted", "Windows per book"]
    heads = [
        *(Column(name, descriptive=True, summed=True) for name in _COUNTS),
        *(Column(name, descriptive=True) for name in names),
    ]
    if works:
        heads += [
            Column("Works", descriptive=True, summed=True),
            Column("Works per book", descriptive=True),
            Column("Windows per work", descriptive=True),
        ]
    heads += [Column(f"{n}", "Sentences of quotation", descriptive=True) for n in LENGTHS]
    notes = [
        "Share quoted: of a book's sentences, the mean over books. Sentences of quotation: shares "
        "of the windows."
    ]
    cells = {name: figures.cells(with_works=bool(works)) for name, figures in rows.items()}
    return figure_table(heads, cells, replace(layout, notes=notes, unit="book"))
