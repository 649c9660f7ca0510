"""The table format ``html``: the report."""

from typing import ClassVar

from adducir.tables.formats import TableFormat
from adducir.tables.report.page import render
from adducir.tables.table import ResultTable


class HTML(TableFormat):
    """A single page that needs nothing else: table, figures, topics and hits."""

    ending: ClassVar = ".html"
    topics: ClassVar = "always"

    def render(self, table: ResultTable) -> str:
        """The whole page."""
        return render(table)
