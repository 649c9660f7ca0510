"""Corpora in local files: one file, or a folder of them.

See :mod:`adducir.corpora.formats` for the formats, and for what is read of a folder.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from adducir.core.absent import reads, refuse_large
from adducir.core.errors import InputError, UsageError
from adducir.core.fingerprint import source_digests
from adducir.core.progress import progress
from adducir.core.streams import is_compressed
from adducir.corpora.documents import Document, Place
from adducir.corpora.formats import choose_files, format_of, skipped_note, why_skipped
from adducir.corpora.readers import FORMATS, CorpusFormat
from adducir.corpora.readers.jsonl import holds_array
from adducir.corpora.readers.text import docno_of
from adducir.corpora.values import default_fields_of

_CHUNK = 1 << 22
_PEEKED = 20


@dataclass(frozen=True)
class LocalCorpus:
    """Documents in files of one format, in the order of ``paths``.

    Attributes:
        format: A kind of :data:`adducir.corpora.readers.FORMATS`.
        docno_field: The field of the docno, where the user named it.
        skipped: Files of the folder that are not read.
        folder: The folder, where one was named.
    """

    source: str
    paths: tuple[Path, ...]
    format: str
    docno_field: str | None = None
    skipped: tuple[Path, ...] = ()
    folder: Path | None = None

    def __iter__(self) -> Iterator[Document]:
        refuse_large(*self.paths)
        document = None
        for path in self.paths:
            for _, document in self._read(path):
                yield document
        if document is None:
            raise InputError("there are no documents in it.", path=self.source)

    @cached_property
    def default_fields(self) -> tuple[str, ...]:
        """The format's own, or determined from the first documents."""
        if self._reader.default_fields is not None:
            return self._reader.default_fields
        names: dict[str, None] = {}
        for document in islice(self, _PEEKED):
            names.update(dict.fromkeys(document.fields))
        return default_fields_of(names)

    def identity(self) -> dict[str, Any]:
        """The format, the docno's field and the content of the files.

        Their names belong to it only where they are docnos.
        """
        found: dict[str, Any] = {
            "source": "files",
            "format": self.format,
            **FORMATS.origin(self.format),
            "docno_field": self.docno_field,
            "sha256": source_digests(self.paths),
        }
        if not self._reader.record_end:
            found["docnos"] = [docno_of(path, self._folder) for path in self.paths]
        return found

    def size_hint(self) -> int | None:
        """The number of records, counted by their ends.

        None where a file is compressed or one array, and in a dry run where they are large.
        """
        ending = self._reader.record_end
        if not ending:
            return len(self.paths)
        if not reads(*self.paths):
            return None
        if any(is_compressed(path) or holds_array(path) for path in self.paths):
            return None
        return sum(_count(path, ending) for path in self.paths)

    def places(self, docno: str) -> list[Place]:
        """Where documents of this docno stand; reads all files."""
        return [
            Place(path, line)
            for path in self.paths
            for line, document in self._read(path)
            if document.docno == docno
        ]

    def _read(self, path: Path) -> Iterator[tuple[int, Document]]:
        return self._reader.read(path, self.docno_field, self._folder)

    @cached_property
    def _reader(self) -> CorpusFormat:
        return FORMATS.make(self.format)

    @property
    def _folder(self) -> Path:
        return self.folder or self.paths[0].parent


def open_local(
    path: Path,
    source: str,
    *,
    docno_field: str | None = None,
    format: str | None = None,  # noqa: A002
) -> LocalCorpus:
    """The corpus in an existing file or folder; files of the folder that are not read are noted.

    Raises:
        InputError: No readable file, or files of several formats.
        UsageError: ``format`` is not a format.
    """
    if format is not None and not FORMATS.kind(format).record_end and docno_field is not None:
        raise UsageError(
            f"a docno_field means nothing for the format {format}: paths are the docnos."
        )
    if not path.is_dir():
        if not path.is_file():
            raise InputError(
                "this is a pipe or a device, which cannot be read twice.",
                path=path,
                hint="Write the documents to a file first.",
            )
        return LocalCorpus(source, (path,), format or format_of(path), docno_field)
    kind, chosen, skipped = choose_files(path, format)
    if skipped:
        progress().note(skipped_note(path, why_skipped(skipped, kind)))
    return LocalCorpus(source, tuple(chosen), kind, docno_field, tuple(skipped), path)


def _count(path: Path, ending: bytes) -> int:
    """How often a short string is in a file; of lines, the last need not be ended."""
    count, carried = 0, b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            text = carried + chunk
            count += text.count(ending)
            carried = text[len(text) + 1 - len(ending) :]
            last = chunk[-1:]
    return count + (count > 0 and ending == b"\n" != last)
