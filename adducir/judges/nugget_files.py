"""Files of nuggets: nuggetizer's and AutoJudge's banks, assignments, and generated responses.

Banks are read as nuggetizer's JSON lines (``qid, query, nuggets``), AutoJudge's banks of questions
and claims (``query_id`` or RAGTIME's ``metadata.topic_id``; ``nugget_bank``, ``claim_bank``), or
its folders of nugget documents (``nuggets_TOPIC.json``). Responses are AutoJudge's reports, KILT's
lines (the first output), or lines with ``qid`` (or ``topic_id``) and ``answer`` or ``text``.
Written are nuggetizer's forms.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

from adducir.core.errors import InputError, UsageError
from adducir.core.json_lines import read_objects
from adducir.core.progress import progress
from adducir.core.texts import counted, listed, shortened
from adducir.corpora.records import parsed_as
from adducir.judges.files import write_lines
from adducir.judges.nuggets import ASSIGNMENTS, FAILED, Assigned, Bank, Nugget

T = TypeVar("T")
Record = Mapping[str, Any]
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
_bank_of, _assigned_of = parsed_as(Bank), parsed_as(Assigned)
_IN_BANK = ("text", "importance")
_QIDS = ("qid", "query_id", "topic_id", "narrative_id", "request_id", "id")


def _records(
    paths: Iterable[Path], parse: Callable[[Path, Record], tuple[str, str, T]], kind: str, hint: str
) -> list[T]:
    """What records hold, each of a topic (qid) and a name; errors name the line."""
    values = dict[tuple[str, str], T]()
    for path in paths:
        before = len(values)
        for line, record in read_objects(path):
            try:
                qid, name, value = parse(path, record)
            except (LookupError, TypeError, AttributeError):
                message = f"this is not {kind}, or lacks a topic or a text."
                raise InputError(message, path=path, line=line, hint=hint) from None
            except UsageError as error:
                stated = error.hint or hint
                raise InputError(error.what, path=path, line=line, hint=stated) from None
            if (qid, name) in values:
                message = f"topic {qid}{name and f' of {name}'} is repeated."
                raise InputError(message, path=path, line=line, hint="Each may be there once.")
            values[qid, name] = value
        if len(values) == before:
            raise InputError(f"it does not contain {kind}.", path=path)
    return [*values.values()]


def read_banks(path: Path) -> list[Bank]:
    """Banks of a file, or of a folder with a file per topic; says in a line how it was read."""
    kinds = dict[str, None]()

    def parse(file: Path, record: Record) -> tuple[str, str, Bank]:
        bank, kind = _bank(file, record)
        kinds[kind] = None
        return bank.qid, "", bank

    files = sorted(path.glob("*.json*")) if path.is_dir() else [path]
    banks = _records(files, parse, "a nugget bank", _BANKS)
    filled = [bank for bank in banks if bank.nuggets]
    if not filled:
        raise InputError("it does not contain any nuggets.", path=path)
    empty = len(banks) - len(filled)
    without = f"; {counted(empty, 'topic')} without nuggets left out" if empty else ""
    read = f"{path}: {' and '.join(kinds)}, {counted(len(filled), 'topic')}"
    progress().note_once(f"{read}{without}")
    return filled


def _bank(path: Path, record: Record) -> tuple[Bank, str]:
    """A topic's bank, and what kind of record has it."""
    nuggets: list[Any]
    if (topic := _TOPIC_FILE.fullmatch(path.name)) and not {"nuggets", "nugget_bank"} & {*record}:
        nuggets, kind = [{"text": str(question)} for question in record], "nugget documents"
        return _bank_of({"qid": topic[1], "query": "", "nuggets": nuggets}), f"AutoJudge's {kind}"
    if "nuggets" in record:
        facts, kind = record, "nuggetizer's nuggets"
        query = record.get("query") or record.get("text")
        nuggets = [{key: one.get(key) for key in _IN_BANK} for one in record["nuggets"]]
    elif "nugget_bank" in record or "claim_bank" in record:
        facts = record if "query_id" in record else record["metadata"]
        nuggets = [*_questions(record.get("nugget_bank")), *_questions(record.get("claim_bank"))]
        query, kind = record.get("title_query"), "AutoJudge's nugget bank"
    else:
        names = ", ".join(map(str, [*record][:6]))
        raise UsageError(f"{names} are not the keys of a nugget bank.")
    return _bank_of({"qid": _qid(facts), "query": str(query or ""), "nuggets": nuggets}), kind


