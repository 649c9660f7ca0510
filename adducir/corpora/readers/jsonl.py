"""Read documents from JSON objects: one a line, or an array of them.

The docno is the first of ``docno``, ``docid``, ``doc_id``, ``_id`` and ``id`` that the first
object of a file has; every object of that file must have it. All other values that have text
become fields (see :mod:`adducir.corpora.values`). Blank lines are ignored. An array is read object
by object, alone or as the one member of an object, called ``arguments`` (args.me's own files).
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from adducir.core.errors import InputError
from adducir.core.files import read_pieces
from adducir.core.json_lines import json_objects, read_objects
from adducir.corpora.documents import SHORT_DOCNO, Document, check_docno
from adducir.corpora.readers.format import CorpusFormat
from adducir.corpora.values import fields_of

DOCNO_FIELDS = ("docno", "docid", "doc_id", "_id", "id")
_ALL_TEXT = {str}
_ONE_VALUE = re.compile(r'\s*(?:\[|\{\s*"arguments"\s*:\s*\[)')


class JSONL(CorpusFormat):
    """One JSON object a line, or one array of them."""

    suffixes: ClassVar = (".jsonl", ".ndjson", ".json")

    def read(
        self, path: Path, docno_field: str | None, folder: Path
    ) -> Iterator[tuple[int, Document]]:
        del folder
        return read_jsonl(path, docno_field)


def read_jsonl(path: Path, docno_field: str | None = None) -> Iterator[tuple[int, Document]]:
    """Yield each document of a file with the 1-based line where it begins.

    Costs about one microsecond a document beyond reading the line and parsing it, where all
    values are strings: the parsed object then becomes the document's fields as it is.

    Raises:
        InputError: A line is not a JSON object in UTF-8, or has no usable docno.
    """
    key = docno_field
    records = read_objects(path, wrapped=True) if holds_array(path) else json_objects(path)
    for number, record in records:
        if key is None:
            key = next((name for name in DOCNO_FIELDS if name in record), None)
        docno = None if key is None else record.pop(key, None)
        if type(docno) is not str:
            docno = _as_docno(docno, key, record, path, number)
        if docno.split() != [docno] or "\0" in docno or len(docno) > SHORT_DOCNO:
            check_docno(docno, path, number)
        if set(map(type, record.values())) == _ALL_TEXT:
            yield number, Document(docno, record)
        else:
            yield number, Document(docno, fields_of(record))


def holds_array(path: Path) -> bool:
    """Whether a file begins as one array of objects, not as one object a line."""
    return _ONE_VALUE.match(next(read_pieces(path), "")) is not None


def _as_docno(value: Any, key: str | None, record: dict[str, Any], path: Path, line: int) -> str:
    """The docno where it is not simply a string: a whole number, or an error."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is not None:
        raise InputError(f"the docno in {key!r} is {value!r}, not text.", path=path, line=line)
    wanted = f"no {key!r}" if key else "none of " + ", ".join(DOCNO_FIELDS)
    raise InputError(
        f"this document has no docno: there is {wanted} among {', '.join(record) or 'no fields'}.",
        path=path,
        line=line,
        hint="Name the field that holds the docno with docno_field.",
    )
