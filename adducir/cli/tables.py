"""Printing a result table in the format and to the place that the user names."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adducir.cli.console import is_terminal, show
from adducir.cli.options import format_of
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from adducir.tables.table import ResultTable

WIDTH = 100
"""Columns of the terminal format where it does not go to a terminal."""


def show_table(table: "ResultTable", wanted: str | None = None, output: Path | None = None) -> None:
    """Print a table, or write it to a file.

    Args:
        wanted: The format; by default what the ending of ``output`` says, or else ``terminal``.
        output: The file, None for stdout.
    """
    _show([table], format_of(output, wanted), output)


def show_topics(table: "ResultTable", wanted: str | None, output: Path | None) -> None:
    """Print a table with the values of each topic (CSV: instead of the means).

    Raises:
        UsageError: The format has no place for them.
    """
    from adducir.tables.formats import TABLES
    from adducir.tables.topics import topic_table

    format_name = format_of(output, wanted)
    topics = TABLES.kind(format_name).topics
    if topics == "nowhere":
        raise UsageError(
            "the values of all topics are too many for a LaTeX table.",
            hint="Take --format csv for them.",
        )
    more = [topic_table(table, column) for column in table.columns] if topics == "tables" else []
    options = {"per_topic": True} if topics == "per_topic" else {}
    _show([table, *more], format_name, output, **options)


def _show(
    tables: Sequence["ResultTable"], format_name: str, output: Path | None, **options: Any
) -> None:
    from adducir.tables.formats import TABLES

    if format_name == "terminal":
        options |= _terminal_options(output)
    form = TABLES.make(format_name, options)
    show("\n".join(map(form.render, tables)), output, styled=format_name == "terminal")


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
