"""Documents on their way into an index: checked, kept, packed in blocks for Java."""

import struct
from collections.abc import Iterable, Iterator, Sequence

from adducir.core.errors import InputError
from adducir.corpora.documents import Corpus, Document, refuse_duplicates, text_of
from adducir.indexes.documents import DocumentWriter

_BLOCK_BYTES = 1 << 20
_LENGTH = struct.Struct("<i")
_BLANKS = bytes(range(33))


Fed = tuple[str, list[bytes]]
"""A docno, and UTF-8 texts."""


def documents_with(corpus: Corpus, fields: Sequence[str]) -> Iterator[Document]:
    """A corpus's documents, held to be what an index of these fields can be built of.

    Raises:
        InputError: A record is malformed, a docno occurs twice, or no document has a field.
    """
    return refuse_duplicates(corpus, _with_fields(corpus, fields))


def fed(
    documents: Iterable[Document],
    fields: Sequence[str],
    store: DocumentWriter,
    separate: Sequence[str] = (),
) -> Iterator[Fed]:
    """Each document's docno and the text of its fields, and then of each separate field.

    The document goes to the store.

    Raises:
        InputError: A document cannot be kept; or as its corpus.
    """
    for document in documents:
        store.add(document)
        parts = [document.fields.get(field, "").encode() for field in separate]
        yield document.docno, [text_of(document, fields).encode(), *parts]


def _with_fields(corpus: Corpus, fields: Sequence[str]) -> Iterator[Document]:
    """All documents; raises at the end where no document has one of the fields."""
    unseen = set(fields)
    found: set[str] = set()
    for document in corpus:
        if unseen:
            unseen -= document.fields.keys()
            found |= document.fields.keys()
        yield document
    if unseen and found:
        raise InputError(
            f"no document has a field {', '.join(map(repr, sorted(unseen)))}.",
            path=corpus.source,
            hint=f"The fields are {', '.join(sorted(found))}: name some of them with --fields.",
        )


def packed(documents: Iterator[Fed], *, with_docnos: bool) -> Iterator[tuple[list[str], bytes]]:
    """Blocks of about a megabyte: the docnos of each, and its documents packed.

    Args:
        documents: From :func:`fed`.
        with_docnos: Whether a document's texts are preceded by its docno; each comes after its
            length in bytes (int, little endian).
    """
    docnos: list[str] = []
    parts: list[bytes] = []
    size = 0
    for docno, texts in documents:
        if with_docnos:
            name = docno.encode()
            parts += (_LENGTH.pack(len(name)), name)
        for text in texts:
            parts += (_LENGTH.pack(len(text)), text)
            size += len(text)
        docnos.append(docno)
        if size >= _BLOCK_BYTES:
            yield docnos, b"".join(parts)
            docnos, parts, size = [], [], 0
    if docnos:
        yield docnos, b"".join(parts)


def is_blank(text: bytes) -> bool:
    """Whether a text is empty by Anserini's rule, which does not index such documents."""
    return not text.strip(_BLANKS)
