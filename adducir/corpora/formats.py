"""Document file formats, except TREC's.

JSON may be an array, alone or as ``arguments``, the only member of an object (args.me).
A TSV may have a header, which its shape shows (:mod:`adducir.corpora.field_choice`); a CSV must.
:func:`adducir.corpora.tables.has_csv_quotes` says what quotes are.
"""

import re
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar

from adducir.core.errors import InputError, worded
from adducir.core.files import read_lines, read_pieces, read_text, suffix_of
from adducir.core.json_lines import json_objects, read_objects
from adducir.core.progress import progress
from adducir.core.recipe import Recipe
from adducir.corpora.documents import Document, check_docno, fields_of
from adducir.corpora.field_choice import (
    DOCNO_FIELDS,
    QID_FIELDS,
    default_fields_of,
    id_column_of,
    id_field,
    is_header,
)
from adducir.corpora.pages import PACKAGES, read_page
from adducir.corpora.tables import TABLES, Quotes, cells_of, table_records

Documents = Iterator[tuple[int, Document]]

_SAMPLE = 200  # records that show which field is the docno
_ANY_DOCNO = f"{', '.join(DOCNO_FIELDS[:-1])} or {DOCNO_FIELDS[-1]}"
_ARRAY = re.compile(r'\s*(?:\[|\{\s*"arguments"\s*:\s*\[)')
_LINK = re.compile(r"^([0-9]{1,9})\t([0-9]{1,9})\t([0-9]{1,9})$", re.MULTILINE)


