"""Documents in TREC's SGML.

``<DOC> <DOCNO> .. </DOCNO> ... </DOC>``: the field ``text`` is a document's whole text except its
docno, with tags stripped and entities decoded. The outermost elements are fields with lower-case
names (``headline``, ``title``); the element ``<TEXT>`` becomes ``body``, because ``text`` is the
whole. Repeated elements are joined by newlines. ``<DOCHDR>`` (the web collections' HTTP header),
comments and text between documents are left out.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from adducir.core.errors import InputError
from adducir.core.files import BrokenStream, blocks, read_lines, suffix_of
from adducir.corpora.documents import Document, check_docno
from adducir.corpora.formats import CorpusFormat
from adducir.corpora.markup import collapse, elements, plain, with_plain_text, without_comments

_BEGINS = re.compile(rb"(?:^|>)[ \t]*<doc\s*>", re.IGNORECASE | re.MULTILINE)
_EDGE = re.compile(r"<(/?)(doc)\s*+>", re.IGNORECASE)


class TREC(CorpusFormat):
    """TREC's SGML, one ``<DOC>`` per document."""

    suffixes: ClassVar = (".trec", ".sgml", ".sgm", ".txt", ".xml")
    default_fields: ClassVar = ("text",)
    version: ClassVar = 2

    def read(
        self, path: Path, docno_field: str | None, folder: Path
    ) -> Iterator[tuple[int, Document]]:
        return trec_documents(read_lines(path), path, docno_field)

    def accepts(self, path: Path) -> bool:
        """Whether its name is TREC's alone, or ``<DOC>`` begins a line."""
        try:
            is_trec = suffix_of(path) in self.suffixes[:3]
            return is_trec or _BEGINS.search(next(blocks(path), b"")[: 1 << 16]) is not None
        except BrokenStream:
            return True  # its reader reports the error


def trec_documents(
    lines: Iterable[tuple[int, str]], path: Path, docno_field: str | None = None
) -> Iterator[tuple[int, Document]]:
    """Each document of the lines of a file, with the line of its ``<DOC>``."""
    key = re.escape(docno_field or "docno")
    # Two searches: one pattern for both would search for the end again from every beginning.
    opening, closing = re.compile(f"<{key}>", re.I), re.compile(rf"</{key}\s*+>", re.I)
    start, tag, inner, parts = 0, "", 0, list[str]()
    found = strayed = False

    def unclosed(where: str) -> InputError:
        return InputError(f"this <DOC> is not closed before {where}.", path=path, line=start)

    for number, line in lines:
        position = 0
        for edge in _EDGE.finditer(line) if "<" in line else ():
            if start and edge[2] != tag and (not edge[1] or inner):  # part of a web page
                inner += -1 if edge[1] else 1
                continue
            if edge[1]:
                if not start:
                    raise InputError("this </DOC> has no matching <DOC>.", path=path, line=number)
                parts.append(line[position : edge.start()])
                body = with_plain_text(without_comments("\n".join(parts)))
                first = opening.search(body)
                last = first and closing.search(body, first.end())
                if first is None or last is None:
                    what = f"this document lacks <{key.upper()}>: {collapse(plain(body))[:40]!r}"
                    raise InputError(what, path=path, line=start)
                docno = plain(body[first.end() : last.start()])
                check_docno(docno, path, start)
                rest = f"{body[: first.start()]} {body[last.end() :]}"
                yield start, Document(docno, _fields(rest))
                start, found = 0, True
            elif start:
                raise unclosed(f"the next one on line {number}")
            else:
                start, tag, inner, parts = number, edge[2], 0, []
            position = edge.end()
        if start:
            parts.append(line[position:])
        elif position == 0 and line and not line.isspace():
            strayed = True
    if start:
        raise unclosed("the file ends")
    if strayed and not found:
        raise InputError(
            "this file does not contain <DOC>, so it is not in TREC's format.",
            path=path,
            hint="Supported are JSONL, TREC SGML, TSV, CSV, Parquet and plain text; give the "
            "format if the file name does not show it. In the format text, a file is one document.",
        )


def _fields(body: str) -> dict[str, str]:
    texts: dict[str, list[str]] = {"text": []}
    kept, position = list[str](), 0
    for element in elements(body):
        if element.name == "dochdr":
            kept.append(body[position : element.start])
            position = element.end
        else:
            name = "body" if element.name == "text" else element.name
            texts.setdefault(name, []).append(plain(element.content))
    fields = {name: "\n".join(parts) for name, parts in texts.items()}
    return fields | {"text": plain(" ".join([*kept, body[position:]]))}
