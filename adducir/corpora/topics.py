"""Topics: the queries of a test collection, each with its qid.

A source is ``bundled:topics``, an ir_datasets id, or a file, also compressed, whose format is
detected from its
content: XML (``<topic>``), TREC's classic form (``<top>``) or documents (``<DOC>``); JSON lines or
an array, of texts or token weights; TSV, CSV or Parquet. docs/formats.md shows each.

HTML's entities are decoded; a file that declares others is refused. White space within a query
becomes single blanks. An empty query is kept, because its topic counts in every mean.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from adducir.core.errors import InputError, UsageError
from adducir.core.files import read_text, suffix_of
from adducir.core.fingerprint import digest_of, fingerprint
from adducir.core.json_lines import WHOLE, json_value, read_objects
from adducir.core.packages import required
from adducir.core.texts import repeated
from adducir.corpora.frames import DOCNO, QID, QUERY, column_of, ids_of
from adducir.corpora.markup import collapse, elements, plain, with_plain_text, without_comments
from adducir.corpora.sources import resolve

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_DEFAULTS = ("title", "query", "text")
QID_FIELDS = ("qid", "query_id", "query-id", "_id", "id", "number")
_QID_TAGS = ("number", "num", "qid", "query_id", "id")
_LONG_NAMES = {"desc": "description", "narr": "narrative", "con": "concepts", "dom": "domain"}
_FORM = re.compile(r"<(topics?|top|doc)[\s>]", re.IGNORECASE)
_ENTITY = re.compile(r"<!\s*ENTITY", re.IGNORECASE)
_TOPIC = re.compile(r"<(/?)(topic|top)((?:\s[^<>]*+)?)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([\w-]++)\s*=\s*[\"']([^\"']*+)[\"']")
_LABEL = re.compile(
    r"\s*(?:Number|Topic|Title|Description|Narrative|Domain|Summary|Concept\(s\)|Factor\(s\)"
    r"|Definition\(s\)|Concepts|Factors|Definitions)\s*:",
    re.IGNORECASE,
)

_JUDGED = re.compile(
    r"\s*\S+\s+[0-9]+\s+\S+\s+-?[0-9.]+\s*"  # qrels
    r"|\s*\S+\s+Q?[0-9]+\s+\S+\s+-?[0-9]+\s+\S+\s+\S+\s*"  # a run
    r"|\S+\t\S+\t-?[0-9]+\s*"  # either, of MS MARCO
)
_NO_TOPICS = "these are qrels or a run, not topics:"


class _RawTopic(NamedTuple):
    """A topic with all its fields, the 1-based line where it begins, and its token weights."""

    qid: str
    fields: Mapping[str, str]
    line: int | None
    vector: dict[str, float] | None = None


@dataclass(frozen=True)
class Topics:
    """Queries in the order of their source.

    Attributes:
        qids: The topics' unique ids.
        queries: One query per topic; may be empty.
        field: The field or fields (``title+description``) of the queries.
        vectors: Token weights, one mapping per topic, searched instead of the queries.
    """

    qids: list[str]
    queries: list[str]
    source: str
    field: str = "query"
    vectors: list[Mapping[str, float]] | None = None

    @classmethod
    def of(
        cls, data: "pd.DataFrame | pl.DataFrame | Mapping[str, str]", source: str = "topics"
    ) -> "Topics":
        """Make topics of a frame (qid, query or query_id, text) or a dict ``{qid: query}``."""
        if isinstance(data, Mapping):
            given, queries = list(data), list(data.values())
        else:
            given, queries = (column_of(data, names, "topics") for names in (QID, QUERY))
        qids = ids_of(given, "qid").to_list()
        for qid, query in zip(qids, queries, strict=True):
            if not isinstance(query, str):
                raise UsageError(f"the query of topic {qid} must be text, not {query!r}.")
        for qid in repeated(qids):
            raise UsageError(f"the qid {qid!r} is repeated.")
        return cls(qids, [collapse(query) for query in queries], source)

    def __len__(self) -> int:
        return len(self.qids)

    @property
    def empty(self) -> list[str]:
        return [qid for qid, query in zip(self.qids, self.queries, strict=True) if not query]

    @property
    def texts(self) -> list[str]:
        """The queries as text; a UsageError for token weights without text."""
        if self.vectors is not None and self.empty:
            what = f"topic {self.empty[0]} of {self.source} has token weights but no text."
            raise UsageError(what, hint="Add its text as `query` or `text`.")
        return self.queries

    def frame(self) -> "pd.DataFrame":
        """A pandas frame for PyTerrier: qid, query, and query_toks where there are weights."""
        pd = required("pandas")
        frame = pd.DataFrame({"qid": self.qids, "query": self.queries}, dtype="str")
        if self.vectors is None:
            return frame
        return frame.assign(query_toks=pd.Series(list(self.vectors), dtype="object"))

    def identity(self) -> dict[str, str]:
        """A fingerprint of qids and what is searched, independent of the source's name."""
        pairs = (text for pair in zip(self.qids, self.queries, strict=True) for text in pair)
        details = {"topics": digest_of(pairs)}
        if self.vectors is None:
            return details
        return details | {"vectors": fingerprint([sorted(one.items()) for one in self.vectors])}


