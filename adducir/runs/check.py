"""Validate runs, by the rules of :mod:`adducir.runs.rules`: ``adducir check``."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from adducir.core.errors import InputError
from adducir.core.texts import listed
from adducir.corpora.qrels import Qrels
from adducir.corpora.topics import Topics
from adducir.runs.fusion import lacking
from adducir.runs.read import columns_of, run_of
from adducir.runs.rules import RULES, Case, Severity, counted
from adducir.runs.run import Run

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Finding(NamedTuple):
    """One thing to know about a run: ``code`` names the rule, ``line`` is 1-based, 0 for none.

    An error where figures would be wrong or missing, a warning where they may mislead.
    """

    run: str
    severity: Severity
    code: str
    line: int
    message: str


def check(
    runs: Iterable[Run | Path | str],
    *,
    qrels: Qrels | None = None,
    topics: Topics | None = None,
    docnos: Iterable[str] | None = None,
    measures: Sequence[Any] = (),
) -> list[Finding]:
    """Check the lines of run files, each run by itself, and all together.

    Of a file with malformed lines, the run of the others is checked. ``docnos`` are all of the
    collection, ``measures`` (of ir_measures) are to be computed. The findings are given by run,
    errors first; at last those that concern several runs.
    """
    known = None if docnos is None else pl.Series(list(docnos), dtype=pl.String)
    found: list[Finding] = []
    read: list[Run] = []
    for each in runs:
        own: list[Finding] = []
        run, columns = (each, None) if isinstance(each, Run) else _opened(Path(each), own)
        if run is not None and len(run):
            read.append(run)
            case = Case(run, columns, qrels, topics, known, measures)
            for code, severity, tell in RULES:
                for told in tell(case):
                    weight, message = (severity, told) if isinstance(told, str) else told
                    own.append(Finding(run.name, weight, code, 0, message))
        elif run is not None:
            own.append(Finding(run.name, "error", "empty", 0, "the run has no documents."))
        found += sorted(own, key=lambda one: SEVERITIES.index(one.severity))
    return [*found, *_together(read)]


def _opened(path: Path, found: list[Finding]) -> tuple[Run | None, pl.DataFrame | None]:
    """The run of a file's good lines, and its columns; what is wrong is added to the findings."""

    def add(code: str, line: int, message: str) -> None:
        found.append(Finding(str(path), "error", code, line, message))

    try:
        columns = columns_of(path, ("qid", "docno", "rank", "score", "tag"))
    except InputError as error:
        add("unreadable", error.line or 0, error.what)
        return None, None
    for fault in columns.faults:
        add(fault.code, fault.line, fault.message)
    if more := columns.malformed - len(columns.faults):
        add("more", 0, f"{counted(more, 'further line')} are malformed.")
    return (run_of(columns.frame, path), columns.frame) if len(columns.frame) else (None, None)


def _together(runs: Sequence[Run]) -> Iterator[Finding]:
    """What is to be said of runs that are compared with one another."""
    same = defaultdict[tuple[str, str], list[str]](list)
    for run in runs:
        ranking = run.frame.select("qid", "docno").write_csv(separator=" ", quote_style="never")
        same["same-ranking", hashlib.sha256(ranking.encode()).hexdigest()].append(run.name)
        same["same-tag", run.tag].append(run.name)
    for (code, what), names in sorted(same.items()):
        if len(names) > 1:
            alike = (
                f"have the tag {what}" if code == "same-tag" else "rank the same documents alike"
            )
            yield Finding(names[1], "warning", code, 0, f"these {alike}: {', '.join(names)}.")
    for run, qids in zip(runs, lacking(runs), strict=True):
        if qids:
            what = (
                f"{counted(len(qids), 'topic')} of the other runs are missing: {listed(qids, 3)}. "
                "Paired tests need the same topics; the missing ones count 0."
            )
            yield Finding(run.name, "warning", "topic-sets", 0, what)
