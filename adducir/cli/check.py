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
from adducir.core.texts import counted
from adducir.corpora.reading import QrelsReading, QueryReading
from adducir.runs.reading import RunReading

if TYPE_CHECKING:
    from adducir.runs.check import Finding

_SHOWN = {"error": "error", "warning": "warning", "info": "remark"}


class CheckOptions(RunReading, QrelsReading, QueryReading):
    runs: common.Runs
    qrels: common.Qrels = []  # noqa: RUF012  (pydantic copies it)
    topics: str | None = option("Topics: a file or an ir_datasets id.", default=None)
    index: Path | None = option("The index, to find unknown documents.", default=None)
    measures: list[str] = option("Measures to compute from the runs later.", default=[])
    format: Literal["terminal", "csv", "json"] = option(
        "How to print findings.", default="terminal"
    )


def check(settings: CheckOptions) -> int:
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
        findings = findings_of(
            settings.runs,
            qrels=settings.read_qrels(settings.qrels) if settings.qrels else None,
            topics=settings.read_topics(settings.topics) if settings.topics else None,
            docnos=open_index(settings.index).docnos.to_list() if settings.index else None,
            measures=parse_measures(settings.measures) if settings.measures else (),
            columns=settings.columns,
            quotes=settings.quotes,
        )
    if settings.format == "json":
        show(json.dumps([finding._asdict() for finding in findings], indent=2, ensure_ascii=False))
    elif settings.format == "csv":
        handle = io.StringIO()
        CsvWriter(handle).rows([("run", "severity", "code", "line", "message"), *findings])
        show(handle.getvalue())
    else:
        show("\n".join(_report(list(map(str, settings.runs)), findings)))
    return EXIT_PROBLEMS_FOUND if any(finding.severity == "error" for finding in findings) else 0


def _report(runs: Sequence[str], findings_: "Sequence[Finding]") -> Iterator[str]:
    from adducir.cli.console import columns

    if len(runs) > 1 and findings_:
        codes = list(dict.fromkeys(finding.code for finding in findings_))
        weights = {(finding.run, finding.code): finding.severity for finding in reversed(findings_)}
        cells = [[_SHOWN.get(weights.get((run, code), ""), "-") for code in codes] for run in runs]
        rows = ([run, *row] for run, row in zip(runs, cells, strict=True))
        yield from columns([["", *codes], *rows])
        yield ""
    alike: dict[tuple[Finding, ...], list[str]] = {}
    for run in dict.fromkeys(runs):
        key = tuple(finding for finding in findings_ if finding.run == run)
        # Lines that several runs share are printed once.
        alike.setdefault(tuple(finding._replace(run="") for finding in key), []).append(run)
    for findings, names in alike.items():
        counts = Counter(finding.severity for finding in findings)
        shown = [counted(n, _SHOWN[kind]) for kind, n in counts.items()]
        yield f"{', '.join(names)}: {', '.join(shown) or 'no findings'}"
        for finding in findings:
            place = f"line {finding.line}: " if finding.line else ""
            yield f"  {_SHOWN[finding.severity]:<7}  {place}{finding.message} [{finding.code}]"
