"""Read documents from JSONL: one JSON object a line.

The docno is the first of ``docno``, ``docid``, ``doc_id``, ``_id`` and ``id`` that the first
object of a file has; every object of that file must have it. All other values that have text
become fields (see :mod:`adducir.corpora.values`). Blank lines are ignored.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import orjson

from adducir.core.errors import InputError
from adducir.core.files import read_lines
from adducir.core.json_lines import WHOLE, json_error, refuse_unusable
from adducir.corpora.documents import SHORT_DOCNO, Document, check_docno
from adducir.corpora.readers.format import CorpusFormat
from adducir.corpora.values import fields_of

DOCNO_FIELDS = ("docno", "docid", "doc_id", "_id", "id")
_ALL_TEXT = {str}


class JSONL(CorpusFormat):
    """One JSON object a line."""

    suffixes: ClassVar = (".jsonl", ".ndjson", ".json")

    def read(
        self, path: Path, docno_field: str | None, folder: Path
    ) -> Iterator[tuple[int, Document]]:
        """See :func:`read_jsonl`."""
        del folder
        return read_jsonl(path, docno_field)


def read_jsonl(path: Path, docno_field: str | None = None) -> Iterator[tuple[int, Document]]:
    """Yield each document of a file with its 1-based line.

    Costs about one microsecond a document beyond reading the line and parsing it, where all
    values are strings: the parsed object then becomes the document's fields as it is.

    Raises:
        InputError: A line is not a JSON object in UTF-8, or has no usable docno.
    """
    loads = orjson.loads
    key = docno_field
    for number, line in read_lines(path):
        try:
            record = loads(line)
        except orjson.JSONDecodeError as error:
            if not line.strip():
                continue
            raise _malformed(path, number, line, error) from None
        if type(record) is not dict:
            raise _not_an_object(path, number, record)
        refuse_unusable(record, line, path, number)
        if key is None:
            key = next((name for name in DOCNO_FIELDS if name in record), None)
        docno = record.pop(key, None)
        if type(docno) is not str:
            docno = _as_docno(docno, key, record, path, number)
        if docno.split() != [docno] or "\0" in docno or len(docno) > SHORT_DOCNO:
            check_docno(docno, path, number)
        if set(map(type, record.values())) == _ALL_TEXT:
            yield number, Document(docno, record)
        else:
            yield number, Document(docno, fields_of(record))


def _as_docno(value: Any, key: str | None, record: dict[str, Any], path: Path, line: int) -> str:
    """The docno where it is not simply a string: a whole number, or an error."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is not None:
        raise InputError(f"the docno in {key!r} is {value!r}, not text.", path=path, line=line)
    if "arguments" in record:
        raise _one_value(path, line, ".arguments[]")
    wanted = f"no {key!r}" if key else "none of " + ", ".join(DOCNO_FIELDS)
    raise InputError(
        f"this document has no docno: there is {wanted} among {', '.join(record) or 'no fields'}.",
        path=path,
        line=line,
        hint="Name the field that holds the docno with docno_field.",
    )


def _malformed(path: Path, number: int, line: str, error: orjson.JSONDecodeError) -> InputError:
    if number == 1 and line.strip() in ("[", "{"):
        return _one_value(path, number, ".[]")
    return json_error(error, path, number, WHOLE)


def _not_an_object(path: Path, number: int, record: Any) -> InputError:
    if isinstance(record, list) and number == 1:
        return _one_value(path, number, ".[]")
    return InputError(
        f"this is not a JSON object but a {type(record).__name__}.", path=path, line=number
    )


def _one_value(path: Path, number: int, query: str) -> InputError:
    return InputError(
        "the file is one large JSON value, not one document a line.",
        path=path,
        line=number,
        hint=f"Cut it into lines, for instance with: jq -c '{query}' {path.name} > corpus.jsonl",
    )
