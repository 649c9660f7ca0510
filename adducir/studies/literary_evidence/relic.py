"""RELiC's data: quotations of books, whose candidates are all passages of the same length.

An official file (train.json, val.json, test.json) is one JSON object of books by title::

    {"emma": {"quotes": {"070789": [["left", ...], 17, 2, ["right", ...]], ...},
              "sentences": ["...", ...],
              "candidates": {"1_sentence": [0, 1, ...], ..., "5_sentence": [0, ...]}}}

A quotation has the critic's sentences before it (at most four), its first sentence in
``sentences`` (null in the hidden test set), its length in sentences, and the critic's sentences
after it. ``candidates`` lists the sentences at which a passage of n sentences can begin, i.e. all
with n sentences left, so a candidate's index in the list is its first sentence; this is checked.
A submission to its leaderboard is one JSON object: for each quotation the numbers of the 100 best
candidates, ``{"070789": [99, 4, ...], ...}``. Source: DATA.md, README.md and scripts of
github.com/martiansideofthemoon/relic-retrieval.

BIRCO (Wang et al., 2024, github.com/BIRCO-benchmark) took 100 queries of RELiC with pools of about
50 passages of the same book each: a folder with ``queries.jsonl`` (qid, text, with ``[masked
sentence(s)]`` in place of the quotation), ``corpus.jsonl`` (docid, text) and ``qrels.txt``, in
which each judged passage of a topic, relevant or not, belongs to its pool.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import orjson
from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from adducir.core.errors import InputError
from adducir.core.files import read_text, writing_bytes
from adducir.core.json_lines import json_value
from adducir.core.many_texts import LazySequence
from adducir.core.recipe import told
from adducir.core.texts import repeated, whole_number
from adducir.corpora.formats import read_jsonl
from adducir.corpora.qrels import load_qrels
from adducir.corpora.records import Id
from adducir.corpora.sentences import literary_sentences
from adducir.corpora.spans import MaskedSpan
from adducir.encoders.ranking import BestOf, ContextReader, SpanTask

LENGTHS = (1, 2, 3, 4, 5)
"""The lengths of quotations and candidates, in sentences."""
HIDDEN = "[hidden]"
"""Replaces a sentence of a quotation in the hidden test set."""
DEPTH = 100
"""Candidates per quotation in a submission; the official scorer rejects any other number."""
MASK = "[masked sentence(s)]"


class RelicQuote(NamedTuple):
    """A quotation (``start`` is None where it is hidden) and the critic's sentences around it."""

    left: list[str]
    start: Annotated[int, Field(strict=True, ge=0)] | None
    length: Annotated[int, Field(strict=True, ge=1, le=5)]
    right: list[str]


def candidate_starts(sentences: int, length: int) -> range:
    """The candidates of a quotation, by first sentence: a candidate's index is its number."""
    return range(max(0, sentences - length + 1))


@dataclass(frozen=True)
class RelicBook:
    """A book's sentences, and the quotations from it by id."""

    quotes: dict[Id, RelicQuote]
    sentences: list[str]
    candidates: InitVar[dict[str, list[int]] | None] = None

    def __post_init__(self, candidates: dict[str, list[int]] | None) -> None:
        """Reject quotations outside the book, and candidates that would give other ranks."""
        for name, (_, start, length, _) in self.quotes.items():
            if start is not None and start not in candidate_starts(len(self.sentences), length):
                raise ValueError(
                    f"quotation {name!r} begins at {start} and has {length} sentences, which the "
                    f"book's {len(self.sentences):,} do not hold"
                )
        for key, starts in (candidates or {}).items():
            number = whole_number(key.removesuffix("_sentence"))
            if not number or starts != list(candidate_starts(len(self.sentences), number)):
                raise ValueError(f"the candidates {key!r} are not all passages in order")


_BOOKS = TypeAdapter(dict[str, RelicBook])


def docno_of(title: str, start: int, length: int) -> str:
    """The docno of a passage: ``emma/17+2``."""
    return f"{'_'.join(title.split())}/{start}+{length}"


def spans_of_relic(
    books: Mapping[str, RelicBook], extra: Mapping[str, Mapping[str, Any]] | None = None
) -> Iterator[MaskedSpan]:
    """Each quotation as a masked span of its book; ``extra`` has further data by id."""
    for title, book in books.items():
        for name, (left, start, length, right) in book.quotes.items():
            yield MaskedSpan(
                name,
                title,
                tuple(left),
                (HIDDEN,) * length if start is None else tuple(book.sentences[start:][:length]),
                tuple(right),
                None if start is None else docno_of(title, start, length),
                extra={"start": start, "length": length, **(extra or {}).get(name, {})},
            )


def read_relic(path: Path) -> dict[str, RelicBook]:
    """Read an official file, plain or gzip; an InputError names the book and the quotation."""
    try:
        books = _BOOKS.validate_python(json_value(read_text(path), path))
    except ValidationError as error:
        hint = "A quotation is [left sentences, first sentence or null, length, right sentences]."
        raise InputError(f"{told(error)}.", path=path, hint=hint) from None
    twice = repeated(chain.from_iterable(book.quotes for book in books.values()))
    if twice:
        raise InputError(f"the id {twice[0]!r} is used in two books.", path=path)
    return books


