"""Read documents from TSV: a docno, a tab, the text.

Without a header the first tab ends the docno and all the rest is the field ``text``. A first
line that begins with one of JSONL's docno names is a header: then it names the columns, and
every line must have as many. Nothing is quoted or escaped; blank lines are ignored.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from adducir.core.errors import InputError
from adducir.core.files import read_lines
from adducir.corpora.documents import Document, check_docno
from adducir.corpora.readers.format import CorpusFormat
from adducir.corpora.readers.jsonl import DOCNO_FIELDS


class TSV(CorpusFormat):
    """A docno, a tab, the text; or columns named by a header."""

    suffixes: ClassVar = (".tsv",)

    def read(
        self, path: Path, docno_field: str | None, folder: Path
    ) -> Iterator[tuple[int, Document]]:
        """Yield each document of a file with its 1-based line.

        With ``docno_field`` the first line must be a header that has this column.

        Raises:
            InputError: A line has no tab, the wrong number of columns, or no usable docno.
        """
        del folder
        columns: list[str] | None = None
        key = 0
        begun = False
        for number, line in read_lines(path):
            if not line.strip():
                continue
            cells = line.split("\t")
            if not begun:
                begun = True
                if docno_field is not None or cells[0].strip().lower() in DOCNO_FIELDS:
                    columns, key = _header(cells, docno_field, path, number)
                    continue
            if columns is None:
                docno, fields = _plain(line, path, number)
            else:
                docno, fields = _row(cells, columns, key, path, number)
            check_docno(docno, path, number)
            yield number, Document(docno, fields)


def _plain(line: str, path: Path, number: int) -> tuple[str, dict[str, str]]:
    docno, tab, text = line.partition("\t")
    if not tab:
        raise InputError(
            "there is no tab between docno and text.",
            path=path,
            line=number,
            hint="Write: docno, a tab, the text.",
        )
    return docno, {"text": text}


def _header(
    cells: list[str], docno_field: str | None, path: Path, number: int
) -> tuple[list[str], int]:
    names = [cell.strip() for cell in cells]
    if docno_field is not None and docno_field not in names:
        raise InputError(
            f"the first line names no column {docno_field!r}.",
            path=path,
            line=number,
            hint=f"Its columns are {', '.join(names)}.",
        )
    if len(set(names)) < len(names) or "" in names or len(names) < 2:
        raise InputError(
            "the header must name at least two columns, each once.", path=path, line=number
        )
    return names, names.index(docno_field) if docno_field is not None else 0


def _row(
    cells: list[str], columns: list[str], key: int, path: Path, number: int
) -> tuple[str, dict[str, str]]:
    if len(cells) != len(columns):
        raise InputError(
            f"there are {len(cells)} columns where the header names {len(columns)}.",
            path=path,
            line=number,
        )
    fields = dict(zip(columns, cells, strict=True))
    return fields.pop(columns[key]), fields
