"""Read topics from files; which form a file has is recognised by its content.

See :mod:`adducir.corpora.topics` for the forms.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from adducir.core.errors import InputError
from adducir.core.files import read_lines
from adducir.core.json_lines import WHOLE, json_value
from adducir.core.streams import plain_name
from adducir.corpora.readers.trec import read_trec
from adducir.corpora.token_weights import weights_in
from adducir.corpora.topic_markup import RawTopic, parse_classic, parse_xml
from adducir.corpora.values import as_text

QID_FIELDS = ("qid", "query_id", "query-id", "_id", "id", "number")
_VECTOR_FIELDS = ("vector", "weights", "query")
_SUFFIXES_JSON = (".jsonl", ".ndjson", ".json")


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
