"""Coverage of quotation windows: which shared runs of words lie in one.

A run is 26 words or more that a book and a work of criticism have in common, found over the raw
texts by looking up every 26 words of one in the other: no sentences, no likeness, nothing of
Adducir's search. It is covered where a window's passage holds half of it, or 26 of its words, and
the window stands there in the criticism.

    ADDUCIR_COLLECTIONS=... python benchmarks/quotations.py [--rules strict] [--show]
"""

import argparse
import os
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from adducir.core.files import read_text
from adducir.studies.books import body
from adducir.studies.literary_evidence.finding import Rules
from adducir.studies.literary_evidence.quotations import Built, find_quotations
from adducir.studies.literary_evidence.sources import Source, read_source, text_files

LEAST = 26
WORD = re.compile(r"[^\W_]+")


class Text(NamedTuple):
    """Words, and the sentence of each."""

    words: list[str]
    sentences: list[int]

    def place(self, run: Sequence[str], places: dict[tuple[str, ...], int]) -> int | None:
        """Where a run begins, although reading may have taken a note out of it; None: nowhere."""
        for at in range(len(run) - LEAST + 1):
            found = places.get(tuple(run[at : at + LEAST]))
            if found is not None:
                return found - at
        return None


def text_of(source: Source) -> Text:
    pairs = [(word, n) for n, text in enumerate(source.sentences) for word in words_of(text)]
    return Text([word for word, _ in pairs], [number for _, number in pairs])


def words_of(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]


def places_of(words: Sequence[str]) -> dict[tuple[str, ...], int]:
    return {tuple(words[at : at + LEAST]): at for at in range(len(words) - LEAST + 1)}


def shared_runs(book: Sequence[str], work: Sequence[str]) -> Iterator[list[str]]:
    """Every longest run of words of the work that the book has as well."""
    places = defaultdict(list)
    for at in range(len(book) - LEAST + 1):
        places[hash(tuple(book[at : at + LEAST]))].append(at)
    known: set[tuple[int, int]] = set()
    for there in range(len(work) - LEAST + 1):
        for here in places.get(hash(tuple(work[there : there + LEAST])), ()):
            known.add((here, there))
            if (here - 1, there - 1) in known:
                continue
            count = 0
            while book[here + count : here + count + 1] == work[there + count : there + count + 1]:
                count += 1
                if max(here, there) + count >= max(len(book), len(work)):
                    break
            if count >= LEAST:
                yield list(book[here : here + count])


def is_covered(run: list[str], built: Built, book: str, work: str, texts: dict[str, Text]) -> bool:
    """Whether one window holds enough of a run, in the book and in the work."""
    here, there = (texts[name].place(run, PLACES[name]) for name in (f"b {book}", f"w {work}"))
    if here is None or there is None:
        return False
    wanted = min(len(run) / 2, LEAST)
    for window in built.windows:
        if (window.book, window.work) != (book, work):
            continue
        first = bisect_left(texts[f"b {book}"].sentences, window.start)
        past = bisect_left(texts[f"b {book}"].sentences, window.start + window.length)
        begin = bisect_left(texts[f"w {work}"].sentences, window.place)
        end = begin + len(words_of(window.quoted))
        held = min(past, here + len(run)) - max(first, here)
        masked = min(end, there + len(run)) - max(begin, there)
        if min(held, masked) >= wanted:
            return True
    return False


PLACES: dict[str, dict[tuple[str, ...], int]] = {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rules", default="strict", choices=("strict", "relic"))
    parser.add_argument("--show", action="store_true", help="print the runs that are not covered")
    options = parser.parse_args()
    folder = Path(os.environ["ADDUCIR_COLLECTIONS"]) / "gutenberg"
    books_at, works_at = (text_files([folder / name]) for name in ("novels", "criticism"))
    books = [read_source(at) for at in books_at]
    works = [read_source(at, is_work=True) for at in works_at]
    built = find_quotations(books, works, Rules(rules=options.rules))
    texts = {f"b {one.name}": text_of(one) for one in books}
    texts |= {f"w {one.name}": text_of(one) for one in works}
    PLACES.update({name: places_of(text.words) for name, text in texts.items()})
    raw = {at: words_of(body(read_text(at), at)) for at in (*books_at, *works_at)}
    total = covered = 0
    for work_at, work in zip(works_at, works, strict=True):
        for book_at, book in zip(books_at, books, strict=True):
            runs = list(shared_runs(raw[book_at], raw[work_at]))
            hits = [is_covered(run, built, book.name, work.name, texts) for run in runs]
            total, covered = total + len(runs), covered + sum(hits)
            if runs:
                print(f"{work.name:40} {book.name:30} {sum(hits):4} of {len(runs):4}")
            if options.show:
                for run in (run for run, hit in zip(runs, hits, strict=True) if not hit):
                    print(f"    {len(run):4} words: {' '.join(run[:6])} …")
    print(f"{covered} of {total} runs of {LEAST} words or more are covered: {covered / total:.3f}")


if __name__ == "__main__":
    main()
