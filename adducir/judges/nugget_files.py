"""Files of nuggets: nuggetizer's and AutoJudge's banks, assignments, and generated responses.

Banks are read as nuggetizer's JSON lines (``qid, query, nuggets``), AutoJudge's banks of questions
and claims (``query_id`` or RAGTIME's ``metadata.topic_id``; ``nugget_bank``, ``claim_bank``), or
its folders of nugget documents (``nuggets_TOPIC.json``). Responses are AutoJudge's reports, KILT's
lines (the first output), or lines with ``qid`` (or ``topic_id``) and ``answer`` or ``text``.
Written are nuggetizer's forms.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adducir.core.errors import InputError
from adducir.core.files import writing_text
from adducir.core.json_lines import read_objects
from adducir.core.progress import progress
from adducir.core.texts import counted, listed
from adducir.judges.nuggets import (
    ASSIGNMENTS,
    FAILED,
    OKAY,
    VITAL,
    Assigned,
    Bank,
    Nugget,
)

_TOPIC_FILE = re.compile(r"nuggets_(.+)\.json")
_BANKS = (
    "Read are nuggetizer's lines (qid, query, nuggets with text and importance) and AutoJudge's "
    "banks (query_id, nugget_bank)."
)
_RESPONSES = (
    "Read are AutoJudge's reports (metadata with run_id and topic_id; responses), and lines with "
    "qid and answer."
)
_ASSIGNED = f"Assignments are {', '.join((*ASSIGNMENTS, FAILED))}."
_QIDS = ("qid", "query_id", "topic_id", "narrative_id", "request_id", "id")


def read_banks(path: Path) -> list[Bank]:
    """Banks of a file, or of a folder with a file per topic; says in a line how it was read."""
    banks = dict[str, Bank]()
    files = sorted(path.glob("*.json*")) if path.is_dir() else [path]
    kinds, empty = dict[str, None](), 0
    for file in files:
        for line, record in read_objects(file):
            bank, kind = _bank(file, line, record)
            kinds[kind] = None
            if not bank.nuggets:
                empty += 1
                continue
            if bank.qid in banks:
                raise InputError(f"topic {bank.qid} has two banks.", path=file, line=line)
            banks[bank.qid] = bank
    if not banks:
        raise InputError("it does not contain any nuggets.", path=path)
    without = f"; {counted(empty, 'topic')} without nuggets left out" if empty else ""
    read = f"{path}: {' and '.join(kinds)}, {counted(len(banks), 'topic')}"
    progress().note_once(f"{read}{without}")
    return [*banks.values()]


def _bank(path: Path, line: int, record: Mapping[str, Any]) -> tuple[Bank, str]:
    topic = _TOPIC_FILE.fullmatch(path.name)
    with _read(path, line, "this is not a nugget bank, or a nugget lacks its text", _BANKS):
        if topic and not {"nuggets", "nugget_bank"} & record.keys():
            texts = [(str(question), None) for question in record]
            return _made(topic[1], "", texts), "AutoJudge's nugget documents"
        if "nuggets" in record:
            texts = [(_string(one["text"]), one.get("importance")) for one in record["nuggets"]]
            query = str(record.get("query") or record.get("text") or "")
            return _made(_qid(record), query, texts), "nuggetizer's nuggets"
        if "nugget_bank" in record or "claim_bank" in record:
            texts = [*_questions(record.get("nugget_bank")), *_questions(record.get("claim_bank"))]
            facts = record if "query_id" in record else record["metadata"]
            query = str(record.get("title_query") or "")
            return _made(_qid(facts), query, texts), "AutoJudge's nugget bank"
        raise ValueError(f"{', '.join(map(str, [*record][:6]))} are not the keys of a nugget bank")


@contextmanager
def _read(path: Path, line: int, wrong: str, hint: str) -> Iterator[None]:
    """Name the line of a record that is not of its form, or has a wrong value."""
    try:
        yield
    except (LookupError, TypeError, AttributeError):
        raise InputError(f"{wrong}.", path=path, line=line, hint=hint) from None
    except ValueError as error:
        raise InputError(f"{error}.", path=path, line=line, hint=hint) from None


def _questions(bank: Any) -> Iterator[tuple[str, Any]]:
    """Text and importance of questions and claims, in a mapping or a list, with those inside."""
    for one in bank.values() if isinstance(bank, Mapping) else bank or ():
        text = one["question"] if "question" in one else one["claim"]
        yield _string(text), one.get("importance")
        yield from _questions(one.get("sub_nuggets"))


def _made(qid: str, query: str, texts: Iterable[tuple[str, Any]]) -> Bank:
    """A bank; nuggets without an importance are vital, as nothing says that they are less."""
    return Bank(qid, query, tuple(Nugget(text, _importance(stated)) for text, stated in texts))


def _importance(stated: Any) -> str:
    value = VITAL if stated is None else str(stated).lower()
    if value not in (VITAL, OKAY, FAILED):
        raise ValueError(f"{stated!r} is not an importance: {VITAL}, {OKAY} or {FAILED}")
    return value


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _qid(record: Mapping[str, Any]) -> str:
    value = next((record[name] for name in _QIDS if record.get(name) not in (None, "")), None)
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise TypeError
    return str(value)


def read_responses(path: Path, system: str) -> list[tuple[str, str, str]]:
    """System, qid and text of each response; ``system`` names those that do not say it."""
    rows = read_reports(path, system)
    systems = sorted({report["metadata"]["run_id"] for report in rows})
    progress().note_once(f"{path}: {counted(len(rows), 'response')} by {listed(systems)}")
    return [
        (
            report["metadata"]["run_id"],
            report["metadata"]["topic_id"],
            " ".join(part["text"] for part in report["responses"]),
        )
        for report in rows
    ]


def read_reports(path: Path, system: str) -> list[dict[str, Any]]:
    """Responses as AutoJudge's reports, whose sentences cite documents by docno, best first."""
    reports = dict[tuple[str, str], dict[str, Any]]()
    for line, record in read_objects(path):
        with _read(path, line, "this is not a response: it needs a topic and a text", _RESPONSES):
            stated = record.get("metadata") or record
            key = str(stated.get("run_id") or record.get("run_id") or system), _qid(stated)
            parts = [{"text": text, "citations": cited} for text, cited in _sentences(record)]
        if key in reports:
            raise InputError(f"{key[0]} answers topic {key[1]} twice.", path=path, line=line)
        facts = dict(stated) if "metadata" in record else {}
        facts |= {"run_id": key[0], "topic_id": key[1]}
        cited = dict.fromkeys(docno for part in parts for docno in part["citations"])
        reports[key] = {"metadata": facts, "responses": parts, "references": [*cited]}
    if not reports:
        raise InputError("it does not contain any responses.", path=path)
    return [*reports.values()]


