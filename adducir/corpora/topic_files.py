"""Read topics from files; which form a file has is recognised by its content.

See :mod:`adducir.corpora.topics` for the forms. XML is parsed by the standard library, after
refusing document types and entity declarations (so that no entity can be expanded without end) and
writing out HTML's entities and lone ampersands, which real topic files contain.
"""

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as Xml

from adducir.core.errors import InputError
from adducir.core.files import read_lines
from adducir.core.json_lines import WHOLE, json_value
from adducir.core.streams import plain_name
from adducir.corpora.markup import LineNumbers, collapse, decode, without_comments
from adducir.corpora.values import as_text

QID_FIELDS = ("qid", "query_id", "query-id", "_id", "id", "number")
_VECTOR_FIELDS = ("vector", "weights", "query")
_SUFFIXES_JSON = (".jsonl", ".ndjson", ".json")
_LONG_NAMES = {"desc": "description", "narr": "narrative", "con": "concepts", "dom": "domain"}
_TOPIC_TAGS = frozenset({"topic", "top"})
_QID_TAGS = ("number", "num", "qid", "query_id", "id")
_FORBIDDEN = re.compile(r"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)
_AMPERSAND = re.compile(r"&(#\d+;|#[xX][0-9a-fA-F]+;|\w+;)?")
_XML_DECLARATION = re.compile(r"<\?xml[^<>]*?\?>")
_XML_ENTITIES = frozenset({"amp;", "lt;", "gt;", "quot;", "apos;"})


class RawTopic(NamedTuple):
    """A topic.

    Attributes:
        line: The 1-based line it begins in, where it is known.
        vector: The weights of tokens that it gives in place of a text, or beside one.
    """

    qid: str
    fields: dict[str, str]
    line: int | None
    vector: dict[str, float] | None = None


class Line(NamedTuple):
    """A line with text, and its 1-based number."""

    number: int
    text: str


def read_topics(path: Path) -> list[RawTopic]:
    """The topics of a file with all their fields, in file order.

    Raises:
        InputError: The file is in none of the forms, or is malformed; with the line.
    """
    if path.is_dir():
        raise InputError("this is a folder, not a file of topics.", path=path)
    lines = [text for _, text in read_lines(path)]
    form = _form(path, lines)
    return form(path, lines)


def _form(path: Path, lines: list[str]) -> Callable[[Path, list[str]], list[RawTopic]]:
    """The reader for what the first lines look like."""
    first = next((line.strip() for line in lines if line.strip()), "")
    name = plain_name(path.name.lower())
    if name.endswith(_SUFFIXES_JSON) or first.startswith("{"):
        return _json_topics
    if first.startswith("<"):
        text = "\n".join(lines)
        mark = re.search(r"<(topics?|top|doc)[\s>]", text, re.IGNORECASE)
        if mark is not None and mark[1].lower() == "doc":
            return _document_topics
        if mark is not None and mark[1].lower() == "top":
            return parse_classic
        return parse_xml
    return _tsv_topics


def _document_topics(path: Path, lines: list[str]) -> list[RawTopic]:
    from adducir.corpora.readers.trec import read_trec

    return [RawTopic(document.docno, document.fields, line) for line, document in read_trec(path)]


def _json_topics(path: Path, lines: list[str]) -> list[RawTopic]:
    topics = []
    for number, text in _with_text(lines):
        topics.append(_json_topic(json_value(text, path, number, WHOLE), path, number))
    return topics


def _json_topic(record: Any, path: Path, number: int) -> RawTopic:
    if not isinstance(record, dict):
        raise InputError("this is not a JSON object.", path=path, line=number)
    key = next((name for name in QID_FIELDS if name in record), None)
    qid = as_text(record.pop(key)) if key else None
    if qid is None:
        raise InputError(
            "this topic has no qid.",
            path=path,
            line=number,
            hint=f"Give it in one of {', '.join(QID_FIELDS)}.",
        )
    fields = {name: text for name, value in record.items() if (text := as_text(value)) is not None}
    vector = _vector(record, path, number)
    if not fields and vector is None:
        raise InputError(f"the topic {qid!r} has no text.", path=path, line=number)
    return RawTopic(qid, fields, number, vector)


def _vector(record: dict[str, Any], path: Path, number: int) -> dict[str, float] | None:
    """The weights of a query's tokens, by any name that they have in such files."""
    keys = tuple(key for key in _VECTOR_FIELDS if isinstance(record.get(key), dict))
    if not keys:
        return None
    from adducir.corpora.token_weights import weights_in

    return weights_in(record, path, number, keys)


def _tsv_topics(path: Path, lines: list[str]) -> list[RawTopic]:
    topics = []
    columns: list[str] | None = None
    for position, (number, text) in enumerate(_with_text(lines)):
        cells = text.split("\t")
        if len(cells) < 2:
            raise InputError(
                "there is no tab between qid and query.",
                path=path,
                line=number,
                hint="Readable are TSV, JSONL, Touché's XML and TREC's topics.",
            )
        if position == 0 and cells[0].strip().lower() in QID_FIELDS:
            columns = [cell.strip().lower() for cell in cells[1:]]
        elif columns is None:
            qid, _, query = text.partition("\t")
            topics.append(RawTopic(qid.strip(), {"query": query}, number))
        elif len(cells) != len(columns) + 1:
            what = f"there are {len(cells)} columns where the header names {len(columns) + 1}."
            raise InputError(what, path=path, line=number)
        else:
            fields = dict(zip(columns, cells[1:], strict=True))
            topics.append(RawTopic(cells[0].strip(), fields, number))
    return topics


def _with_text(lines: list[str]) -> list[Line]:
    return [Line(number, text) for number, text in enumerate(lines, 1) if text.strip()]


def parse_xml(path: Path, lines: list[str]) -> list[RawTopic]:
    """The topics in ``<topic>`` elements, wherever they stand.

    The qid is in an element or an attribute ``number`` (or ``num``, ``qid``, ``query_id``,
    ``id``); every other element of a topic is a field.

    Raises:
        InputError: The XML is malformed or declares a document type, or a topic has no number.
    """
    text = without_comments("\n".join(lines))
    forbidden = _FORBIDDEN.search(text)
    if forbidden:
        raise InputError(
            f"document types and entities are not read (<!{forbidden[1].upper()}).",
            path=path,
            line=LineNumbers(text).at(forbidden.start()),
            hint="Take the declaration out; &amp; and the like are understood without it.",
        )
    text = _AMPERSAND.sub(_known_to_xml, _XML_DECLARATION.sub("", text))
    try:
        # One root for all: some files are a row of topics without one.
        root = Xml.fromstring(f"<all>{text}</all>")  # noqa: S314  (see the module's text)
    except Xml.ParseError as error:
        line, column = error.position
        raise InputError(
            f"this is not well-formed XML: {str(error).split(':')[0]} (column {column + 1}).",
            path=path,
            line=min(line, len(lines)),
        ) from None
    elements = [element for element in root.iter() if element.tag.lower() in _TOPIC_TAGS]
    topics = list(zip(elements, _lines_of_topics(text, len(elements)), strict=True))
    _refuse_nested(topics, path)
    return [_xml_topic(topic, path, line) for topic, line in topics]


def _refuse_nested(topics: list[tuple[Xml.Element, int | None]], path: Path) -> None:
    """Refuse a topic inside a topic: the outer one would have the inner one's text as well."""
    inner = 0
    for element, line in topics:  # in the order of the file, so an outer one comes first
        if inner:
            raise InputError("this topic stands inside another one.", path=path, line=line)
        inner = sum(one.tag.lower() in _TOPIC_TAGS for one in element.iter()) - 1


def _lines_of_topics(text: str, count: int) -> list[int | None]:
    """The line of each topic's tag; unknown where CDATA holds what reads like one."""
    numbers = LineNumbers(text)
    found = re.finditer(r"<(?:topic|top)[\s/>]", text, re.IGNORECASE)
    lines: list[int | None] = [numbers.at(match.start()) for match in found]
    return lines if len(lines) == count else [None] * count


def _known_to_xml(match: re.Match[str]) -> str:
    name = match[1]
    if name is None:
        return "&amp;"
    if name in _XML_ENTITIES or name.startswith("#"):
        return match[0]
    character = html.unescape(match[0])
    return f"&amp;{name}" if character == match[0] else character


def _xml_topic(topic: Xml.Element, path: Path, line: int | None) -> RawTopic:
    texts: dict[str, list[str]] = {}
    for child in topic:
        tag = child.tag.lower()
        text = collapse(" ".join(child.itertext()))
        texts.setdefault(_LONG_NAMES.get(tag, tag), []).append(text)
    fields = {name: " ".join(parts) for name, parts in texts.items()}
    attributes = {name.lower(): value for name, value in topic.attrib.items()}
    for tag in _QID_TAGS:
        if tag in fields:
            return RawTopic(fields.pop(tag), fields, line)
        if tag in attributes:
            return RawTopic(attributes[tag].strip(), fields, line)
    raise InputError(
        "this topic has no number.", path=path, line=line, hint="Write <number>1</number> in it."
    )


_CLASSIC_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*+)(?:\s[^<>]*+)?>")
_LABEL = re.compile(
    r"\s*(?:Number|Topic|Title|Description|Narrative|Domain|Summary|Concept\(s\)|Factor\(s\)"
    r"|Definition\(s\)|Concepts|Factors|Definitions)\s*:",
    re.IGNORECASE,
)


