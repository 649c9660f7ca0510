"""The texts of ranked documents: from the store beside an index, or from a corpus."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from adducir.core.errors import InputError
from adducir.core.progress import progress
from adducir.core.texts import refuse_text
from adducir.corpora.documents import Corpus, Document, text_of
from adducir.indexes.documents import DocumentStore, DocumentWriter


class Texts:
    """Texts of documents by docno, as ``find`` gives them; another process can be given it."""

    def __init__(
        self,
        find: Callable[[str], str | None],
        fields: Sequence[str] = (),
        source: str = "the texts",
    ) -> None:
        self.find, self.fields, self.source = find, tuple(fields), source

    def get(self, docnos: Iterable[str]) -> list[str]:
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
    def __init__(
        self, store: DocumentStore, fields: Sequence[str], source: str = "the index"
    ) -> None:
        self.store = store
        super().__init__(self._text, fields, source)

    def _text(self, docno: str) -> str | None:
        found = self.store.find(docno)
        return None if found is None else text_of(found, self.fields)


def texts_of(
    corpus: Corpus, docnos: Iterable[str], fields: Sequence[str], folder: Path
) -> StoredTexts:
    """Texts, read in one pass into a new folder; a missing one is an error when it is asked for."""
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
