"""A result table in formats for people and programs, all from one model.

Packages add formats through entry points ``adducir.tables``.
"""

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

from adducir.core.recipe import Recipe
from adducir.core.registry import Family, instance

if TYPE_CHECKING:
    from adducir.tables.table import ResultTable


class TableFormat(Recipe):
    """An output format; its fields are the options of :func:`render`.

    Attributes:
        ending: The unique suffix of its files.
        topics: Where values per topic go on request: into the text, by a field ``per_topic`` or
            always, into additional tables, one per measure, or nowhere.
    """

    ending: ClassVar[str]
    topics: ClassVar[Literal["per_topic", "always", "tables", "nowhere"]] = "tables"

    @abstractmethod
    def render(self, table: "ResultTable") -> str:
        """The whole table with title and notes and a final line break."""

    def rendered(self, table: "ResultTable") -> str:
        """The text, checked."""
        return instance(self, "render", self.render(table), str)


_HERE = "adducir.tables.formats"
TABLES = Family(
    "tables",
    TableFormat,
    {
        "terminal": f"{_HERE}.terminal:Terminal",
        "markdown": f"{_HERE}.data:Markdown",
        "latex": f"{_HERE}.latex:Latex",
        "csv": f"{_HERE}.data:CSV",
        "json": f"{_HERE}.data:JSON",
        "html": "adducir.tables.report.page:HTML",
    },
    what="table format",
)


def render(table: "ResultTable", format_name: str, **options: object) -> str:
    """The table as text in one format, a kind of :data:`TABLES`, with that format's options."""
    return TABLES.make(format_name, options).rendered(table)
