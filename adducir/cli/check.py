"""``adducir check``."""

import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from adducir.cli import common
from adducir.cli.command import option
from adducir.core.errors import EXIT_PROBLEMS_FOUND
from adducir.corpora.reading import QrelsReading, QueryReading
from adducir.runs.reading import RunReading

if TYPE_CHECKING:
    from adducir.runs.check import Finding

_SHOWN = {"error": "error", "warning": "warning", "info": "remark"}


class Check(RunReading, QrelsReading, QueryReading):
    runs: common.Runs
    qrels: common.Qrels = []  # noqa: RUF012  (pydantic copies it)
    topics: str | None = option("Topics: a file or an ir_datasets id.", "-t", default=None)
    index: Path | None = option(
        "The index, to find unknown documents.", "-i", metavar="FOLDER", default=None
    )
    measures: list[str] = option("Measures to compute from the runs later.", "-m", default=[])
    format: Literal["terminal", "csv", "json"] = option(
        "How to print findings.", default="terminal"
    )


def check(settings: Check) -> int:
    """Validate run files.

    Finds duplicate documents, scores that are not numbers, ties, missing, unknown and truncated
    topics and documents, qrels of another collection, rankings too short for a measure, and more.
    The exit code is 1 if there are errors; it is 0 for warnings and remarks.

    Examples:
        adducir check runs/bm25.trec.gz --qrels bundled:qrels --topics bundled:topics
        adducir check runs/bm25.trec.gz --index indexes/arguments --measures 'nDCG@10 R@100'
    """
    from adducir.cli.console import open_progress, show
    from adducir.core.csv_files import CsvWriter
    from adducir.evaluation.measures import parse_measures
    from adducir.indexes.engines import open_index
    from adducir.runs.check import check as findings_of

    with open_progress():
        found = findings_of(
            settings.runs,
            qrels=settings.read_qrels(settings.qrels) if settings.qrels else None,
            topics=settings.read_topics(settings.topics) if settings.topics else None,
            docnos=open_index(settings.index).docnos.to_list() if settings.index else None,
            measures=parse_measures(settings.measures) if settings.measures else (),
            columns=settings.columns,
            quotes=settings.quotes,
        )
    if settings.format == "json":
        show(json.dumps([one._asdict() for one in found], indent=2, ensure_ascii=False))
    elif settings.format == "csv":
        handle = io.StringIO()
        CsvWriter(handle).rows([("run", "severity", "code", "line", "message"), *found])
        show(handle.getvalue())
    else:
        show("\n".join(_report(list(map(str, settings.runs)), found)))
    return EXIT_PROBLEMS_FOUND if any(one.severity == "error" for one in found) else 0


def _report(runs: Sequence[str], found: "Sequence[Finding]") -> Iterator[str]:
    from adducir.cli.console import columns

    if len(runs) > 1 and found:
        codes = list(dict.fromkeys(one.code for one in found))
        weights = {(one.run, one.code): one.severity for one in reversed(found)}
        cells = [[_SHOWN.get(weights.get((run, code), ""), "-") for code in codes] for run in runs]
        rows = ([run, *row] for run, row in zip(runs, cells, strict=True))
        yield from columns([["", *codes], *rows])
        yield ""
    alike: dict[tuple[Finding, ...], list[str]] = {}
    for run in dict.fromkeys(runs):
        own = tuple(one for one in found if one.run == run)
        # Lines that several runs share are printed once.
        alike.setdefault(tuple(one._replace(run="") for one in own), []).append(run)
    for findings, names in alike.items():
        counts = Counter(one.severity for one in findings)
        shown = [f"{n} {_SHOWN[kind]}{'s' * (n > 1)}" for kind, n in counts.items()]
        yield f"{', '.join(names)}: {', '.join(shown) or 'no findings'}"
        for one in findings:
            place = f"line {one.line}: " if one.line else ""
            yield f"  {_SHOWN[one.severity]:<7}  {place}{one.message} [{one.code}]"
