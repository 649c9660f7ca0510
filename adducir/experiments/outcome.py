"""What an experiment gives: its tables, and the files of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adducir.core.files import writing_text
from adducir.experiments.plan import Finding
from adducir.tables.formats import TABLES, render
from adducir.tables.table import ResultTable


@dataclass(frozen=True)
class Outcome:
    """What an experiment gave.

    Attributes:
        tables: Its tables, by the name of what they are of; ``""`` for the only one.
        files: Their files: the format, or ``NAME/format`` where there are several tables; the CSV
            of all queries is of the format ``per-topic`` and the like.
        made: The artifacts that were made, not those that were there.
        runs: Those of them that are evaluated.
    """

    tables: Mapping[str, ResultTable]
    files: Mapping[str, Path]
    made: Sequence[Path] = ()
    runs: Sequence[Path] = ()

    @property
    def table(self) -> ResultTable:
        """The table, or the first of several."""
        return next(iter(self.tables.values()))


def write_findings(folder: Path, findings: Sequence[Finding]) -> dict[str, Path]:
    """Write tables in every format.

    Args:
        folder: Where to: a folder of :func:`adducir.core.artifacts.publishing_results`.
        findings: The tables. The page for browsers of the file ``table`` is called ``report``.

    Returns:
        The files, as :class:`Outcome` has them.
    """
    files: dict[str, Path] = {}
    for finding in findings:
        before = f"{finding.name}/" if finding.name else ""
        before += "" if finding.file == "table" else f"{finding.file}."
        files |= {before + key: path for key, path in _write(folder, finding).items()}
    return files


def _write(folder: Path, finding: Finding) -> dict[str, Path]:
    folder = folder / finding.folder
    texts = {
        key: (f"{finding.file}{one.ending}", one().render(finding.table))
        for key, one in TABLES.kinds().items()
    }
    if finding.file == "table":
        texts["html"] = ("report.html", texts["html"][1])
    if finding.each is not None:
        each = render(finding.table, "csv", per_topic=True)
        texts[finding.each] = (f"{finding.each}.csv", each)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.values():
        with writing_text(folder / name) as handle:
            handle.write(text if text.endswith("\n") else text + "\n")
    return {key: folder / name for key, (name, _) in texts.items()}
