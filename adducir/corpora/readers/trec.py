"""Read documents from TREC's SGML: ``<DOC> <DOCNO> .. </DOCNO> ... </DOC>``.

Field ``text`` is the whole text of a document but its docno, tags stripped and entities
written out. The outermost elements are fields of their own, named in lower case (``headline``,
``title``); the element ``<TEXT>`` is called ``body``, because ``text`` is the whole. An element
that comes several times is joined by newlines. ``<DOCHDR>`` (the web collections' HTTP header)
and comments are left out, and so is what stands between documents.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from adducir.core.errors import InputError
from adducir.core.files import read_lines
from adducir.core.streams import BrokenStream, blocks, suffix_of
from adducir.corpora.documents import Document, check_docno
from adducir.corpora.markup import collapse, outermost, plain, without_comments
from adducir.corpora.readers.format import CorpusFormat

_EDGE = re.compile(r"<(/?)(?:DOC|doc)>")
_LEFT_OUT = frozenset({"dochdr"})
_RENAMED = {"text": "body"}
_HEAD = 1 << 16
_SURE = (".trec", ".sgml", ".sgm")


class TREC(CorpusFormat):
    """TREC's SGML, one ``<DOC>`` a document."""

    suffixes: ClassVar = (".trec", ".sgml", ".sgm", ".txt", ".xml")
    record_end: ClassVar = b"</DOC>"
    default_fields: ClassVar = ("text",)

    def read(
        self, path: Path, docno_field: str | None, folder: Path
    ) -> Iterator[tuple[int, Document]]:
        del folder
        return read_trec(path, docno_field)

    def accepts(self, path: Path) -> bool:
        """Whether its name is TREC's alone, or ``<DOC>`` is near its beginning."""
        return suffix_of(path) in _SURE or _holds_doc(path)


def read_trec(path: Path, docno_field: str | None = None) -> Iterator[tuple[int, Document]]:
    """Yield each document of a file with the 1-based line of its ``<DOC>``.

    Args:
        path: The file, plain or gzipped.
        docno_field: The element that holds the docno (``DOCNO`` by default).

    Raises:
        InputError: A document is not closed or has no usable docno, or the file holds text but
            no document.
    """
    key = (docno_field or "docno").lower()
    found = strayed = False
    for start, body in elements(path):
        if body is None:
            strayed = True
            continue
        found = True
        yield start, parse_document(body, key, path, start)
    if strayed and not found:
        raise InputError(
            "there is no <DOC> in this file, so it is not in TREC's format.",
            path=path,
            hint="Readable are JSONL, TREC SGML, TSV and plain text; name the format where the "
            "file name does not show. With the format text the whole file is one document.",
        )


def elements(path: Path) -> Iterator[tuple[int, str | None]]:
    """The line of each ``<DOC>`` with what stands in it; None for text outside of documents."""
    start = 0
    lines: list[str] = []
    for number, line in read_lines(path):
        position = 0
        if "DOC>" in line or "doc>" in line:
            for edge in _EDGE.finditer(line):
                if edge[1]:
                    if not start:
                        raise InputError("this </DOC> closes nothing.", path=path, line=number)
                    lines.append(line[position : edge.start()])
                    yield start, "\n".join(lines)
                    start = 0
                elif start:
                    raise _unclosed(path, start, f"before the next one in line {number}")
                else:
                    start, lines = number, []
                position = edge.end()
        if start:
            lines.append(line[position:])
        elif position == 0 and line and not line.isspace():
            yield number, None
    if start:
        raise _unclosed(path, start, "before the file ends")


def _holds_doc(path: Path) -> bool:
    """Whether ``<DOC>`` is near the beginning, to distinguish a collection from a README."""
    try:
        head = next(blocks(path), b"")[:_HEAD]
    except BrokenStream:
        return True  # its reader says what is wrong with it
    return b"<doc>" in head.lower()


def _unclosed(path: Path, line: int, where: str) -> InputError:
    return InputError(
        f"this <DOC> is not closed {where}.",
        path=path,
        line=line,
        hint="The file may be cut off; every document ends with </DOC>.",
    )


def parse_document(body: str, key: str, path: Path, line: int) -> Document:
    """The document in what stands between ``<DOC>`` and ``</DOC>``.

    Raises:
        InputError: The element ``key`` is missing, or holds no usable docno.
    """
    body = without_comments(body)
    # Two searches: one pattern for both would look for the end anew from every further beginning.
    opening = re.search(rf"<{re.escape(key)}>", body, re.I)
    closing = opening and re.compile(rf"</{re.escape(key)}\s*+>", re.I).search(body, opening.end())
    if opening is None or closing is None:
        near = collapse(plain(body))[:40]
        raise InputError(
            f"this document has no <{key.upper()}> (it begins: {near!r}).", path=path, line=line
        )
    name = plain(body[opening.end() : closing.start()])
    check_docno(name, path, line)
    return Document(name, _fields(f"{body[: opening.start()]} {body[closing.end() :]}"))


def _fields(body: str) -> dict[str, str]:
    """The whole text and the outermost elements of a document without its docno."""
    texts: dict[str, list[str]] = {"text": []}
    kept: list[str] = []
    position = 0
    for element in outermost(body):
        if element.name in _LEFT_OUT:
            kept.append(body[position : element.start])
            position = element.end
            continue
        name = _RENAMED.get(element.name, element.name)
        texts.setdefault(name, []).append(plain(element.content))
    fields = {name: "\n".join(parts) for name, parts in texts.items()}
    kept.append(body[position:])
    fields["text"] = plain(" ".join(kept))
    return fields
