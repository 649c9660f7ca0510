"""``adducir check``."""

import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from adducir.cli import common
from adducir.cli.command import option
from adducir.core.errors import EXIT_PROBLEMS_FOUND, InputError
from adducir.core.recipe import Recipe

if TYPE_CHECKING:
    from adducir.runs.check import Finding

TOGETHER = "The runs together"
SEVERITIES = {"error": "error", "warning": "warning", "info": "remark"}


class Check(Recipe):
    runs: common.Runs
    qrels: common.Qrels = []  # noqa: RUF012  (pydantic copies it)
    topics: str | None = option("Topics: a file or an ir_datasets id.", "-t", default=None)
    index: Path | None = option(
        "The index, to find unknown documents.", "-i", metavar="FOLDER", default=None
    )
    measures: list[str] = option(
        "Measures that are to be computed from the runs.", "-m", default=[]
    )


def check(settings: Check) -> int:
    """Validate run files.

    Duplicate documents, scores that are not numbers, ties, missing, unknown and truncated topics
    and documents, qrels of another collection, too few documents for a measure, and more. The exit
    code is 1 where there are errors; warnings and remarks leave it at 0.

    Examples:
        adducir check runs/bm25.trec.gz --qrels bundled:qrels --topics bundled:topics
        adducir check runs/bm25.trec.gz --index indexes/arguments --measures 'nDCG@10 R@100'
    """
    from adducir.cli.console import open_progress, show
    from adducir.corpora.qrels import load_qrels
    from adducir.corpora.topics import load_topics
    from adducir.evaluation.measures import parse_measures
    from adducir.indexes.engine import open_index
    from adducir.runs.check import check_file, check_runs
    from adducir.runs.read import read_run

    wanted = parse_measures(settings.measures) if settings.measures else None
    with open_progress():
        judged = load_qrels(settings.qrels) if settings.qrels else None
        posed = load_topics(settings.topics) if settings.topics else None
    docnos = open_index(settings.index).docnos.to_list() if settings.index else None
    found: dict[str, Sequence[Finding]] = {
        str(path): check_file(path, judged, posed, docnos, wanted) for path in settings.runs
    }
    if len(settings.runs) > 1:
        readable = []
        for path in settings.runs:
            try:
                readable.append(read_run(path))
            except InputError:  # of which more is said elsewhere
                continue
        if together := check_runs(readable):
            found[TOGETHER] = together
    show("\n".join(report(found)))
    errors = any(one.severity == "error" for findings in found.values() for one in findings)
    return EXIT_PROBLEMS_FOUND if errors else 0


def report(found: "Mapping[str, Sequence[Finding]]") -> Iterator[str]:
    """The findings in lines, a paragraph per run."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for name, findings in found.items():
        counts = Counter[str](one.severity for one in findings)
        parts = [
            f"{counts[severity]} {word}{'s' * (counts[severity] > 1)}"
            for severity, word in SEVERITIES.items()
            if counts[severity]
        ]
        yield f"{name}: {', '.join(parts) or 'nothing to remark'}"
        for one in findings:
            place = f"{one.where}: " if one.where not in (None, name) else ""
            line = f"  {one.severity:<7}  {place}{one.message} [{one.code}]"
            yield textwrap.fill(line, width, subsequent_indent=" " * 11) if width else line
