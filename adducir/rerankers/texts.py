"""The texts of ranked documents: from the store beside an index, or from a corpus."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl

from adducir.core.errors import InputError
from adducir.core.names import NameTable
from adducir.core.progress import progress
from adducir.core.texts import refuse_text
from adducir.corpora.documents import Corpus, Document, text_of
from adducir.indexes.documents import DocumentStore, DocumentWriter


class Texts(Protocol):
    """Gives documents' texts by docno; another process can be given it."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that make a document's text."""

    def find(self, docno: str) -> str | None:
        """The text of a document; None if it is not there."""

    def get(self, docnos: Sequence[str]) -> list[str]:
        """The text of each document.

        Raises:
            InputError: A document is not there.
        """


class StoredTexts:
    """Texts from a store, such as that beside an index, read as they are asked for.

    Args:
        fields: The fields that make a document's text.
        source: Where the documents come from, for errors; by default the store says.
    """

    def __init__(self, store: DocumentStore, fields: Sequence[str], source: str = "") -> None:
        self._store, self._source = store, source
        self.fields = tuple(fields)

    def find(self, docno: str) -> str | None:
        """The text of a document; None if it is not there."""
        found = self._store.find(docno)
        return None if found is None else text_of(found, self.fields)

    def get(self, docnos: Sequence[str]) -> list[str]:
        """The text of each document; a missing one is an InputError."""
        return [text_of(self._get(docno), self.fields) for docno in docnos]

    def _get(self, docno: str) -> Document:
        if not self._source:
            return self._store.get(docno)
        found = self._store.find(docno)
        if found is None:
            raise _missing(docno, self._source)
        return found


class KnownTexts:
    """Texts in memory.

    Args:
        texts: By docno.
        source: Where they come from, for errors.
        fields: The fields that made them.
    """

    def __init__(
        self, texts: Mapping[str, str], source: str = "texts", fields: Sequence[str] = ()
    ) -> None:
        self._texts = texts
        self._source = source
        self.fields = tuple(fields)

    def find(self, docno: str) -> str | None:
        """The text of a document; None if it is not there."""
        return self._texts.get(docno)

    def get(self, docnos: Sequence[str]) -> list[str]:
        """The text of each document; a missing one is an InputError."""
        for docno in docnos:
            if docno not in self._texts:
                raise _missing(docno, self._source)
        return [self._texts[docno] for docno in docnos]


def texts_of(
    corpus: Corpus, docnos: Iterable[str], fields: Sequence[str] = (), *, folder: Path | None = None
) -> KnownTexts | StoredTexts:
    """Read the texts of some documents in one pass over a corpus.

    Args:
        docnos: The documents; those that are not there are an error only when they are asked for.
        fields: The fields that make a document's text; by default the corpus' own.
        folder: Where to keep them, made here; by default in memory.

    Raises:
        InputError: The corpus cannot be read.
    """
    refuse_text(docnos, "docnos")
    refuse_text(fields, "fields")
    chosen = tuple(fields) or corpus.default_fields
    found = _found(corpus, pl.Series(list(docnos), dtype=pl.String).unique())
    if folder is None:
        return KnownTexts(
            {document.docno: text_of(document, chosen) for document in found}, corpus.source, chosen
        )
    folder.mkdir()
    with DocumentWriter(folder) as writer:
        for document in found:
            texts = {name: document.fields[name] for name in chosen if name in document.fields}
            writer.add(Document(document.docno, texts))
    return StoredTexts(DocumentStore(folder), chosen, corpus.source)


def _found(corpus: Corpus, wanted: pl.Series) -> Iterator[Document]:
    """The first document of each docno, until all are found."""
    table, missing = NameTable.of(wanted), len(wanted)
    is_missing = np.ones(missing, dtype=np.bool_)
    with progress().doing("reading texts", corpus.size_hint(), "documents"):
        for document in corpus:
            progress().advance(1)
            for number in table.numbers(document.docno):
                if is_missing[number] and wanted[number] == document.docno:
                    yield document
                    is_missing[number] = False
                    missing -= 1
            if not missing:
                break


def _missing(docno: str, source: str) -> InputError:
    return InputError(
        f"there is no document {docno!r} in {source}.", hint="Is the run from another corpus?"
    )
