"""Validate run files: ``adducir check``.

=====================  ======================================================================
code                   found where
=====================  ======================================================================
unreadable             the file cannot be read (on)
empty                  a run has no documents
qrels                  qrels stand in place of a run
columns                a line has not six columns
score                  a score is NaN, infinite or no number
character              a line holds NUL
duplicate              a topic ranks a document twice
more                   further lines are malformed
tags                   a file holds several tags
ranks                  the rank column gives another order than the scores
order                  lines stand in another order than the scores give
metadata               the metadata is not of this file, or unreadable
ties                   scores are equal, and what follows from it
constant-scores        all documents of a topic have one score
negative-scores        scores are negative
missing-topics         the run lacks topics
unknown-topics         the run has topics that nobody asked for
padded-qids            001 and 1 are meant to be one topic
no-common-topics       run and qrels (or topics) have nothing in common
odd-docnos             docnos hold white space beyond ASCII
query-in-ranking       a topic ranks the document it was taken from
truncated-docnos       docnos were cut
unknown-docnos         documents are not in the index
foreign-qrels          no document of the run is in the qrels
foreign-topics         documents are judged for other topics only
few-judged             hardly a judged document was found
negative-grades        the qrels hold negative grades, and a measure does not count them 0
positives-only         the qrels hold relevant documents only, and a measure needs others
unjudged               share of unjudged documents among the first
shallow                a ranking is shorter than a measure looks
shallow-condensed      the same, after unjudged documents are left out
same-ranking           two runs rank the same documents alike
same-tag               two runs have one tag
topic-sets             runs have different topics
=====================  ======================================================================
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adducir.core.errors import InputError
from adducir.core.files import file_digest, read_bytes, read_lines
from adducir.corpora.qrels import Qrels
from adducir.corpora.topics import Topics
from adducir.runs.check_docnos import check_docnos
from adducir.runs.check_judgements import (
    check_depth,
    check_judgements,
    check_negatives,
    check_positives,
)
from adducir.runs.check_scores import check_scores
from adducir.runs.check_topics import check_topics
from adducir.runs.findings import SEVERITIES, Finding, counted, some
from adducir.runs.fuse import lacking
from adducir.runs.metadata import metadata_for, read_metadata
from adducir.runs.order import topic_numbers
from adducir.runs.predictions import is_json
from adducir.runs.read import parsed, read_run
from adducir.runs.run import SCHEMA, Run
from adducir.runs.scan import ErrorDetail, rows, scan

__all__ = ["ErrorDetail", "Finding", "check", "check_file", "check_runs", "scan"]

_LIMIT = 20


def check(
    run: Run,
    qrels: Qrels | None = None,
    topics: Topics | Sequence[str] | None = None,
    docnos: Iterable[str] | None = None,
    measures: Sequence[Any] | None = None,
) -> list[Finding]:
    """Check a run.

    Args:
        qrels: The judgements it is to be evaluated with.
        topics: The topics that were searched, or their qids.
        docnos: Every docno of the collection or index.
        measures: The measures (of ir_measures) that are to be computed.

    Returns:
        The findings, errors first. An empty list says that nothing is to be said.
    """
    where = str(run.path) if run.path else run.tag
    if not len(run):
        return [Finding("error", "empty", "the run has no documents.", where)]
    grades = None if qrels is None else qrels.frame.select("qid", "docno", "grade")
    known = None if docnos is None else pl.Series(list(docnos), dtype=pl.String)
    qids = topics.qids if isinstance(topics, Topics) else topics
    found: list[Iterator[Finding]] = [
        check_scores(run, grades),
        check_docnos(run, known, None if grades is None else grades["docno"]),
    ]
    if qids is not None:
        found.append(check_topics(run.qids, qids, "the topics"))
    if qrels is not None and grades is not None:
        found.append(check_topics(run.qids, qrels.qids, "the qrels"))
        found.append(check_judgements(run, grades))
        found.append(check_positives(grades, measures))
        found.append(check_negatives(grades, measures or ()))
    if measures:
        found.append(check_depth(run, grades, measures))
    return _sorted(replace(finding, where=where) for finding in chain(*found))


def check_file(
    path: Path | str,
    qrels: Qrels | None = None,
    topics: Topics | Sequence[str] | None = None,
    docnos: Iterable[str] | None = None,
    measures: Sequence[Any] | None = None,
    *,
    limit: int = _LIMIT,
) -> list[Finding]:
    """Check a run file: its lines, and the run they make.

    Where lines are malformed, each is named (the first ``limit``, the rest are counted), and the
    run of the other lines is checked.

    Args:
        qrels: See :func:`check`.
        topics: See :func:`check`.
        docnos: See :func:`check`.
        measures: See :func:`check`.
        limit: How many malformed lines to name.

    Returns:
        The findings, errors first, malformed lines in order.
    """
    path = Path(path)
    try:
        run = read_run(path)
    except InputError as error:
        if _holds_json(path):
            message = f"{error.what} {error.hint}" if error.hint else error.what
            where = f"{path}:{error.line}" if error.line else str(path)
            return [Finding("error", "unreadable", message, where)]
        errors, run = _salvaged(path, limit)
        if not len(run):
            return errors
        return errors + check(run, qrels, topics, docnos, measures)
    own = [replace(finding, where=str(path)) for finding in _file_findings(path, run)]
    return _sorted(own + check(run, qrels, topics, docnos, measures))


def check_runs(runs: Sequence[Run]) -> list[Finding]:
    """Check runs that are to be compared with one another."""
    found = []
    alike: dict[str, list[str]] = defaultdict(list)
    tags: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        name = str(run.path) if run.path else run.tag
        ranking = run.frame.select("qid", "docno").write_csv(separator=" ", quote_style="never")
        alike[hashlib.sha256(ranking.encode()).hexdigest()].append(name)
        tags[run.tag].append(name)
    for names in alike.values():
        if len(names) > 1:
            message = f"these runs rank the same documents alike: {', '.join(names)}."
            found.append(Finding("warning", "same-ranking", message, names[1]))
    for tag, names in tags.items():
        if len(names) > 1:
            message = f"these runs have one tag, {tag}: {', '.join(names)}."
            found.append(Finding("warning", "same-tag", message, names[1]))
    for run, qids in zip(runs, lacking(runs), strict=True):
        if qids:
            message = (
                f"{counted(len(qids), 'topic')} of the other runs are missing: {some(qids)}. "
                "Paired tests need the same topics; the missing ones count 0."
            )
            where = str(run.path) if run.path else run.tag
            found.append(Finding("warning", "topic-sets", message, where))
    return _sorted(found)


def _sorted(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def _holds_json(path: Path) -> bool:
    """Whether the file can be read and is no run of lines."""
    try:
        return is_json(read_bytes(path))
    except InputError:
        return False


def _salvaged(path: Path, limit: int) -> tuple[list[Finding], Run]:
    """The errors of a file, and the run of its good lines."""
    found: list[Finding] = []
    good: list[tuple[str, str, float]] = []
    more = 0
    lines = rows(read_lines(path))
    while True:
        try:
            row = next(lines, None)
        except InputError as error:
            row = ErrorDetail(error.line, "unreadable", error.what, error.hint)
            lines = iter(())
        if row is None:
            break
        if not isinstance(row, ErrorDetail):
            good.append((row.qid, row.docno, row.score))
        elif len(found) < limit:
            where = f"{path}:{row.line}" if row.line else str(path)
            message = f"{row.message} {row.hint}" if row.hint else row.message
            found.append(Finding("error", row.code, message, where))
        else:
            more += 1
    if more:
        message = f"{counted(more, 'further line')} are malformed."
        found.append(Finding("error", "more", message, str(path)))
    frame = pl.DataFrame(good, schema=SCHEMA, orient="row")
    return found, Run.ranked(frame, path.name, path=path, ties="descending")


def _file_findings(path: Path, run: Run) -> Iterator[Finding]:
    """What the file has to say beyond the run that it makes."""
    yield from _metadata(path)
    table = parsed(read_bytes(path), ("qid", "docno", "rank", "score", "tag"))
    if table is None:
        return
    tags = table["tag"].unique(maintain_order=True).to_list()
    if len(tags) > 1:
        yield Finding("warning", "tags", f"the file holds {len(tags)} tags: {some(tags)}.")
    topic = topic_numbers(table["qid"])
    rows_of = np.argsort(topic, kind="stable")
    moved = (table["docno"].gather(rows_of) != run.frame["docno"]).to_numpy()
    if moved.any():
        topics = len(np.unique(run.topics[moved]))
        yield Finding(
            "info",
            "order",
            f"the lines of {counted(topics, 'topic')} stand in another order than trec_eval reads "
            "them in: by score, then docno descending.",
        )
    rank = table["rank"].cast(pl.Int64, strict=False)
    if rank.null_count():
        odd = table["rank"].filter(rank.is_null())[0]
        yield Finding("info", "ranks", f"the rank column holds {odd!r}, which is no whole number.")
        return
    by_rank = np.lexsort((rank.to_numpy(), topic))
    score, topic = table["score"].to_numpy()[by_rank], topic[by_rank]
    rises = (score[1:] > score[:-1]) & (topic[1:] == topic[:-1])
    if rises.any():
        topics = len(np.unique(topic[1:][rises]))
        yield Finding(
            "warning",
            "ranks",
            f"the rank column of {counted(topics, 'topic')} gives another order than the scores, "
            "which tools go by.",
        )


def _metadata(path: Path) -> Iterator[Finding]:
    if not metadata_for(path).exists():
        return
    try:
        facts = read_metadata(path)
    except InputError as error:
        yield Finding("warning", "metadata", error.paragraph())
        return
    about = facts.get("run file")
    digest = about.get("sha256") if isinstance(about, dict) else None
    if digest and digest != file_digest(path):
        yield Finding("warning", "metadata", "the run was changed since its metadata was written.")