def load_topics(source: str | Path, *, field: str | None = None) -> Topics:
    """Read topics; ``field`` is what to search with, by default token weights or ``title``.

    Join several with ``+``; a topic that lacks one is searched with the others.
    """
    found = resolve(source)
    raw = _read_topics(found) if isinstance(found, Path) else _from_dataset(found)
    for topic in raw[:1]:
        if foreign := [n for n in topic.fields if n in DOCNO and n not in QID_FIELDS]:
            raise InputError(f"{_NO_TOPICS} it has a column {foreign[0]}.", path=found)
    lines, present = dict[str, int | None](), dict[str, str]()
    vectors: list[Mapping[str, float]] = []
    for topic in raw:
        if topic.qid.split() != [topic.qid] or topic.qid in lines:
            wrong = "repeated" if topic.qid in lines else "empty or contains white space"
            raise InputError(f"the qid {topic.qid!r} is {wrong}.", path=found, line=topic.line)
        lines[topic.qid] = topic.line
        present |= {name: present.get(name) or text for name, text in topic.fields.items()}
        if field is None and topic.vector is not None:
            vectors.append(topic.vector)
    if not raw:
        raise InputError("it contains no topics.", path=source)
    if vectors and len(vectors) < len(raw):
        lacks = next(topic for topic in raw if topic.vector is None)
        what = f"topic {lacks.qid!r} lacks token weights, but others have them."
        hint = "Add them to all topics, or name a field to search with."
        raise InputError(what, path=found, line=lacks.line, hint=hint)
    filled = [name for name, text in present.items() if text]
    if vectors and not filled:
        return Topics(list(lines), [""] * len(raw), str(source), "vector", vectors)
    names, queries = _fields(list(present), filled, field, found), list[str]()
    for topic in raw:
        queries.append(collapse(" ".join(filter(None, map(topic.fields.get, names)))))
    return Topics(list(lines), queries, str(source), "+".join(names), vectors or None)


def _from_dataset(name: str) -> list[_RawTopic]:
    from adducir.corpora import irds
    from adducir.corpora.documents import fields_of

    dataset = irds.open_dataset(name, "queries")
    topics = []
    for query in irds.records(dataset, name, "queries"):
        names = getattr(query, "_fields", ("query_id", "text"))
        fields = fields_of({one: getattr(query, one) for one in names if one != "query_id"})
        if not any(default in fields for default in _DEFAULTS) and hasattr(query, "default_text"):
            fields["query"] = query.default_text()
        topics.append(_RawTopic(query.query_id, fields, None))
    return topics


def _fields(
    present: Sequence[str], filled: Sequence[str], field: str | None, source: str | Path
) -> Sequence[str]:
    if field is None:
        usual = [name for name in _DEFAULTS if name in present]
        names = usual[:1] or next((list(one) for one in (filled, present) if len(one) == 1), [])
        what = "it is not clear which field to search with."
    else:
        names = [name.strip() for name in field.split("+")]
        unknown = [name for name in names if name not in present]
        what = f"none of the topics has a field {', '.join(map(repr, unknown))}."
        names = [] if unknown else names
    if not names:
        hint = f"The topics' fields are: {', '.join(present) or 'none'}."
        raise InputError(what, path=source, hint=hint)
    return names


