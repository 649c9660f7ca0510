"""``adducir check``."""

import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adducir.cli import options
from adducir.cli.parameters import option
from adducir.core.errors import EXIT_PROBLEMS_FOUND, InputError

if TYPE_CHECKING:
    from adducir.runs.check import Finding
    from adducir.runs.run import Run

TOGETHER = "The runs together"


def check(
    runs: options.RunPaths,
    qrels: Annotated[
        list[str] | None, option("Judgements: a file or an ir_datasets id; can be repeated.", "-q")
    ] = None,
    topics: Annotated[str | None, option("Topics: a file or an ir_datasets id.", "-t")] = None,
    index: Annotated[
        Path | None, option("The index, to find unknown documents.", "-i", metavar="FOLDER")
    ] = None,
    measures: Annotated[
        list[str] | None, option("Measures that are to be computed from the runs.", "-m")
    ] = None,
) -> int:
    """Validate run files.

    Duplicate documents, scores that are no numbers, ties, missing, unknown and truncated topics
    and documents, qrels of another collection, too few documents for a measure, and more. The exit
    code is 1 where there are errors; warnings and remarks leave it at 0.
    """
    from adducir.cli.console import open_progress, show
    from adducir.corpora.qrels import load_qrels
    from adducir.corpora.topics import load_topics
    from adducir.runs.check import check_file, check_runs

    wanted = None
    if measures:
        from adducir.evaluation.measures import parse_measures

        wanted = parse_measures(measures)
    with open_progress():
        judged = load_qrels(qrels) if qrels else None
        posed = load_topics(topics) if topics else None
    docnos = _docnos(index) if index else None
    found: dict[str, Sequence[Finding]] = {
        str(path): check_file(path, judged, posed, docnos, wanted) for path in runs
    }
    if len(runs) > 1:
        found[TOGETHER] = check_runs(_readable(runs))
    show("\n".join(report(found)))
    errors = any(one.severity == "error" for findings in found.values() for one in findings)
    return EXIT_PROBLEMS_FOUND if errors else 0


def _docnos(index: Path) -> Sequence[str]:
    from adducir.indexes.engines import open_index

    return open_index(index).docnos.to_list()


def _readable(runs: Sequence[Path]) -> "list[Run]":
    """The runs without those that cannot be read, of which more is said elsewhere."""
    from adducir.runs.read import read_run

    read = []
    for path in runs:
        try:
            read.append(read_run(path))
        except InputError:
            continue
    return read


def report(found: "dict[str, Sequence[Finding]]") -> Iterator[str]:
    """The findings in lines, a paragraph a run."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for name, findings in found.items():
        if name == TOGETHER and not findings:
            continue
        yield f"{name}: {summary(findings)}"
        for one in findings:
            place = f"{one.where}: " if one.where not in (None, name) else ""
            line = f"  {one.severity:<7}  {place}{one.message} [{one.code}]"
            yield textwrap.fill(line, width, subsequent_indent=" " * 11) if width else line


def summary(findings: "Sequence[Finding]") -> str:
    """How many findings of each severity."""
    counts = Counter[str](one.severity for one in findings)
    names = {"error": "error", "warning": "warning", "info": "remark"}
    parts = [
        f"{counts[severity]} {name}{'s' * (counts[severity] > 1)}"
        for severity, name in names.items()
        if counts[severity]
    ]
    return ", ".join(parts) or "nothing to remark"