def parse_classic(path: Path, lines: list[str]) -> list[RawTopic]:
    """The topics in ``<top>``, whose inner tags need no end.

    Labels such as ``Number:`` and ``Description:`` are dropped, and so are the leading zeros
    of a number (TREC's first topics say 051 where their qrels say 51).

    Raises:
        InputError: A ``<top>`` is not closed or has no ``<num>``.
    """
    text = without_comments("\n".join(lines))
    topics: list[RawTopic] = []
    fields: dict[str, list[str]] | None = None
    start = 0
    numbers = LineNumbers(text)
    tags = list(_CLASSIC_TAG.finditer(text))
    ends = [tag.start() for tag in tags[1:]] + [len(text)]
    for tag, end in zip(tags, ends, strict=True):
        name = tag[2].lower()
        if name == "top":
            line = numbers.at(tag.start())
            if bool(tag[1]) == (fields is None):
                raise _unbalanced(path, start if fields is not None else line, fields is None)
            if fields is not None:
                topics.append(_classic_topic(fields, path, start))
            fields, start = (None, 0) if tag[1] else ({}, line)
        elif fields is not None:
            _add(fields, "" if tag[1] else name, text[tag.end() : end])
    if fields is not None:
        raise _unbalanced(path, start, closing=False)
    return topics


def _add(fields: dict[str, list[str]], tag: str, content: str) -> None:
    """Put the text behind a tag into its field; behind an end tag there should be none."""
    if not tag:
        return
    name = _LONG_NAMES.get(tag, tag)
    label = _LABEL.match(content)
    text = collapse(decode(content[label.end() :] if label else content))
    fields.setdefault(name, []).append(text)


def _classic_topic(texts: dict[str, list[str]], path: Path, line: int) -> RawTopic:
    fields = {name: " ".join(filter(None, parts)) for name, parts in texts.items()}
    number = fields.pop("num", "").split(" ")[0]
    if not number:
        raise InputError("this <top> has no <num>.", path=path, line=line)
    return RawTopic(number.lstrip("0") or number if number.isdigit() else number, fields, line)


def _unbalanced(path: Path, line: int, closing: bool) -> InputError:
    what = "this </top> closes nothing." if closing else "this <top> is not closed."
    return InputError(what, path=path, line=line, hint="Every topic ends with </top>.")
