"""Documents in TREC's SGML.

``<DOC> <DOCNO> .. </DOCNO> ... </DOC>``, or ``<DOC id="..">``: the field ``text`` is a document's
whole text except its docno, with tags stripped and entities decoded. The outermost elements are
fields with lower-case names (``headline``, ``title``); the element ``<TEXT>`` becomes ``body``,
because ``text`` is the whole. Repeated elements are joined by newlines. ``<DOCHDR>`` (the web
collections' HTTP header), comments and text between documents are left out, and of web pages
scripts and styles.

By default, the sections that Anserini's TrecCollection indexes are searched where documents have
some of them: those of TREC's disks 1 to 5. Elsewhere it is the whole text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from adducir.core.errors import InputError, worded
from adducir.core.files import BrokenStream, blocks, read_lines, suffix_of
from adducir.corpora.documents import Document, check_docno
from adducir.corpora.formats import CorpusFormat
from adducir.corpora.markup import collapse, elements, plain, with_plain_text, without_comments

SECTIONS = ("text", "headline", "title", "hl", "head", "ttl", "dd", "date", "lp", "leadpara")
"""The elements that Anserini indexes, each at the start of a line."""
_FIELDS = ("body", *SECTIONS[1:])
_BEGINS = re.compile(rb"(?:^|>)[ \t]*<doc(?:\s[^<>]*+)?>", re.IGNORECASE | re.MULTILINE)
_EDGE = re.compile(r"<(/?)(doc)((?:\s[^<>]*+)?)>", re.IGNORECASE)
_ID = re.compile(r"""\s(?:id|docno|docid)\s*=\s*["']([^"']*+)["']""", re.IGNORECASE)
_HIDDEN = re.compile(r"<(script|style)[\s/>]", re.IGNORECASE)


class TREC(CorpusFormat):
    """TREC's SGML, one ``<DOC>`` per document."""

    suffixes: ClassVar = (".trec", ".sgml", ".sgm", ".txt", ".xml")
    version: ClassVar = 3

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

    def usual_fields(self, sample: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
        has_sections = any(not fields.keys().isdisjoint(_FIELDS) for fields in sample)
        is_web = any("html" in fields for fields in sample)
        return _FIELDS if has_sections and not is_web else ("text",)


def trec_documents(
    lines: Iterable[tuple[int, str]], path: Path, docno_field: str | None = None
) -> Iterator[tuple[int, Document]]:
    """Each document of the lines of a file, with the line of its ``<DOC>``."""
    key = re.escape(docno_field or "docno")
    # Two searches: one pattern for both would search for the end again from every beginning.
    opening, closing = re.compile(f"<{key}>", re.I), re.compile(rf"</{key}\s*+>", re.I)
    start, tag, attributes, inner, parts = 0, "", "", 0, list[str]()
    is_inside = strayed = False

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
                named = _ID.search(attributes)
                if first is not None and last is not None:
                    docno = plain(body[first.end() : last.start()])
                    text = f"{body[: first.start()]} {body[last.end() :]}"
                elif named is not None and docno_field is None:
                    docno, text = plain(named[1]), body
                else:
                    message = f"this document lacks <{key.upper()}>: {collapse(plain(body))[:40]!r}"
                    raise InputError(message, path=path, line=start)
                check_docno(docno, path, start)
                yield start, Document(docno, _fields(text))
                start, is_inside = 0, True
            elif start:
                raise unclosed(f"the next one on line {number}")
            else:
                start, tag, attributes, inner, parts = number, edge[2], edge[3], 0, []
            position = edge.end()
        if start:
            parts.append(line[position:])
        elif position == 0 and line and not line.isspace():
            strayed = True
    if start:
        raise unclosed("the file ends")
    if strayed and not is_inside:
        raise InputError(
            "this file does not contain <DOC>, so it is not in TREC's format.",
            path=path,
            hint=f"Name another {worded('format')}: JSONL, TREC SGML, TSV, CSV, Parquet or plain "
            "text, of which a file is one document.",
        )


def _fields(body: str) -> dict[str, str]:
    texts: dict[str, list[str]] = {"text": []}
    kept, position = list[str](), 0
    is_web = "<dochdr" in body.lower()
    if is_web:
        body = _without_hidden(body)
    for element in elements(body):
        if element.name == "dochdr":
            kept.append(body[position : element.start])
            position = element.end
            continue
        name = "body" if element.name == "text" else element.name
        texts.setdefault(name, []).append(plain(element.content))
        if not is_web and element.name not in SECTIONS:  # sections may be within another element
            for inner in elements(element.content):
                is_first = element.content[: inner.start].rpartition("\n")[2].isspace()
                if inner.name in SECTIONS and (inner.start == 0 or is_first):
                    name = "body" if inner.name == "text" else inner.name
                    texts.setdefault(name, []).append(plain(inner.content))
    fields = {name: "\n".join(parts) for name, parts in texts.items()}
    fields["text"] = plain(" ".join([*kept, body[position:]]))
    return {"html": fields["text"]} | fields if is_web else fields


def _without_hidden(page: str) -> str:
    """A web page without its scripts and styles; one that is not closed runs to the end."""
    kept, position, lower = list[str](), 0, page.lower()
    while (hidden := _HIDDEN.search(page, position)) is not None:
        kept.append(page[position : hidden.start()])
        end = lower.find(f"</{hidden[1].lower()}", hidden.end())
        position = len(page) if end < 0 else lower.find(">", end) + 1 or len(page)
    return " ".join([*kept, page[position:]])