def _questions(bank: Any) -> Iterator[dict[str, Any]]:
    """Questions and claims, in a mapping or a list, with those inside, as nuggets."""
    for one in bank.values() if isinstance(bank, Mapping) else bank or ():
        text = one["question"] if "question" in one else one["claim"]
        yield {"text": text, "importance": one.get("importance")}
        yield from _questions(one.get("sub_nuggets"))


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _qid(record: Mapping[str, Any]) -> str:
    value = next((record[name] for name in _QIDS if record.get(name) not in (None, "")), None)
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise TypeError
    return str(value)


def read_responses(names: Mapping[Path, str]) -> list[tuple[str, str, str]]:
    """System, qid and text of each response; ``names`` are of systems that files do not say."""
    reports = read_reports(names)
    systems = sorted({report["metadata"]["run_id"] for report in reports})
    files = ", ".join(map(str, names))
    progress().note_once(f"{files}: {counted(len(reports), 'response')} by {listed(systems)}")
    return [
        (
            report["metadata"]["run_id"],
            report["metadata"]["topic_id"],
            " ".join(part["text"] for part in report["responses"]),
        )
        for report in reports
    ]


def read_reports(names: Mapping[Path, str]) -> list[dict[str, Any]]:
    """Responses as AutoJudge's reports, whose sentences cite documents by docno, best first."""

    def parse(path: Path, record: Record) -> tuple[str, str, dict[str, Any]]:
        stated = record.get("metadata") or record
        run, qid = str(stated.get("run_id") or record.get("run_id") or names[path]), _qid(stated)
        parts = [{"text": text, "citations": cited} for text, cited in _sentences(record)]
        facts = dict(stated) if "metadata" in record else {}
        facts |= {"run_id": run, "topic_id": qid}
        cited = dict.fromkeys(docno for part in parts for docno in part["citations"])
        return qid, run, {"metadata": facts, "responses": parts, "references": [*cited]}

    return _records(names, parse, "a response", _RESPONSES)


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
    lines = (
        {
            "query": bank.query,
            "qid": bank.qid,
            "nuggets": [{"text": one.text, "importance": one.importance} for one in bank.nuggets],
        }
        for bank in banks
    )
    write_lines(lines, path)


def write_assigned(items: Iterable[Assigned], path: Path) -> None:
    write_lines(map(_assigned, items), path)


def _assigned(item: Assigned) -> dict[str, Any]:
    nuggets = [asdict(nugget) for nugget in item.nuggets]
    if item.docno:
        about = {"text": item.query, "qid": item.qid, "candidate_text": item.text}
        return {**about, "docid": item.docno, "nuggets": nuggets}
    about = {"query": item.query, "qid": item.qid, "answer_text": item.text}
    length = len(item.text.split())
    return {**about, "response_length": length, "run_id": item.system, "nuggets": nuggets}


def read_assigned(
    names: Mapping[Path, str], stated: Sequence[Bank] = ()
) -> tuple[list[Assigned], dict[str, tuple[Nugget, ...]]]:
    """Assignments of nuggetizer, of answers (``run_id``) or of documents (``docid``), and banks.

    The nuggets of a topic must be those of its bank, of which they have the order, if any are
    stated, and the same for all texts: others would be scored on another scale.
    """
    banks = {bank.qid: bank.nuggets for bank in stated}

    def parse(path: Path, record: Record) -> tuple[str, str, Assigned]:
        docno = str(record.get("docid") or "")
        values = {
            "qid": _qid(record),
            "query": str(record.get("query") or record.get("text") or ""),
            "text": str(record.get("answer_text") or record.get("candidate_text") or ""),
            "nuggets": record["nuggets"],
            "system": "" if docno else str(record.get("run_id") or names[path]),
            "docno": docno,
        }
        item = _assigned_of(values)
        if not item.nuggets or not all(nugget.assignment for nugget in item.nuggets):
            raise LookupError
        if stated and item.qid not in banks:
            raise UsageError(f"topic {item.qid} has no nuggets in the bank.")
        bank = banks.setdefault(item.qid, item.nuggets)
        return item.qid, item.name, replace(item, nuggets=_as_in_bank(item, bank))

    return _records(names, parse, "an answer with assigned nuggets", _ASSIGNED), banks


def _as_in_bank(item: Assigned, bank: Sequence[Nugget]) -> tuple[Nugget, ...]:
    order = [(nugget.text, nugget.importance) for nugget in bank]
    nuggets = {(nugget.text, nugget.importance): nugget for nugget in item.nuggets}
    if Counter(order) != Counter((nugget.text, nugget.importance) for nugget in item.nuggets):
        differing = sorted(set(order) ^ set(nuggets))
        said = f", such as {shortened(differing[0][0])!r}" if differing else ""
        raise UsageError(
            f"the nuggets of topic {item.qid} for {item.name} are not those of the bank or of "
            f"other texts{said}.",
            hint="Assign the same nuggets, of the same importance, to all texts.",
        )
    return tuple(nuggets[key] for key in order)
