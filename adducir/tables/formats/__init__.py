"""A result table in the formats that people and programs read, one file each.

Every format prints the same model (:class:`adducir.tables.table.ResultTable`) through
the same numbers, marks and legend (:mod:`adducir.tables.formats.layout`). Packages add
formats of their own by the entry-point group ``adducir.tables``.
"""

from typing import TYPE_CHECKING

from adducir.core.registry import Family
from adducir.tables.formats.format import TableFormat

if TYPE_CHECKING:
    from adducir.tables.table import ResultTable

_HERE = "adducir.tables.formats"

TABLES = Family(
    "tables",
    TableFormat,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {
        "terminal": f"{_HERE}.terminal:Terminal",
        "markdown": f"{_HERE}.markdown:Markdown",
        "latex": f"{_HERE}.latex:Latex",
        "csv": f"{_HERE}.csv:CSV",
        "json": f"{_HERE}.json:JSON",
        "html": "adducir.tables.report.html:HTML",
    },
    what="table format",
)


def render(table: "ResultTable", format_name: str, **options: object) -> str:
    """The table as text in one format.

    Args:
        table: What to print.
        format_name: A kind of :data:`TABLES`.
        options: That format's own.

    Raises:
        UsageError: There is no such format, or it has no such option.
    """
    return TABLES.make(format_name, options).render(table)