def _read_topics(path: Path) -> list[_RawTopic]:
    if path.is_dir():
        raise InputError("this is a folder, not a file of topics.", path=path)
    if suffix_of(path) in (".csv", ".parquet"):
        from adducir.corpora.tables import table_records

        return [_json_topic(record, path, line) for line, record in table_records(path)]
    text = read_text(path)
    lines = enumerate(text.split("\n"), 1)
    first = text.lstrip()[:1]
    if first == "[":
        return [_json_topic(record, path, line) for line, record in read_objects(path)]
    if suffix_of(path) in (".jsonl", ".ndjson", ".json") or first == "{":
        filled = ((number, line) for number, line in lines if line.strip())
        return [_json_topic(json_value(line, path, n, WHOLE), path, n) for n, line in filled]
    if first == "<":
        form = _FORM.search(text)
        if form is None or form[1].lower() != "doc":
            return _tagged_topics(text, path)
        from adducir.corpora.trec import trec_documents

        return [_RawTopic(*one, line) for line, one in trec_documents(lines, path)]
    from adducir.corpora.formats import tsv_records

    start = [line for line in text.split("\n", 5)[:5] if line.strip()]
    if start and all(map(_JUDGED.fullmatch, start)):
        raise InputError(f"{_NO_TOPICS} its lines contain docnos.", path=path, line=1)
    return [
        _RawTopic(qid.strip(), {name.lower(): text for name, text in fields.items()}, line)
        for line, qid, fields in tsv_records(lines, path, QID_FIELDS, "query")
    ]


def _json_topic(record: Any, path: Path, line: int) -> _RawTopic:
    from adducir.corpora.documents import as_text, fields_of
    from adducir.corpora.token_weights import weights_in

    if not isinstance(record, dict):
        raise InputError("this is not a JSON object.", path=path, line=line)
    key = next((name for name in QID_FIELDS if name in record), None)
    qid = as_text(record.pop(key)) if key else None
    if qid is None:
        hint = f"Add it as one of {', '.join(QID_FIELDS)}."
        raise InputError("this topic lacks a qid.", path=path, line=line, hint=hint)
    fields = {name: "" for name, value in record.items() if value is None} | fields_of(record)
    objects = [key for key in ("vector", "weights", "query") if isinstance(record.get(key), dict)]
    vector = weights_in(record, path, line, tuple(objects))
    if not fields and vector is None:
        raise InputError(f"topic {qid!r} does not have any text.", path=path, line=line)
    return _RawTopic(qid, fields, line, vector)


def _tagged_topics(text: str, path: Path) -> list[_RawTopic]:
    """Topics in ``<topic>`` (XML) or ``<top>`` (TREC's classic form, without end tags)."""
    text = with_plain_text(without_comments(text))
    if declared := _ENTITY.search(text):
        what, hint = (
            "declared entities are not supported.",
            "Replace them with their text.",
        )
        line = text.count("\n", 0, declared.start()) + 1
        raise InputError(what, path=path, line=line, hint=hint)
    topics, line, counted = list[_RawTopic](), 1, 0
    tags = list(_TOPIC.finditer(text))
    for opened, closed in zip_longest(tags[::2], tags[1::2]):
        line, counted = line + text.count("\n", counted, opened.start()), opened.start()
        if opened[1] or closed is None or not closed[1]:
            what = "does not close anything" if opened[1] else "is not closed"
            raise InputError(f"this {opened[0]} {what}.", path=path, line=line)
        topics.append(_tagged_topic(opened, text[opened.end() : closed.start()], path, line))
    return topics


def _tagged_topic(tag: re.Match[str], body: str, path: Path, line: int) -> _RawTopic:
    is_classic = tag[2].lower() == "top"
    fields, attributes, key = dict[str, str](), dict[str, str](), None
    for element in elements(body, unclosed=True):
        label = _LABEL.match(element.content) if is_classic else None
        text = collapse(plain(element.content[label.end() :] if label else element.content))
        name = _LONG_NAMES.get(element.name, element.name)
        fields[name] = f"{fields.get(name, '')} {text}".strip()
    for name, value in _ATTRIBUTE.findall(tag[3]):
        attributes[name.lower()] = plain(value)
    for name in reversed(_QID_TAGS):
        if name in fields or name in attributes:
            key = name
    if key is None:
        hint = "Add <number>1</number> to it."
        raise InputError("this topic lacks a number.", path=path, line=line, hint=hint)
    qid = fields.pop(key, attributes.get(key, ""))
    if is_classic:  # TREC's first topics have 051, their qrels 51
        qid = qid.split(" ")[0]
        qid = qid.lstrip("0") or qid if qid.isdigit() else qid
    return _RawTopic(qid, fields, line)
