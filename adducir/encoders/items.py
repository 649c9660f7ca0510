"""What is encoded: documents of a corpus, masked spans or their contexts, or texts at hand."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from adducir.core.files import file_digest
from adducir.core.fingerprint import fingerprint
from adducir.corpora.documents import Corpus, refuse_duplicates, text_of
from adducir.corpora.spans import MaskedSpan, candidates_of, read_spans
from adducir.encoders.kinds import Side

SpanSide = Literal["context", "span"]
Item = tuple[str, str | MaskedSpan]
"""Docno and text, or docno and span for contexts."""


@dataclass(frozen=True)
class Items:
    """What is encoded.

    Attributes:
        what: What it is, as plain values: it determines the artifact with ``identity``.
        identity: The fingerprint of the source.
        total: How many there are; None where that is not known.
        read: Gives all items anew at each call; its argument is whether to refuse a docno that
            comes twice, which takes memory for all docnos.
    """

    what: dict[str, Any]
    identity: str
    side: Side
    total: int | None
    read: Callable[[bool], Iterator[Item]]


@dataclass(frozen=True)
class _Documents:
    corpus: Corpus
    fields: tuple[str, ...]

    def __call__(self, check: bool) -> Iterator[Item]:
        for document in refuse_duplicates(self.corpus) if check else self.corpus:
            yield document.docno, text_of(document, self.fields)


@dataclass(frozen=True)
class _Spans:
    path: Path
    side: SpanSide

    def __call__(self, check: bool) -> Iterator[Item]:
        del check  # both ways of reading refuse them
        if self.side == "context":
            return ((span.id, span) for span in read_spans(self.path))
        return iter(candidates_of(read_spans(self.path), self.path).items())


@dataclass(frozen=True)
class _Texts:
    texts: tuple[str, ...]

    def __call__(self, check: bool) -> Iterator[Item]:
        del check
        return ((f"{number}", text) for number, text in enumerate(self.texts))


def items_of_corpus(corpus: Corpus, fields: tuple[str, ...] = ()) -> Items:
    """Documents of a corpus, their fields joined by newlines.

    Args:
        fields: Which; by default those that would be indexed.
    """
    chosen = fields or tuple(corpus.default_fields)
    what = {"items": "documents", "fields": list(chosen)}
    identity = fingerprint(corpus.identity())
    read = _Documents(corpus, chosen)
    return Items(what, identity, "document", corpus.size_hint(), read)


def items_of_spans(path: Path, side: SpanSide) -> Items:
    """The contexts of a file of spans, by their ids; or its spans, by their candidates.

    A span that has no candidate is named by its id. Spans of one candidate are encoded once.

    Raises:
        InputError: A line is no span, or a candidate has two texts.
    """
    what = {"items": "contexts" if side == "context" else "spans"}
    of: Side = "query" if side == "context" else "document"
    return Items(what, file_digest(path), of, None, _Spans(path, side))


def items_of_texts(texts: Sequence[str], what: str) -> Items:
    """Texts that are at hand, called by their numbers.

    Args:
        what: What they are, as the artifact is to say.
    """
    identity = fingerprint(list(texts))
    return Items({"items": what}, identity, "document", len(texts), _Texts(tuple(texts)))


def described(item: Item) -> tuple[str, bytes]:
    """An item's docno, and the bytes of its text or span."""
    name, content = item
    if isinstance(content, str):
        return name, content.encode("utf-8", "surrogatepass")
    return name, json.dumps(dataclasses.asdict(content), default=dict).encode("ascii")
