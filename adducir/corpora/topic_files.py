"""Read topics from files; which form a file has is shown by its content.

See :mod:`adducir.corpora.topics` for the forms. XML and TREC's classic SGML are read by one scanner
of tags that knows HTML's entities and expands no others; a file that declares some is refused.
"""

import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from adducir.core.errors import InputError
from adducir.core.files import read_lines
from adducir.core.json_lines import WHOLE, json_value
from adducir.core.streams import suffix_of
from adducir.corpora.documents import as_text
from adducir.corpora.formats import tsv_records
from adducir.corpora.token_weights import weights_in
from adducir.corpora.trec import (
    collapse,
    elements,
    plain,
    trec_documents,
    without_comments,
)

QID_FIELDS = ("qid", "query_id", "query-id", "_id", "id", "number")
_QID_TAGS = ("number", "num", "qid", "query_id", "id")
_LONG_NAMES = {"desc": "description", "narr": "narrative", "con": "concepts", "dom": "domain"}
_FORM = re.compile(r"<(topics?|top|doc)[\s>]", re.IGNORECASE)
_ENTITY = re.compile(r"<!\s*ENTITY", re.IGNORECASE)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_TOPIC = re.compile(r"<(/?)(topic|top)((?:\s[^<>]*+)?)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([\w-]++)\s*=\s*[\"']([^\"']*+)[\"']")
_LABEL = re.compile(
    r"\s*(?:Number|Topic|Title|Description|Narrative|Domain|Summary|Concept\(s\)|Factor\(s\)"
    r"|Definition\(s\)|Concepts|Factors|Definitions)\s*:",
    re.IGNORECASE,
)


class RawTopic(NamedTuple):
    """A topic with all its fields, the 1-based line it begins in, and weights of its tokens."""

    qid: str
    fields: Mapping[str, str]
    line: int | None
    vector: dict[str, float] | None = None


def read_topics(path: Path) -> list[RawTopic]:
    """The topics of a file, in file order."""
    if path.is_dir():
        raise InputError("this is a folder, not a file of topics.", path=path)
    lines = list(read_lines(path))
    texts = [(number, line) for number, line in lines if line.strip()]
    first = texts[0][1].strip() if texts else ""
    if suffix_of(path) in (".jsonl", ".ndjson", ".json") or first.startswith("{"):
        return [_json_topic(json_value(text, path, n, WHOLE), path, n) for n, text in texts]
    if first.startswith("<"):
        text = "\n".join(line for _, line in lines)
        form = _FORM.search(text)
        if form is None or form[1].lower() != "doc":
            return _tagged_topics(text, path)
        return [RawTopic(*one, line) for line, one in trec_documents(lines, path)]
    return [
        RawTopic(qid.strip(), {name.lower(): text for name, text in fields.items()}, line)
        for line, qid, fields in tsv_records(lines, path, QID_FIELDS, "query")
    ]


def _json_topic(record: Any, path: Path, line: int) -> RawTopic:
    if not isinstance(record, dict):
        raise InputError("this is not a JSON object.", path=path, line=line)
    key = next((name for name in QID_FIELDS if name in record), None)
    qid = as_text(record.pop(key)) if key else None
    if qid is None:
        hint = f"Give it in one of {', '.join(QID_FIELDS)}."
        raise InputError("this topic has no qid.", path=path, line=line, hint=hint)
    fields = {name: text for name, value in record.items() if (text := as_text(value)) is not None}
    objects = [key for key in ("vector", "weights", "query") if isinstance(record.get(key), dict)]
    vector = weights_in(record, path, line, tuple(objects))
    if not fields and vector is None:
        raise InputError(f"the topic {qid!r} has no text.", path=path, line=line)
    return RawTopic(qid, fields, line, vector)


def _tagged_topics(text: str, path: Path) -> list[RawTopic]:
    """Topics in ``<topic>`` (XML) or ``<top>`` (TREC's classic form, whose tags need no end)."""
    text = _CDATA.sub(lambda match: html.escape(match[1]), without_comments(text))
    if declared := _ENTITY.search(text):
        what, hint = "declared entities are not read.", "Replace them by the text they stand for."
        line = text.count("\n", 0, declared.start()) + 1
        raise InputError(what, path=path, line=line, hint=hint)
    topics: list[RawTopic] = []
    opened: re.Match[str] | None = None
    line, counted = 1, 0
    for tag in _TOPIC.finditer(text):
        if tag[1] and opened is not None:
            body = text[opened.end() : tag.start()]
            topics.append(_tagged_topic(opened, body, path, line))
            opened = None
            continue
        if opened is not None:
            break
        line, counted = line + text.count("\n", counted, tag.start()), tag.start()
        if tag[1]:
            raise InputError(f"this {tag[0]} closes nothing.", path=path, line=line)
        opened = tag
    if opened is not None:
        raise InputError(f"this {opened[0]} is not closed.", path=path, line=line)
    return topics


def _tagged_topic(tag: re.Match[str], body: str, path: Path, line: int) -> RawTopic:
    is_classic = tag[2].lower() == "top"
    texts: dict[str, list[str]] = {}
    for element in elements(body, unclosed=True):
        label = _LABEL.match(element.content) if is_classic else None
        content = element.content[label.end() :] if label else element.content
        name = _LONG_NAMES.get(element.name, element.name)
        texts.setdefault(name, []).append(collapse(plain(content)))
    fields = {name: " ".join(filter(None, parts)) for name, parts in texts.items()}
    attributes = {name.lower(): plain(value) for name, value in _ATTRIBUTE.findall(tag[3])}
    key = next((name for name in _QID_TAGS if name in fields or name in attributes), None)
    if key is None:
        hint = "Write <number>1</number> in it."
        raise InputError("this topic has no number.", path=path, line=line, hint=hint)
    qid = fields.pop(key, attributes.get(key, ""))
    if is_classic:  # TREC's first topics say 051 where their qrels say 51
        qid = qid.split(" ")[0]
        qid = qid.lstrip("0") or qid if qid.isdigit() else qid
    return RawTopic(qid, fields, line)
