"""What every format of a table has."""

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

from adducir.core.recipe import Recipe

if TYPE_CHECKING:
    from adducir.tables.table import ResultTable


class TableFormat(Recipe):
    """A way to print a result table; its fields are the options of :func:`render`.

    Numbers, marks and the legend are taken from
    :mod:`adducir.tables.formats.layout`, so that formats cannot disagree.

    Attributes:
        ending: Of the files' names; one that no other format has.
        topics: Where the values of each topic stand, on request: in the text itself, by a field
            ``per_topic`` or always, or in further tables, one per measure, or nowhere.
    """

    ending: ClassVar[str]
    topics: ClassVar[Literal["per_topic", "always", "tables", "nowhere"]] = "tables"

    @abstractmethod
    def render(self, table: "ResultTable") -> str:
        """The whole table with its title, legend and footer, ending in a line break."""
