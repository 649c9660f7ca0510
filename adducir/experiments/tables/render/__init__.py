"""A result table in the formats that people and programs read.

Every format prints the same model (:class:`adducir.experiments.tables.table.ResultTable`) through
the same numbers, marks and legend (:mod:`adducir.experiments.tables.render.layout`).
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from adducir.study.checking import checked
from adducir.study.errors import UsageError

if TYPE_CHECKING:
    from adducir.experiments.tables.table import ResultTable

FORMATS = {
    "terminal": ".txt",
    "markdown": ".md",
    "latex": ".tex",
    "csv": ".csv",
    "json": ".json",
    "html": ".html",
}
"""Name of each format, with the file name ending it goes by."""


@checked
def render(table: "ResultTable", format_name: str, **options: object) -> str:
    """The table as text in one format.

    Args:
        table: What to print.
        format_name: One of :data:`FORMATS`.
        options: Passed on to that format's own ``render``.

    Raises:
        UsageError: There is no such format.
    """
    if format_name not in FORMATS:
        raise UsageError(
            f"no table format is called {format_name!r}.", mend=f"Choose from {', '.join(FORMATS)}."
        )
    module = import_module(f"adducir.experiments.tables.render.{format_name}")
    one: Callable[..., str] = module.render
    return one(table, **options)
