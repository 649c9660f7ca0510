"""Printing a result table in the format and to the place that the user names."""

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adducir.cli.console import is_terminal, show
from adducir.cli.options import format_of
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from adducir.tables.table import ResultTable

WIDTH = 100
"""Columns of the terminal format where it does not go to a terminal."""


def show_table(
    table: "ResultTable",
    wanted: str | None = None,
    output: Path | None = None,
    *,
    per_topic: bool = False,
) -> None:
    """Print a table, or write it to a file.

    Args:
        wanted: The format; by default what the ending of ``output`` says, or else ``terminal``.
        output: The file, None for stdout.
        per_topic: Show the values of each topic as well (CSV: instead of the means).
    """
    from adducir.tables.build import topic_table
    from adducir.tables.formats import TABLES

    format_name = format_of(output, wanted)
    topics = TABLES.kind(format_name).topics if per_topic else ""
    if topics == "nowhere":
        raise UsageError(
            "the values of all topics are too many for a LaTeX table.",
            hint="Take --format csv for them.",
        )
    more = [topic_table(table, column) for column in table.columns] if topics == "tables" else []
    options: dict[str, Any] = {"per_topic": True} if topics == "per_topic" else {}
    if format_name == "terminal":
        options |= _terminal_options(output)
    form = TABLES.make(format_name, options)
    styled = format_name == "terminal"
    show("\n".join(map(form.render, [table, *more])), output, styled=styled)


def _terminal_options(output: Path | None) -> dict[str, Any]:
    """Width, colour and characters of the place the table goes to."""
    if output is not None:
        return {"width": WIDTH}
    here = is_terminal(sys.stdout)
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    return {
        "width": shutil.get_terminal_size((WIDTH, 24)).columns if here else WIDTH,
        "color": here,
        "ascii_only": not encoding.startswith("utf"),
    }
