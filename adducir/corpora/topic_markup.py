"""Topics written in XML, and in the unclosed tags of TREC's classic topics.

XML is parsed by the standard library, after refusing document types and entity declarations
(so that no entity can be expanded without end) and writing out HTML's entities and lone
ampersands, which real topic files contain.
"""

import html
import re
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as Xml

from adducir.core.errors import InputError
from adducir.corpora.markup import LineNumbers, collapse, decode, without_comments


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


_LONG_NAMES = {"desc": "description", "narr": "narrative", "con": "concepts", "dom": "domain"}
_TOPIC_TAGS = frozenset({"topic", "top"})
_QID_TAGS = ("number", "num", "qid", "query_id", "id")
_FORBIDDEN = re.compile(r"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)
_AMPERSAND = re.compile(r"&(#\d+;|#[xX][0-9a-fA-F]+;|\w+;)?")
_XML_DECLARATION = re.compile(r"<\?xml[^<>]*?\?>")
_XML_ENTITIES = frozenset({"amp;", "lt;", "gt;", "quot;", "apos;"})


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
