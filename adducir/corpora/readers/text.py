"""Read documents from plain-text files: each file is one document, its path the docno.

The docno is the path below the folder that was named (of a single file its name), with ``/``
between its parts on every system and ``_`` in place of white space, which a TREC run cannot hold.
The whole text is the field ``text``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from adducir.core.files import read_text
from adducir.corpora.documents import Document, check_docno
from adducir.corpora.readers.format import CorpusFormat


class PlainText(CorpusFormat):
    """Each file is one document, its path the docno."""

    suffixes: ClassVar = (".txt", ".md")
    record_end: ClassVar = b""
    is_last_resort: ClassVar = True

    def read(
        self, path: Path, docno_field: str | None, folder: Path
    ) -> Iterator[tuple[int, Document]]:
        """Yield the one document of a file, which begins in line 1.

        Args:
            folder: The folder that was named; its own, where the file itself was.

        Raises:
            InputError: The file cannot be read.
        """
        del docno_field
        docno = docno_of(path, folder)
        check_docno(docno, path)
        yield 1, Document(docno, {"text": read_text(path)})


def docno_of(path: Path, folder: Path) -> str:
    """The docno of a file below a folder."""
    return "_".join(path.relative_to(folder).as_posix().split())