def write_relic(books: Mapping[str, RelicBook], path: Path) -> int:
    """Write an official file, whole or not at all; returns how many quotations it has."""
    data = {
        title: {
            "quotes": {name: list(quote) for name, quote in book.quotes.items()},
            "sentences": book.sentences,
            "candidates": {
                f"{n}_sentence": list(candidate_starts(len(book.sentences), n)) for n in LENGTHS
            },
        }
        for title, book in books.items()
    }
    with writing_bytes(path) as handle:
        handle.write(orjson.dumps(data) + b"\n")
    return sum(len(book.quotes) for book in books.values())


def pool_tasks(folder: Path) -> Iterator[SpanTask]:
    """Contexts that each have their own candidates (RELiC's queries in BIRCO)."""
    texts = {docno: text for _, docno, text in _texts_in(folder / "corpus.jsonl")}
    queries, qrels = folder / "queries.jsonl", folder / "qrels.txt"
    pools: dict[str, list[str]] = {}
    gold_items: dict[str, list[str]] = {}
    for qid, docno, grade in load_qrels(qrels).frame.iter_rows():
        if docno not in texts:
            message = f"the passage {docno!r} of topic {qid!r} is not in corpus.jsonl."
            raise InputError(message, path=qrels)
        pools.setdefault(qid, []).append(docno)
        if grade > 0:
            gold_items.setdefault(qid, []).append(docno)
    for line, qid, text in _texts_in(queries, "qid"):
        sides, gold = text.split(MASK), gold_items.get(qid, [])
        if len(sides) != 2 or len(gold) != 1:
            raise InputError(
                f"query {qid!r} has {len(sides) - 1} masks {MASK} and {len(gold)} relevant "
                "passages, and needs one of each.",
                path=queries,
                line=line,
            )
        docnos, named = pools[qid], (sides[0], texts[gold[0]], sides[1])
        left, span, right = (tuple(literary_sentences([passage])) for passage in named)
        context = MaskedSpan(qid, qid, left, span, right, gold[0])
        numbers = np.array([docnos.index(gold[0])], dtype=np.int64)
        yield SpanTask([context], [texts[docno] for docno in docnos], docnos, numbers)


def _texts_in(path: Path, name: str | None = None) -> Iterator[tuple[int, str, str]]:
    for line, record in read_jsonl(path, name):
        text = record.fields.get("text", "")
        if not text.strip():
            raise InputError("the text in 'text' is missing.", path=path, line=line)
        yield line, record.docno, text


def book_tasks(books: Mapping[str, RelicBook], *, hidden: bool = False) -> Iterator[SpanTask]:
    """Quotations among all passages of their book and length (RELiC); also ``hidden`` ones."""
    for title, book in books.items():
        all_spans = spans_of_relic({title: book})
        chosen = [span for span in all_spans if hidden or span.extra["start"] is not None]
        for length in sorted({span.extra["length"] for span in chosen}):
            spans = [span for span in chosen if span.extra["length"] == length]
            places = [-1 if (place := s.extra["start"]) is None else place for s in spans]
            count = len(candidate_starts(len(book.sentences), length))
            yield SpanTask(
                spans,
                LazySequence(count, partial(_passages, book.sentences, length)),
                LazySequence(count, partial(_docnos, title, length)),
                np.array(places, dtype=np.int64),
                {"length": [f"{length}"] * len(spans), "book": [title] * len(spans)},
            )


def _passages(sentences: Sequence[str], length: int, starts: range) -> list[str]:
    return [" ".join(sentences[start : start + length]) for start in starts]


def _docnos(title: str, length: int, starts: range) -> list[str]:
    return [docno_of(title, start, length) for start in starts]


class RelicContexts(ContextReader):
    """RELiC's quotations among the passages of their book and length."""

    submitted: ClassVar[int] = DEPTH

    def tasks(self, path: Path) -> Iterator[SpanTask]:
        return book_tasks(read_relic(path))

    def hidden_tasks(self, path: Path) -> Iterator[SpanTask]:
        return book_tasks(read_relic(path), hidden=True)

    def submit(self, ranked: Iterable[BestOf], path: Path, output: Path) -> int:
        rankings: dict[str, list[int]] = {}
        for task, numbers, _ in ranked:
            rankings |= {s.id: row.tolist() for s, row in zip(task.spans, numbers, strict=True)}
        return write_submission(rankings, read_relic(path), output)


class BircoContexts(ContextReader):
    """BIRCO's queries, each with a pool of its own."""

    has_groups: ClassVar[bool] = False

    def files(self, path: Path) -> list[Path]:
        return [path / name for name in ("queries.jsonl", "corpus.jsonl", "qrels.txt")]

    def tasks(self, path: Path) -> Iterator[SpanTask]:
        return pool_tasks(path)


def write_submission(
    rankings: Mapping[str, Sequence[int]], books: Mapping[str, RelicBook], path: Path
) -> int:
    """Write the rankings of a test set's quotations, cut at 100, and return how many there are."""
    best: dict[str, list[int]] = {}
    for book in books.values():
        for name, quote in book.quotes.items():
            best[name] = list(rankings.get(name, ()))[:DEPTH]
            starts = candidate_starts(len(book.sentences), quote.length)
            if len({docno for docno in best[name] if docno in starts}) != DEPTH:
                raise InputError(
                    f"the ranking of quotation {name!r} does not have {DEPTH} distinct candidates, "
                    f"which are numbered from 0 to {len(starts) - 1}.",
                    path=path,
                )
    with writing_bytes(path) as handle:
        handle.write(orjson.dumps(best) + b"\n")
    return len(best)
