"""What studies give that have a kind of their own: their tables, and the files of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adducir.experiments.tables.render import TABLES, render
from adducir.experiments.tables.table import ResultTable
from adducir.study.files import writing_text


@dataclass(frozen=True)
class StudyOutcome:
    """What a study gave.

    Attributes:
        tables: Its tables, by the name of what they are of; ``""`` for the only one.
        files: Their files: the format, or ``NAME/format`` where there are several tables.
    """

    tables: Mapping[str, ResultTable]
    files: Mapping[str, Path]


def write_table(
    folder: Path, table: ResultTable, *, name: str = "table", each: str | None = None
) -> dict[str, Path]:
    """Write a table in every format.

    Args:
        folder: Where to: a folder of :func:`adducir.study.results.publishing_results`.
        table: The table.
        name: The files' name; of the page for browsers ``report`` where this is ``table``.
        each: The name of a CSV with the values of every query; None for no such file.

    Returns:
        The files by format; that of the queries' values as ``each``.
    """
    texts = {
        key: (f"{name}{one.ending}", one().render(table)) for key, one in TABLES.kinds().items()
    }
    if name == "table":
        texts["html"] = ("report.html", texts["html"][1])
    if each is not None:
        texts[each] = (f"{each}.csv", render(table, "csv", per_topic=True))
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for key, (file, text) in texts.items():
        files[key] = folder / file
        with writing_text(files[key]) as handle:
            handle.write(text if text.endswith("\n") else text + "\n")
    return files
