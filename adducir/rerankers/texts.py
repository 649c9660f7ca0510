"""The texts of ranked documents: from the store beside an index, or from a corpus."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from adducir.core.errors import InputError
from adducir.core.progress import progress
from adducir.core.texts import refuse_text
from adducir.corpora.documents import Corpus, Document, text_of
from adducir.indexes.documents import DocumentStore, DocumentWriter


class Texts(ABC):
    """Gives documents' texts by docno: their ``fields``, from a ``source`` that errors name."""

    def __init__(self, fields: Sequence[str], source: str) -> None:
        self.fields, self.source = tuple(fields), source

    @abstractmethod
    def find(self, docno: str) -> str | None:
        """The text of a document; None if it is not there."""

    def get(self, docnos: Iterable[str]) -> list[str]:
        """The text of each document; a missing one is an InputError."""
        found = []
        for docno in docnos:
            text = self.find(docno)
            if text is None:
                raise InputError(
                    f"there is no document {docno!r} in {self.source}.",
                    hint="Is the run from another corpus?",
                )
            found.append(text)
        return found


class StoredTexts(Texts):
    """Texts from a store, such as that beside an index, read as they are asked for."""

    def __init__(
        self, store: DocumentStore, fields: Sequence[str], source: str = "the index"
    ) -> None:
        super().__init__(fields, source)
        self._store = store

    def find(self, docno: str) -> str | None:
        found = self._store.find(docno)
        return None if found is None else text_of(found, self.fields)


class KnownTexts(Texts):
    """Texts in memory, by docno."""

    def __init__(
        self, texts: Mapping[str, str], source: str = "texts", fields: Sequence[str] = ()
    ) -> None:
        super().__init__(fields, source)
        self._texts = texts

    def find(self, docno: str) -> str | None:
        return self._texts.get(docno)


def texts_of(
    corpus: Corpus, docnos: Iterable[str], fields: Sequence[str], folder: Path
) -> StoredTexts:
    """Read the texts of some documents in one pass over a corpus.

    Args:
        docnos: The documents; those that are not there are an error only when they are asked for.
        fields: The fields that make a document's text; none for the corpus' own.
        folder: Where to keep them, made here.
    """
    refuse_text(docnos, "docnos")
    refuse_text(fields, "fields")
    chosen, missing = tuple(fields) or corpus.default_fields, set(docnos)
    folder.mkdir()
    with (
        DocumentWriter(folder) as writer,
        progress().doing("reading texts", corpus.size_hint(), "documents"),
    ):
        for document in corpus:
            progress().advance(1)
            if document.docno in missing:  # of several of one docno the first
                missing.remove(document.docno)
                texts = {name: document.fields[name] for name in chosen if name in document.fields}
                writer.add(Document(document.docno, texts))
            if not missing:
                break
    return StoredTexts(DocumentStore(folder), chosen, corpus.source)
