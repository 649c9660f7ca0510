"""Documents' texts beside an index, by docno: for rerankers, reports and people.

A JSON lines file with the byte offset of each line and a table of docnos; nothing is held in
memory. Lucene could store them, but would read them for every hit: a search to depth 1,000 would
take more than twice as long.
"""

import os
import weakref
from array import array
from collections.abc import Iterator
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from adducir.core.errors import ArtifactError, InputError, explaining_reads
from adducir.core.texts import typed
from adducir.corpora.documents import Document
from adducir.indexes.arrays import damaged, is_rising, mapped, save

TEXTS = "documents.jsonl"
OFFSETS = "documents.offsets.npy"
DOCNOS = "documents.docnos.npy"


def _digest(docno: str) -> int:
    found = blake2b(docno.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(found, "little")


class DocumentWriter:
    """Writes documents into the files of a store, which must not exist yet."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = (folder / TEXTS).open("xb", buffering=1 << 20)
        self._lengths, self._digests = array("q"), array("Q")

    def add(self, document: Document) -> None:
        try:
            record = {**document.fields, "docno": document.docno}
            line = orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
        except TypeError as error:
            raise InputError(
                f"the document {document.docno!r} cannot be stored: {error}."
            ) from error
        self._lengths.append(len(line))
        self._digests.append(_digest(document.docno))
        self._file.write(line)

    def __len__(self) -> int:
        return len(self._lengths)

    def __enter__(self) -> "DocumentWriter":
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()
        if exception[0] is None:
            offsets = np.zeros(len(self._lengths) + 1, dtype=np.int64)
            np.cumsum(self._lengths, out=offsets[1:])
            save(self._folder / OFFSETS, offsets)
            digests = np.asarray(self._digests, dtype=np.uint64)
            rows = np.argsort(digests, kind="stable")
            save(self._folder / DOCNOS, np.stack([digests[rows], rows.astype(np.uint64)]))


class DocumentStore:
    """Documents by docno, read from disk on demand."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts = folder / TEXTS
        if not self._texts.is_file() or not (folder / OFFSETS).is_file():
            raise ArtifactError(
                "this index does not store texts.",
                path=folder,
                hint="Rebuild it with 'adducir index'.",
            )
        size = self._texts.stat().st_size
        self._offsets = mapped(folder / OFFSETS)
        if not is_rising(self._offsets, self._offsets.size - 1, size):
            raise damaged(folder / OFFSETS)
        self._docnos = mapped(folder / DOCNOS)
        # Pages of a mapped file would count as the process's memory.
        with explaining_reads(self._texts):
            self._file = os.open(self._texts, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    def __reduce__(self) -> tuple[Any, ...]:
        return DocumentStore, (self._folder.absolute(),)  # another process reopens it

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __iter__(self) -> Iterator[Document]:
        return (self._at(row) for row in range(len(self)))

    def __contains__(self, docno: str) -> bool:
        return self.find(docno) is not None

    def _at(self, row: int) -> Document:
        first, end = self._offsets[row : row + 2].tolist()
        line = os.pread(self._file, end - first, first)
        try:
            fields = orjson.loads(line)
            return Document(fields.pop("docno"), fields)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise damaged(self._texts) from error

    @cached_property
    def _table(self) -> np.ndarray:
        """(2, n) digests of docnos, ascending, and their rows; digests may collide."""
        if [*self._docnos.shape] != [2, len(self)] or self._docnos.dtype != np.uint64:
            raise damaged(self._folder / DOCNOS)
        return self._docnos

    @typed
    def find(self, docno: str) -> Document | None:
        """The document with that docno; None if it is not stored."""
        (digests, rows), wanted = self._table, np.uint64(_digest(docno))
        first, end = digests.searchsorted(wanted), digests.searchsorted(wanted, "right")
        for row in rows[first:end].tolist():
            if row >= len(self):
                raise damaged(self._folder / DOCNOS)
            if (found := self._at(row)).docno == docno:
                return found
        return None

    def get(self, docno: str) -> Document:
        found = self.find(docno)
        if found is None:
            raise InputError(
                f"the document {docno!r} is not stored here.",
                path=self._texts,
                hint="Is the run from another corpus? Run 'adducir check RUN --index'.",
            )
        return found