def _sentences(record: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Texts with the documents that they cite."""
    names = ("responses", "answer", "answer_text", "output", "text")
    content: Any = next((record[name] for name in names if name in record), None)
    references = record.get("references") or []
    if isinstance(content, str):
        return [(content, _cited(record.get("citations"), references))]
    if "output" in record:  # KILT's
        output: Any = next((part for part in content if "answer" in part), {"answer": ""})
        places = output.get("provenance") or ()
        return [(_string(output["answer"]), [str(place["wikipedia_id"]) for place in places])]
    return [
        (_string(part["text"]), _cited(part.get("citations"), references))
        if isinstance(part, dict)
        else (_string(part), [])
        for part in content
    ]


def _cited(citations: Any, references: Sequence[Any]) -> list[str]:
    """Docnos of a list, of places in the references, or of confidences by docno.

    Places that the references do not have are none, as for AutoJudge.
    """
    if isinstance(citations, Mapping):
        return sorted(citations, key=citations.__getitem__, reverse=True)
    places = dict(enumerate(references))
    cited = [places.get(one) if isinstance(one, int) and places else one for one in citations or ()]
    return [str(docno) for docno in cited if docno is not None]


def write_banks(banks: Iterable[Bank], path: Path) -> None:
    with writing_text(path) as file:
        for bank in banks:
            nuggets = [{"text": n.text, "importance": n.importance} for n in bank.nuggets]
            record = {"query": bank.query, "qid": bank.qid, "nuggets": nuggets}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def write_assigned(items: Iterable[Assigned], path: Path) -> None:
    with writing_text(path) as file:
        for item in items:
            nuggets = [
                {"text": n.text, "importance": n.importance, "assignment": n.assignment}
                for n in item.nuggets
            ]
            if item.docno:
                about = {"text": item.query, "qid": item.qid, "candidate_text": item.text}
                record: dict[str, Any] = {**about, "docid": item.docno, "nuggets": nuggets}
            else:
                about = {"query": item.query, "qid": item.qid, "answer_text": item.text}
                length = len(item.text.split())
                record = {**about, "response_length": length, "run_id": item.system}
                record["nuggets"] = nuggets
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_assigned(path: Path, system: str) -> list[Assigned]:
    """Assignments of nuggetizer, of answers (``run_id``) or of documents (``docid``)."""
    items = dict[tuple[str, str, str], Assigned]()
    for line, record in read_objects(path):
        with _read(path, line, "this has no assigned nuggets", _ASSIGNED):
            nuggets = tuple(
                Nugget(_string(n["text"]), _importance(n.get("importance")), n["assignment"])
                for n in record["nuggets"]
            )
            qid, docno = _qid(record), str(record.get("docid") or "")
            for nugget in nuggets:
                if nugget.assignment not in (*ASSIGNMENTS, FAILED):
                    raise ValueError(f"{nugget.assignment!r} is not an assignment")
            if not nuggets:
                raise LookupError
        query = str(record.get("query") or record.get("text") or "")
        text = str(record.get("answer_text") or record.get("candidate_text") or "")
        name = "" if docno else str(record.get("run_id") or system)
        if (qid, name, docno) in items:
            wrong = f"{name or docno} has two assignments for topic {qid}."
            raise InputError(wrong, path=path, line=line)
        items[qid, name, docno] = Assigned(qid, query, text, nuggets, name, docno)
    if not items:
        raise InputError("it does not contain any assignments.", path=path)
    return [*items.values()]
