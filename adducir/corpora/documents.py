"""Documents and corpora: what an index is built from."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from adducir.core.errors import InputError
from adducir.core.names import Seen
from adducir.core.texts import refuse_text

LONGEST_DOCNO = 1024
"""Bytes of a docno, at most. Lucene's dictionary takes two milliseconds for one of 10,000."""
SHORT_DOCNO = LONGEST_DOCNO // 4
"""Characters of a docno that have no more bytes than that, whatever they are."""


class Document(NamedTuple):
    """One document: its docno (no white space in it) and its named texts."""

    docno: str
    fields: dict[str, str]


class Place(NamedTuple):
    """Where a document stands in a file; the line is 1-based."""

    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@runtime_checkable
class Corpus(Protocol):
    """A source of documents that can be read again and again in the same order.

    Iterating raises :class:`InputError` at the first malformed record, naming file and line,
    and at the end where there was no document at all.
    """

    @property
    def source(self) -> str:
        """The source as the user named it."""

    @property
    def default_fields(self) -> tuple[str, ...]:
        """The fields to index where the user names none; reads the first documents."""

    def __iter__(self) -> Iterator[Document]: ...

    def identity(self) -> dict[str, Any]:
        """What the documents depend on, for fingerprints: digests, not names."""

    def size_hint(self) -> int | None:
        """The number of documents, or None where counting means reading them all."""

    def places(self, docno: str) -> list[Place]:
        """Where documents of this docno stand, in reading order; empty where not known."""


def text_of(document: Document, fields: Sequence[str]) -> str:
    """The texts of these fields joined by newlines; a field the document lacks counts as empty.

    Empty texts take no line, so that a document without a title does not begin with a blank.

    Raises:
        UsageError: ``fields`` is one text.
    """
    refuse_text(fields, "fields")
    texts = (document.fields.get(name, "") for name in fields)
    return "\n".join(text for text in texts if text)


def check_docno(docno: str, path: Path | None = None, line: int | None = None) -> None:
    """Refuse a docno that a TREC run cannot hold, or that no document is called.

    Raises:
        InputError: The docno is empty, holds white space or a NUL, or is longer than
            ``LONGEST_DOCNO``.
    """
    if len(docno) > SHORT_DOCNO and len(docno.encode(errors="replace")) > LONGEST_DOCNO:
        raise InputError(
            f"the docno {docno[:40]!r}... is longer than {LONGEST_DOCNO:,} bytes.",
            path=path,
            line=line,
            hint="Is it the right field? Name another with --docno-field, or shorten the docnos.",
        )
    if docno.split() == [docno] and "\0" not in docno:
        return
    what = (
        "the docno is empty"
        if not docno.strip()
        else f"the docno {docno!r} holds white space or a NUL"
    )
    raise InputError(
        f"{what}, which a TREC run cannot hold.",
        path=path,
        line=line,
        hint="Give every document a docno without white space.",
    )


def refuse_duplicates(
    corpus: Corpus, documents: Iterable[Document] | None = None
) -> Iterator[Document]:
    """Iterate over a corpus, and stop at the second document of the same docno.

    Lucene would keep both without a word (castorini/anserini#258), and a run would then hold
    the same docno twice.

    Args:
        documents: Some of its documents, to iterate over these instead.

    Raises:
        InputError: A docno comes twice; both places are named where they are known.
    """
    seen = Seen()
    for document in corpus if documents is None else documents:
        if seen.add(document.docno) and _is_twice(corpus, document.docno):
            raise _duplicate(corpus, document.docno)
        yield document


def _is_twice(corpus: Corpus, docno: str) -> bool:
    """Whether a docno whose hash was there before is there twice."""
    found = (None for document in corpus if document.docno == docno)
    return next(found, 0) is None and next(found, 0) is None


def _duplicate(corpus: Corpus, docno: str) -> InputError:
    places = corpus.places(docno)
    what = f"the docno {docno!r} comes twice in {corpus.source}."
    if len(places) < 2:
        return InputError(what, hint="Keep one of the two documents.")
    first, second = places[0], places[1]
    return InputError(
        f"the docno {docno!r} was there before, at {first}.",
        path=second.path,
        line=second.line,
        hint="Keep one of the two documents, or give them different docnos.",
    )