class CorpusFormat(Recipe):
    """A file format of documents."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    """File name suffixes without compression's; none: the user has to name the format."""
    is_whole_file: ClassVar[bool] = False
    """Whether each file is one document."""
    default_fields: ClassVar[tuple[str, ...] | None] = None
    """The fields to index by default; None: as the first documents show."""
    version: ClassVar[int] = 1
    """Raised when the same files yield other documents."""
    is_last_resort: ClassVar[bool] = False
    """Whether its files are read only if a folder has no others."""

    @abstractmethod
    def read(self, path: Path, docno_field: str | None, folder: Path) -> Documents:
        """Yield each document of a file with its 1-based line.

        ``docno_field`` is the docno's field if the user named it; ``folder`` what the user named,
        or the file's own. Read files with :func:`adducir.core.files.read_lines`, and check docnos
        with :func:`adducir.corpora.documents.check_docno`.
        """

    def accepts(self, path: Path) -> bool:
        """Whether a file in a folder may have this format, judged by its content."""
        return True

    def usual_fields(self, sample: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
        """The fields to index by default, judged by those of the first documents."""
        return self.default_fields or default_fields_of(sample)


class JSONL(CorpusFormat):
    """One JSON object per line, or objects over several lines, or one array of them."""

    suffixes: ClassVar = (".jsonl", ".ndjson", ".json", ".jl")

    def read(self, path: Path, docno_field: str | None, folder: Path) -> Documents:
        return read_jsonl(path, docno_field)


def read_jsonl(path: Path, docno_field: str | None = None) -> Documents:
    """Yield each document of a file with the 1-based line where it begins."""
    from adducir.corpora.rank_llm import documents_of, is_request

    head = next(read_pieces(path), "").lstrip("\ufeff \t\r\n")
    is_array = _ARRAY.match(head) is not None
    is_over_lines = head[:1] == "{" and not head.split("\n", 1)[0].rstrip().endswith("}")
    by_line = not (is_array or (is_over_lines and "\n" in head))
    records = json_objects(path) if by_line else read_objects(path, wrapped=is_array)
    first = list(islice(records, 1))
    records = chain(first, records)
    if first and is_request(first[0][1]):
        records, docno_field = documents_of(records, path), "docid"
    for number, docno, record in with_docnos(records, path, docno_field):
        is_text = set(map(type, record.values())) == {str}  # the usual case is cheap
        yield number, Document(docno, record if is_text else fields_of(record))


def with_docnos(
    records: Iterable[tuple[int, dict[str, Any]]], path: Path, docno_field: str | None = None
) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """The line, docno and rest of each record; the first record determines the docno's field."""
    following = iter(records)
    first = list(islice(following, _SAMPLE))
    sample = [record for _, record in first]
    key = docno_field or (id_field(sample, DOCNO_FIELDS, path, "docno") if sample else None)
    for number, record in chain(first, following):
        docno = None if key is None else record.pop(key, None)
        if type(docno) is int:
            docno = str(docno)
        if type(docno) is not str:
            message = (
                f"this document does not have a docno: the field {key or _ANY_DOCNO} is missing."
            )
            if docno is not None:
                message = f"the docno in {key} is {docno!r}, which is neither text nor an integer."
            fields = ", ".join(record) or "no others"
            hint = f"Name its field: {worded('docno_field')}; the fields here are {fields}."
            raise InputError(message, path=path, line=number, hint=hint)
        check_docno(docno, path, number)
        yield number, docno, record


class Table(CorpusFormat):
    """CSV with a header, or Parquet: each row is a document, each column a field."""

    suffixes: ClassVar = TABLES
    version: ClassVar = 3
    quotes: Quotes | None = None
    """What quotes are; by default CSV's."""

    def read(self, path: Path, docno_field: str | None, folder: Path) -> Documents:
        records = table_records(path, self.quotes)
        for line, docno, record in with_docnos(records, path, docno_field):
            yield line, Document(docno, fields_of(record))


class TSV(CorpusFormat):
    """A docno, a tab, the text; or columns named by a header."""

    suffixes: ClassVar = (".tsv",)
    version: ClassVar = 3
    quotes: Quotes | None = None
    """Whether quotes enclose cells; by default as the file shows."""

    def read(self, path: Path, docno_field: str | None, folder: Path) -> Documents:
        rows = cells_of(read_lines(path), path, "\t", self.quotes)
        for line, docno, fields in tsv_records(rows, path, "docno", docno_field):
            check_docno(docno, path, line)
            yield line, Document(docno, fields)


def tsv_records(
    rows: Iterable[tuple[int, list[str]]], path: Path, kind: str, id_column: str | None = None
) -> Iterator[tuple[int, str, dict[str, str]]]:
    """The number, id (a ``docno`` or ``qid``) and fields of each row.

    The first row is a header if it names the column that the user gave, or by its shape.
    """
    ids, text_name = (DOCNO_FIELDS, "text") if kind == "docno" else (QID_FIELDS, "query")
    following = iter(rows)
    first = list(islice(following, _SAMPLE))
    header: list[str] | None = None
    key = 0
    if first and (id_column or is_header([cells for _, cells in first], ids)):
        line, cells = first.pop(0)
        header = [cell.strip() for cell in cells]
        named = header if id_column else [cell.lower() for cell in header]
        is_wrong = len(set(header)) < max(2, len(cells)) or (id_column and id_column not in named)
        if is_wrong:
            need = id_column or " or ".join(ids)
            message = f"the header must name {need} and other columns, each once."
            hint = f"Name another: {worded(f'{kind}_field')}." if id_column else None
            raise InputError(message, path=path, line=line, hint=hint)
        key = named.index(id_column) if id_column else id_column_of(named, ids)
        if not id_column and named[key] not in ids:
            message = f"the first line is a header, whose {kind} is {header[key]}"
            progress().note_once(f"{path}: {message} ({worded(f'{kind}_field')} names another)")
    for line, cells in chain(first, following):
        if header is not None:
            if len(cells) != len(header):
                message = f"this line has {len(cells)} columns, but the header has {len(header)}."
                hint = f"If quotes enclose cells here, read it so: {worded('quotes', 'csv')}."
                raise InputError(message, path=path, line=line, hint=hint)
            fields = dict(zip(header, cells, strict=True))
            yield line, fields.pop(header[key]), fields
        elif len(cells) < 2:
            message = f"the tab between {kind} and {text_name} is missing."
            hint = f"Write: {kind}, a tab, {text_name}"
            hint += f"; or choose another {worded('format')}." if kind == "docno" else "."
            raise InputError(message, path=path, line=line, hint=hint)
        else:
            yield line, cells[0], {text_name: "\t".join(cells[1:])}


class WholeFile(CorpusFormat):
    """Plain text, HTML or PDF: each file is one document, its path the docno."""

    suffixes: ClassVar = (".txt", ".md", *PACKAGES)
    is_whole_file: ClassVar = True
    is_last_resort: ClassVar = True

    def read(self, path: Path, docno_field: str | None, folder: Path) -> Documents:
        docno = docno_of(path, folder)
        check_docno(docno, path)
        is_plain = suffix_of(path) not in PACKAGES
        yield 1, Document(docno, {"text": read_text(path)} if is_plain else read_page(path))


def docno_of(path: Path, folder: Path) -> str:
    """The docno of a file: its path relative to the folder, with ``_`` for white space."""
    return "_".join(path.relative_to(folder).as_posix().split())


class CACM(CorpusFormat):
    """The CACM collection as JSON lines, with ten truncated texts restored.

    In copies (fields docid, contents, html_text), an HTML parser took a "<" within ten abstracts
    for a tag, and ``html_text`` ends there. The rest of the abstract is taken from ``contents``,
    and the table of citation links behind it from the other papers' tables, whose lines are
    ``other <tab> type <tab> paper`` (5: one cites the other). A paper has three links of type 5 to
    itself, and for each to another one of type 4 (it cites that paper) or 6 (it is cited), by the
    papers' numbers, in order of time. So the texts are those that Anserini indexes.
    """

    def read(self, path: Path, docno_field: str | None, folder: Path) -> Documents:
        documents = list(read_jsonl(path, docno_field))
        links = defaultdict[int, list[tuple[int, int]]](list)
        for line, document in documents:
            if not {"contents", "html_text"} <= document.fields.keys():
                message = "documents in the format cacm have the fields contents and html_text."
                hint = f"Choose another {worded('format')}."
                raise InputError(message, path=path, line=line, hint=hint)
            page = _number(document.docno)
            for other, kind, _ in _LINK.findall(document.fields["html_text"]):
                if int(other) != page:
                    links[int(other)].append((page, int(kind)))
        for line, document in documents:
            fields = document.fields
            # The parser stopped at this character; a page without one is complete.
            if "<" in fields["contents"] and "<" not in fields["html_text"]:
                paper = _number(document.docno)
                kinds = [4 if other < paper else 6 for other, kind in links[paper] if kind == 5]
                rows = [*links[paper], *((paper, kind) for kind in (5, 5, 5, *kinds))]
                table = "\n".join(f"{other}\t{kind}\t{paper}" for other, kind in rows)
                fields = fields | {"html_text": f"{fields['contents']}\n\n{table}"}
            yield line, Document(document.docno, fields)


def _number(docno: str) -> int:
    return int("".join(re.findall(r"[0-9]{1,9}\Z", docno)) or 0)
