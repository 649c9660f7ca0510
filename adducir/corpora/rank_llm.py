"""rank_llm's requests and results: a query with its candidates and their texts, per line.

``{"query": {"text", "qid"}, "candidates": [{"docid", "score", "doc"}]}``, where ``doc`` is an
object of fields or a text (castorini/rank_llm, data.py), or as its first versions wrote them,
``{"query": text, "hits": [{"qid", "docid", "score", "content"}]}`` (convert_json_to_jsonl.py). Such
a file is a run, its topics and its corpus at once.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from adducir.core.errors import InputError


class Candidate(NamedTuple):
    docno: str
    score: Any  # not checked here
    fields: dict[str, Any]


class CandidateList(NamedTuple):
    qid: str
    query: str
    candidates: list[Candidate]


def is_request(record: Mapping[str, Any]) -> bool:
    kinds = type(record.get("query")), type(record.get("candidates", record.get("hits")))
    return kinds == (str if "hits" in record else dict, list)


def candidate_list(record: Mapping[str, Any], path: Path, line: int | None) -> CandidateList:
    """A record of a file of requests or results.

    Raises:
        InputError: It is not one.
    """
    try:
        query, candidates = record["query"], list[Candidate]()
        if "hits" in record:
            rows = [row | {"doc": row.get("content")} for row in record["hits"]]
            query = {"text": query, "qid": rows[0]["qid"]}
        else:
            rows = record["candidates"]
        for row in rows:
            doc = row.get("doc") or {}
            fields = doc if isinstance(doc, dict) else {"text": str(doc)}
            candidates.append(Candidate(_text(row["docid"]), row["score"], fields))
        return CandidateList(_text(query["qid"]), str(query.get("text") or ""), candidates)
    except (LookupError, TypeError, AttributeError) as error:
        raise InputError(
            f"this is not a query of rank_llm with its candidates: {error!r}.",
            path=path,
            line=line,
            hint='A line is {"query": {"text", "qid"}, "candidates": [{"docid", "score", "doc"}]}.',
        ) from None


def _text(value: Any) -> str:
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"{value!r} is neither text nor an integer")


def documents_of(
    records: Iterable[tuple[int, Mapping[str, Any]]], path: Path
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each candidate once, as a record with its docno in ``docid``.

    Raises:
        InputError: A candidate has no text, or another one than before.
    """
    seen, count = dict[str, int](), 0
    for line, record in records:
        for docno, _, fields in candidate_list(record, path, line).candidates:
            text = hash(json.dumps(fields, sort_keys=True))
            if not fields:
                raise InputError(
                    f"the candidate {docno} has no `doc`, its text.",
                    path=path,
                    line=line,
                    hint="Take the texts from the corpus or an index; adducir requests adds them.",
                )
            if seen.setdefault(docno, text) != text:
                raise InputError(
                    f"document {docno} has another text than for an earlier query.",
                    path=path,
                    line=line,
                    hint="Take the texts from the corpus or an index.",
                )
            if len(seen) > count:
                yield line, {**fields, "docid": docno}
            count = len(seen)


def request_line(qid: str, query: str, rows: Sequence[tuple[str, float, str]]) -> str:
    """A request of a query and its (docno, score, text), best first."""
    candidates = [
        {"docid": docno, "score": score, "doc": {"contents": text}} for docno, score, text in rows
    ]
    record = {"query": {"text": query, "qid": qid}, "candidates": candidates}
    return json.dumps(record, ensure_ascii=False)
