"""RELiC's official files: train.json, val.json and test.json.

A file is one JSON object, with a book's title before each book::

    {"emma": {"quotes": {"070789": [["left", ...], 17, 2, ["right", ...]], ...},
              "sentences": ["...", ...],
              "candidates": {"1_sentence": [0, 1, ...], ..., "5_sentence": [0, ...]}}}

A quotation is four things: the critic's sentences before it (at most four), its first sentence in
``sentences``, its length in sentences, and the critic's sentences behind it. The hidden test set
has null in place of the first sentence. ``candidates`` lists the sentences that a passage of n
sentences may begin at, which in the published files are all that leave n sentences, so that a
candidate's place in the list is its first sentence; scorers depend on this, and it is checked.
Source: DATA.md and scripts of github.com/martiansideofthemoon/relic-retrieval.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from adducir.core.errors import InputError
from adducir.core.files import read_text, writing_bytes
from adducir.core.json_lines import json_value
from adducir.core.texts import whole_number
from adducir.corpora.records import are_texts
from adducir.corpora.relic import LENGTHS, RelicBook, RelicQuote, candidate_starts

_FORM = "A quotation is [left sentences, first sentence or null, length, right sentences]."


def read_relic(path: Path) -> dict[str, RelicBook]:
    """Read an official file, plain or gzip.

    Raises:
        InputError: It cannot be read, is not JSON, or has not the form above; with the book and
            the quotation. All of it is one line, so there is no line to name.
    """
    data = json_value(read_text(path), path)
    if not isinstance(data, dict):
        raise InputError("this is not a JSON object with a book at each title.", path=path)
    seen: dict[str, str] = {}
    books: dict[str, RelicBook] = {}
    for title, book in data.items():
        try:
            books[title] = _book(book)
        except _BookError as error:
            raise InputError(f"book {title!r}: {error}", path=path, hint=error.hint) from None
        for name in books[title].quotes:
            if name in seen:
                raise InputError(
                    f"book {title!r}: the id {name!r} is one of {seen[name]!r} already.", path=path
                )
            seen[name] = title
    return books


def write_relic(books: Mapping[str, RelicBook], path: Path) -> int:
    """Write an official file, whole or not at all; gzip where the name ends in ``.gz``.

    Returns:
        How many quotations it has.

    Raises:
        InputError: It could not be read again.
        MachineError: The place cannot be written.
    """
    data = {title: _record(book) for title, book in books.items()}
    for title, record in data.items():
        try:
            _book(record)
        except _BookError as error:
            raise InputError(f"book {title!r} cannot be written: {error}", path=path) from None
    with writing_bytes(path) as handle:
        handle.write(orjson.dumps(data) + b"\n")
    return sum(len(book.quotes) for book in books.values())


class _BookError(Exception):
    """What is wrong within a book, to be named with it."""

    def __init__(self, what: str, hint: str | None = None) -> None:
        super().__init__(what)
        self.hint = hint


def _record(book: RelicBook) -> dict[str, Any]:
    total = len(book.sentences)
    return {
        "quotes": {
            name: [quote.left, quote.start, quote.length, quote.right]
            for name, quote in book.quotes.items()
        },
        "sentences": book.sentences,
        "candidates": {f"{n}_sentence": list(candidate_starts(total, n)) for n in LENGTHS},
    }


def _book(record: Any) -> RelicBook:
    if not isinstance(record, dict) or {"quotes", "sentences"} - record.keys():
        raise _BookError("a book is an object with 'quotes', 'sentences' and 'candidates'.")
    sentences, quotes = record["sentences"], record["quotes"]
    if not are_texts(sentences):
        raise _BookError("'sentences' is not a list of texts.")
    if not isinstance(quotes, dict):
        raise _BookError("'quotes' is not an object with a quotation at each id.")
    _check_candidates(record.get("candidates"), len(sentences))
    return RelicBook(
        {name: _quote(name, value, len(sentences)) for name, value in quotes.items()}, sentences
    )


def _check_candidates(candidates: Any, sentences: int) -> None:
    """Refuse candidates that are not all passages of the book, since ranks would be others."""
    if candidates is None:  # recognised by the sentences
        return
    if not isinstance(candidates, dict):
        raise _BookError("'candidates' is not an object with a list at each length.")
    for key, starts in candidates.items():
        length = whole_number(key.removesuffix("_sentence"))
        if not length:
            raise _BookError(f"'candidates' has the key {key!r}, where '1_sentence' or so belongs.")
        expected = candidate_starts(sentences, length)
        if not isinstance(starts, list) or starts != list(expected):
            raise _BookError(
                f"the candidates {key!r} are not the sentences 0 to {len(expected) - 1}.",
                "Each sentence that leaves enough behind it must be there, in order.",
            )


def _quote(name: str, value: Any, sentences: int) -> RelicQuote:
    if name.split() != [name]:
        raise _BookError(f"the id {name!r} is empty or has white space.")
    if not isinstance(value, list) or len(value) != 4:
        raise _BookError(f"quotation {name!r} does not have four parts.", _FORM)
    left, start, length, right = value
    if not are_texts(left) or not are_texts(right):
        raise _BookError(f"the context of quotation {name!r} is not lists of texts.", _FORM)
    if type(length) is not int or length not in LENGTHS:
        raise _BookError(
            f"quotation {name!r} has the length {length!r}; 1 to 5 are possible.", _FORM
        )
    if start is None:
        return RelicQuote(left, None, length, right)
    if type(start) is not int or start not in candidate_starts(sentences, length):
        raise _BookError(
            f"quotation {name!r} begins at {start!r} and has {length} sentences, which the "
            f"book's {sentences:,} do not hold.",
            _FORM,
        )
    return RelicQuote(left, start, length, right)
