"""The texts of ranked documents: from the store beside an index, or from a corpus."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from adducir.corpora.documents import Corpus, text_of
from adducir.indexes.documents import DocumentStore
from adducir.study.checking import checked
from adducir.study.errors import InputError
from adducir.study.progress import SILENT, Progress


class Texts(Protocol):
    """Gives documents' texts by docno."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that make a document's text."""

    def get(self, docnos: Sequence[str]) -> list[str]:
        """The text of each document.

        Raises:
            InputError: A document is not there.
        """


class StoredTexts:
    """Texts from the store beside an index, read as they are asked for.

    Args:
        store: The store.
        fields: The fields that make a document's text.
    """

    def __init__(self, store: DocumentStore, fields: Sequence[str]) -> None:
        self._store = store
        self.fields = tuple(fields)

    def get(self, docnos: Sequence[str]) -> list[str]:
        """The text of each document; a missing one is an InputError."""
        return [text_of(self._store.get(docno), self.fields) for docno in docnos]


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
                raise InputError(
                    f"there is no document {docno!r} in {self._source}.",
                    mend="Is the run from another corpus?",
                )
        return [self._texts[docno] for docno in docnos]


@checked
def texts_of(
    corpus: Corpus,
    docnos: Iterable[str],
    fields: Sequence[str] = (),
    *,
    progress: Progress = SILENT,
) -> KnownTexts:
    """Read the texts of some documents in one pass over a corpus.

    Args:
        corpus: The corpus.
        docnos: The documents; those that are not there are an error only when they are asked for.
        fields: The fields that make a document's text; by default the corpus' own.
        progress: Told of documents read.

    Raises:
        InputError: The corpus cannot be read.
    """
    chosen = tuple(fields) or corpus.default_fields
    wanted = set(docnos)
    found: dict[str, str] = {}
    progress.start("reading texts", corpus.size_hint(), "documents")
    try:
        for document in corpus:
            progress.advance(1)
            if document.docno in wanted:
                found[document.docno] = text_of(document, chosen)
                if len(found) == len(wanted):
                    break
    finally:
        progress.finish()
    return KnownTexts(found, corpus.source, chosen)
