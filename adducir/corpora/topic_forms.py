"""Topics in files of every form, each with all its fields; docs/formats.md shows each.

XML (``<topic>``, ``<query>``), TREC's classic form (``<top>``) or documents (``<DOC>``); JSON
objects, of texts, token weights or conversations; TSV, CSV or Parquet; ``number:query``, DPR's
questions without a qid and CAR's headings.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

from adducir.core.errors import InputError, worded
from adducir.core.files import read_text, suffix_of
from adducir.core.json_lines import read_objects
from adducir.core.progress import progress
from adducir.corpora.documents import as_text, fields_of
from adducir.corpora.field_choice import QID_FIELDS, TEXT_NAMES, id_field, reads_like_id
from adducir.corpora.formats import tsv_records
from adducir.corpora.markup import collapse, elements, plain, with_plain_text, without_comments
from adducir.corpora.tables import Quotes, cells_of, table_records
from adducir.corpora.token_weights import WEIGHTS, weights_in

_QID_TAGS = ("number", "num", "qid", "query_id", "id")
_LONG_NAMES = {"desc": "description", "narr": "narrative", "con": "concepts", "dom": "domain"}
_FORM = re.compile(r"<(topics?|top|doc)[\s>]", re.IGNORECASE)
_ENTITY = re.compile(r"<!\s*ENTITY", re.IGNORECASE)
_TOPIC = re.compile(r"<(/?)(topic|top)((?:\s[^<>]*+)?)>", re.IGNORECASE)
_QUERY = re.compile(r"<(/?)(query)((?:\s[^<>]*+)?)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([\w-]++)\s*=\s*[\"']([^\"']*+)[\"']")
_LABEL = re.compile(
    r"\s*(?:Number|Topic|Title|Description|Narrative|Domain|Summary|Concept\(s\)|Factor\(s\)"
    r"|Definition\(s\)|Concepts|Factors|Definitions)\s*:",
    re.IGNORECASE,
)
_PREFIXED = re.compile(r"([A-Z]{1,3})0*([0-9]+)")
_JUDGED = re.compile(
    r"\s*\S+\s+[0-9]+\s+\S+\s+-?[0-9.]+\s*"  # qrels
    r"|\s*\S+\s+Q?[0-9]+\s+\S+\s+-?[0-9]+\s+\S+\s+\S+\s*"  # a run
    r"|\S+\t\S+\t-?[0-9]+\s*"  # either, of MS MARCO
)
_NUMBERED = re.compile(r"([0-9]++):(?:([0-9]++):)?([^\t]*+)")
_ANSWERS = re.compile(r'[^\t]++\t\s*"?\[.*\]"?\s*')
_HEADING = re.compile(r"\S*?(?:%[0-9A-F]{2}|enwiki:)\S*")
_CONVERSATION = re.compile(r"\s*Number:[ \t]*\S+[ \t]*\r?\n\s*Title:")
_OPERATOR = re.compile(r"#([a-z]{2,8}\d*|\d+)\(")
_WORDS_ALONE = re.compile(r"#combine\(([^()#]*)\)")
_TURNS = ("turn", "turns")
_TURN_IDS = ("number", "turn_id", "id")
_SAMPLE = 5


class RawTopic(NamedTuple):
    """A topic with all its fields, the 1-based line where it begins, and its token weights."""

    qid: str
    fields: Mapping[str, str]
    line: int | None
    vector: dict[str, float] | None = None
    is_tagged: bool = False


def read_forms(path: Path, qid_field: str | None, quotes: Quotes | None) -> list[RawTopic]:
    """The topics of a file in any form."""
    if path.is_dir():
        if not (path / WEIGHTS).is_file():
            raise InputError("this is a folder, not a file of topics.", path=path)
        path /= WEIGHTS
    if suffix_of(path) in (".csv", ".parquet"):
        return _from_records(table_records(path, quotes), path, qid_field)
    text = read_text(path)
    first = text.lstrip()[:1]
    if first in ("[", "{") or suffix_of(path) in (".jsonl", ".ndjson", ".json"):
        return _from_json(path, qid_field)
    lines = list(enumerate(text.split("\n"), 1))
    if _CONVERSATION.match(text):
        return list(_utterances(lines, path))
    if first == "<":
        form = _FORM.search(text)
        if form is None or form[1].lower() != "doc":
            return _tagged_topics(text, path, qid_field)
        from adducir.corpora.trec import trec_documents

        documents = trec_documents(lines, path, qid_field)
        return [RawTopic(*document, line, is_tagged=True) for line, document in documents]
    return _from_lines([line for line in lines if line[1].strip()], path, qid_field, quotes)


def _from_lines(
    lines: Sequence[tuple[int, str]], path: Path, qid_field: str | None, quotes: Quotes | None
) -> list[RawTopic]:
    texts = [text for _, text in lines]
    if texts and all(map(_JUDGED.fullmatch, texts[:_SAMPLE])):
        message = "these are qrels or a run, not topics: its lines contain docnos."
        raise InputError(message, path=path, line=1)
    if not any("\t" in text for text in texts) and texts:
        numbered = list(map(_NUMBERED.fullmatch, texts))
        if all(numbered):  # of the Million Query and Terabyte tracks
            has_priority = all(match and match[2] for match in numbered)
            return [
                RawTopic(match[1], {"query": match[3]}, line)
                if has_priority or match[2] is None
                else RawTopic(match[1], {"query": f"{match[2]}:{match[3]}"}, line)
                for (line, _), match in zip(lines, numbered, strict=True)
                if match
            ]
        if all(text.split() == [text.strip()] for text in texts) and any(
            map(_HEADING.fullmatch, texts)
        ):  # TREC CAR: a heading's path is the qid
            paths = [(line, text.strip()) for line, text in lines]
            return [
                RawTopic(path, {"query": unquote_plus(path.removeprefix("enwiki:"))}, line)
                for line, path in paths
            ]
    if texts and all(map(_ANSWERS.fullmatch, texts)):  # DPR's questions and answers
        cells = [(line, text.split("\t", 1)) for line, text in lines]
        return _without_qids(
            [({"question": _unquoted(pair[0]), "answers": pair[1]}, line) for line, pair in cells],
            path,
        )
    rows = cells_of(lines, path, "\t", quotes)
    return [
        RawTopic(qid.strip(), {name.lower(): text for name, text in fields.items()}, line)
        for line, qid, fields in tsv_records(rows, path, "qid", qid_field)
    ]


def _unquoted(cell: str) -> str:
    """A cell of CSV without the quotes that enclose it."""
    is_enclosed = len(cell) > 1 and cell[0] == cell[-1] == '"'
    return cell[1:-1].replace('""', '"') if is_enclosed else cell


def _without_qids(topics: Iterable[tuple[Mapping[str, str], int]], path: Path) -> list[RawTopic]:
    """Topics of a file that has no qids: as in DPR and Anserini, they are numbered from 0."""
    progress().note_once(f"{path}: the topics have no qids and are numbered from 0")
    return [RawTopic(str(n), fields, line) for n, (fields, line) in enumerate(topics)]


def _from_json(path: Path, qid_field: str | None) -> list[RawTopic]:
    records = list(read_objects(path))
    if len(records) == 1:
        line, record = records[0]
        lists = [value for value in record.values() if isinstance(value, list) and value]
        if len(record) == 1 and lists and all(isinstance(item, dict) for item in lists[0]):
            records = [(line, item) for item in lists[0]]  # {"topics": [..]}
        elif (
            not qid_field
            and record.keys().isdisjoint((*QID_FIELDS, *TEXT_NAMES))
            and not any(map(reads_like_id, record))
            and all(isinstance(value, str) for value in record.values())
        ):  # {qid: query}
            return [RawTopic(qid, {"query": query}, line) for qid, query in record.items()]
    if records and any(isinstance(records[0][1].get(name), list) for name in _TURNS):
        return list(_turns(records, path, qid_field))
    from adducir.corpora.rank_llm import candidate_list, is_request

    if records and is_request(records[0][1]):
        requests = [(candidate_list(record, path, line), line) for line, record in records]
        return [RawTopic(request.qid, {"query": request.query}, line) for request, line in requests]
    return _from_records(records, path, qid_field)


def _turns(
    records: Iterable[tuple[int, dict[str, Any]]], path: Path, qid_field: str | None
) -> Iterator[RawTopic]:
    """The turns of conversations (TREC CAsT and iKAT) as topics CONVERSATION_TURN."""
    for line, record in records:
        key = qid_field or next((name for name in ("number", *QID_FIELDS) if name in record), "")
        name = next((name for name in _TURNS if isinstance(record.get(name), list)), "")
        conversation = as_text(record.get(key))
        if not name or conversation is None:
            message = (
                "this conversation lacks a number." if name else "this conversation has no turns."
            )
            raise InputError(message, path=path, line=line)
        for turn in record[name]:
            place = next((key for key in _TURN_IDS if isinstance(turn, dict) and key in turn), None)
            if place is None:
                message = f"a turn of conversation {conversation} lacks a number."
                raise InputError(message, path=path, line=line)
            fields = fields_of({name: value for name, value in turn.items() if name != place})
            yield RawTopic(f"{conversation}_{as_text(turn[place])}", fields, line)


def _utterances(lines: Iterable[tuple[int, str]], path: Path) -> Iterator[RawTopic]:
    """The turns of CAsT 2019 as text: ``Number: 31``, a title, then ``1<tab>What is ...?``."""
    conversation, fields = "", dict[str, str]()
    for line, text in lines:
        name, colon, value = text.strip().partition(":")
        turn, tab, utterance = text.strip().partition("\t")
        if colon and name in ("Number", "Title", "Description"):
            conversation = value.strip() if name == "Number" else conversation
            named = {} if name == "Number" else {f"conversation_{name.lower()}": value.strip()}
            fields = named if name == "Number" else fields | named
        elif tab and turn.isdecimal():
            yield RawTopic(f"{conversation}_{turn}", {"raw_utterance": utterance, **fields}, line)
        elif text.strip():
            message = (
                "this is neither a turn (its number, a tab, the utterance) nor a new `Number:`."
            )
            raise InputError(message, path=path, line=line)


def _from_records(
    records: Iterable[tuple[int, Any]], path: Path, qid_field: str | None
) -> list[RawTopic]:
    rows = list(records)
    sample = [record for _, record in rows if isinstance(record, dict)]
    key = qid_field or (id_field(sample, QID_FIELDS, path, "qid") if sample else None)
    answers = [{"answer", "answers"} & record.keys() for record in sample if "question" in record]
    if key is None and rows and len(sample) == sum(map(bool, answers)):  # DPR's
        return _without_qids([(fields_of(record), line) for line, record in rows], path)
    return [_json_topic(record, path, line, key) for line, record in rows]


def _json_topic(record: dict[str, Any], path: Path, line: int, key: str | None) -> RawTopic:
    field = key if key in record else next((name for name in QID_FIELDS if name in record), None)
    qid = as_text(record.pop(field)) if field else None
    if qid is None:
        hint = (
            f"Add it as one of {', '.join(QID_FIELDS)}, or name its field: {worded('qid_field')}."
        )
        raise InputError("this topic lacks a qid.", path=path, line=line, hint=hint)
    fields = {name: "" for name, value in record.items() if value is None} | fields_of(record)
    objects = [key for key in ("vector", "weights", "query") if isinstance(record.get(key), dict)]
    vector = weights_in(record, path, line, tuple(objects))
    if vector is not None:
        fields = {
            name: text for name, text in fields.items() if not name.startswith(f"{objects[0]}.")
        }
    if not fields and vector is None:
        raise InputError(f"topic {qid!r} does not have any text.", path=path, line=line)
    return RawTopic(qid, fields, line, vector)


def _tagged_topics(text: str, path: Path, qid_field: str | None) -> list[RawTopic]:
    """Topics in ``<topic>`` or ``<query>`` (XML) or ``<top>`` (classic, without end tags)."""
    text = with_plain_text(without_comments(text))
    if declared := _ENTITY.search(text):
        message, hint = "declared entities are not supported.", "Replace them with their text."
        line = text.count("\n", 0, declared.start()) + 1
        raise InputError(message, path=path, line=line, hint=hint)
    topics, line, counted = list[RawTopic](), 1, 0
    tags = list(_TOPIC.finditer(text)) or list(_QUERY.finditer(text))
    for opened, closed in zip_longest(tags[::2], tags[1::2]):
        line, counted = line + text.count("\n", counted, opened.start()), opened.start()
        if opened[1] or closed is None or not closed[1]:
            message = "does not close anything" if opened[1] else "is not closed"
            raise InputError(f"this {opened[0]} {message}.", path=path, line=line)
        body = text[opened.end() : closed.start()]
        topics.append(_tagged_topic(opened, body, path, line, qid_field))
    return _without_prefix(topics, path, text)


def _without_prefix(topics: list[RawTopic], path: Path, text: str) -> list[RawTopic]:
    """Classic topics MB001, MB002, ... as 1, 2, ..., the numbers of their qrels."""
    qids = [_PREFIXED.fullmatch(topic.qid) for topic in topics]
    prefixes = {match[1] if match else None for match in qids}
    if len(prefixes) != 1 or None in prefixes or "Number:" not in text or len(topics) < 2:
        return topics
    first = topics[0].qid
    numbers = [
        topic._replace(qid=match[2]) for topic, match in zip(topics, qids, strict=True) if match
    ]
    progress().note_once(f"{path}: qids such as {first} are read as {numbers[0].qid}, as in qrels")
    return numbers


def _tagged_topic(
    tag: re.Match[str], body: str, path: Path, line: int, qid_field: str | None
) -> RawTopic:
    is_classic = tag[2].lower() == "top"
    fields, attributes, key = dict[str, str](), dict[str, str](), None
    for element in elements(body, unclosed=True):
        label = _LABEL.match(element.content) if is_classic else None
        text = collapse(plain(element.content[label.end() :] if label else element.content))
        name = _LONG_NAMES.get(element.name, element.name)
        fields[name] = f"{fields.get(name, '')} {text}".strip()
    for name, value in _ATTRIBUTE.findall(tag[3]):
        attributes[name.lower()] = plain(value)
    for name in [*reversed(_QID_TAGS), *([qid_field.lower()] if qid_field else [])]:
        if name in fields or name in attributes:
            key = name
    if key is None or (qid_field and key != qid_field.lower()):
        hint = f"Add <number>1</number> to it, or name its field: {worded('qid_field')}."
        raise InputError("this topic lacks a number.", path=path, line=line, hint=hint)
    qid = fields.pop(key, attributes.get(key, ""))
    if not fields and key in attributes:  # TREC's clinical trials: the text is the query
        fields = {"query": collapse(plain(body))}
    if is_classic:  # TREC's first topics have 051, their qrels 51
        qid = qid.split(" ")[0]
        qid = qid.lstrip("0") or qid if qid.isdigit() else qid
    return RawTopic(qid, fields, line, is_tagged=True)


def without_operators(text: str, topic: RawTopic, source: str | Path) -> str:
    """The words of Indri's ``#combine(...)``; its other operators are refused."""
    if not text.startswith("#") or (operator := _OPERATOR.match(text)) is None:
        return text
    if operator[1] == "combine" and (words := _WORDS_ALONE.fullmatch(text)):
        progress().note_once(f"{source}: #combine(...) is read as its words")
        return words[1].strip()
    message = f"the query of topic {topic.qid} has Indri's operator #{operator[1]}."
    raise InputError(message, path=source, line=topic.line, hint="Write its words alone.")
