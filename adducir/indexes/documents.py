"""The documents' own texts, beside an index and found by docno.

Lucene could store them, but a search to depth 1,000 then reads them with every hit, which was
measured to cost more than twice the time. Here they lie in one plain file of JSON lines, with the
byte where each begins, and are read by those who want text: rerankers, reports, people.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from adducir.core.checking import checked
from adducir.core.errors import ArtifactError, InputError
from adducir.corpora.documents import Document
from adducir.indexes.arrays import damaged, is_rising, mapped

TEXTS = "documents.jsonl"
OFFSETS = "documents.offsets.npy"


class DocumentWriter:
    """Writes documents one after another into the files of a store.

    Args:
        folder: The artifact's folder; the files must not be there yet.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = (folder / TEXTS).open("xb", buffering=1 << 20)
        self._lengths: list[int] = []

    def add(self, document: Document) -> None:
        """Append one document."""
        line = orjson.dumps({"docno": document.docno, **document.fields}) + b"\n"
        self._lengths.append(len(line))
        self._file.write(line)

    def close(self) -> None:
        """Write where each document begins; the store is whole when this returns."""
        self._file.close()
        offsets = np.zeros(len(self._lengths) + 1, dtype=np.int64)
        np.cumsum(self._lengths, out=offsets[1:])
        np.save(self._folder / OFFSETS, offsets)

    def __enter__(self) -> "DocumentWriter":
        return self

    def __exit__(self, *exception: object) -> None:
        if exception[0] is None:
            self.close()
        else:
            self._file.close()


class DocumentStore:
    """Documents by docno, read from disk as they are asked for.

    Raises:
        ArtifactError: The folder holds no document store.
    """

    @checked
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts = folder / TEXTS
        if not self._texts.is_file() or not (folder / OFFSETS).is_file():
            raise ArtifactError(
                "this index keeps no texts beside it.",
                path=folder,
                hint="Build it again with 'adducir index'.",
            )
        size = self._texts.stat().st_size
        self._offsets = mapped(folder / OFFSETS)
        if not is_rising(self._offsets, self._offsets.size - 1, size):
            raise damaged(folder / OFFSETS)
        self._bytes = np.memmap(self._texts, mode="r") if size else None

    def __reduce__(self) -> tuple[Any, ...]:
        return DocumentStore, (self._folder.absolute(),)  # another process opens it anew

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __iter__(self) -> Iterator[Document]:
        return (self._at(row) for row in range(len(self)))

    def __contains__(self, docno: str) -> bool:
        return docno in self._rows

    def _at(self, row: int) -> Document:
        if self._bytes is None:
            raise IndexError(row)
        line = self._bytes[self._offsets[row] : self._offsets[row + 1]].tobytes()
        try:
            fields = orjson.loads(line)
            return Document(fields.pop("docno"), fields)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise damaged(self._texts) from error

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {document.docno: row for row, document in enumerate(self)}

    def get(self, docno: str) -> Document:
        """The document of that docno.

        Raises:
            InputError: The store has none.
        """
        row = self._rows.get(docno)
        if row is None:
            raise InputError(
                f"there is no document {docno!r} here.",
                path=self._texts,
                hint="Is the run from another corpus? 'adducir check RUN --index' shows.",
            )
        return self._at(row)

    @checked
    def texts(self, docnos: Iterable[str], fields: Sequence[str]) -> list[str]:
        """The named fields of each document, joined by line feeds."""
        found = (self.get(docno).fields for docno in docnos)
        return ["\n".join(each.get(field, "") for field in fields) for each in found]
