"""The texts of ranked documents: from the store beside an index, or from a corpus."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from adducir.core.checking import checked
from adducir.core.errors import InputError
from adducir.core.progress import SILENT, Progress
from adducir.corpora.documents import Corpus, text_of
from adducir.indexes.documents import DocumentStore
from adducir.training.store import Store, StoreWriter, packed, unpacked


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
                    hint="Is the run from another corpus?",
                )
        return [self._texts[docno] for docno in docnos]


class FiledTexts(Mapping[str, str]):
    """Texts by docno in a file, each read as it is asked for.

    Args:
        folder: Where to keep them; it must not be there.
        texts: Docnos and texts.
    """

    def __init__(self, folder: Path, texts: Iterable[tuple[str, str]]) -> None:
        folder.mkdir()
        with StoreWriter(folder) as writer:
            self._places = {docno: writer.add(text=packed(text)) for docno, text in texts}
        self._store = Store(folder)

    def __getitem__(self, docno: str) -> str:
        return unpacked(self._store.get(self._places[docno])["text"])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def close(self) -> None:
        """Close the file."""
        self._store.close()


@checked
def texts_of(
    corpus: Corpus,
    docnos: Iterable[str],
    fields: Sequence[str] = (),
    *,
    folder: Path | None = None,
    progress: Progress = SILENT,
) -> KnownTexts:
    """Read the texts of some documents in one pass over a corpus.

    Args:
        docnos: The documents; those that are not there are an error only when they are asked for.
        fields: The fields that make a document's text; by default the corpus' own.
        folder: Where to keep them; by default in memory.

    Raises:
        InputError: The corpus cannot be read.
    """
    chosen = tuple(fields) or corpus.default_fields
    found = _found(corpus, set(docnos), chosen, progress)
    texts = dict(found) if folder is None else FiledTexts(folder, found)
    return KnownTexts(texts, corpus.source, chosen)


def _found(
    corpus: Corpus, wanted: set[str], fields: Sequence[str], progress: Progress
) -> Iterator[tuple[str, str]]:
    progress.start("reading texts", corpus.size_hint(), "documents")
    try:
        for document in corpus:
            progress.advance(1)
            if document.docno in wanted:
                yield document.docno, text_of(document, fields)
                wanted.remove(document.docno)
                if not wanted:
                    break
    finally:
        progress.finish()
