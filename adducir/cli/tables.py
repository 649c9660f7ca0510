"""Printing a result table in the format and to the place that the user names."""

import shutil
import sys
from collections.abc import Iterator
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
        per_topic: Show the values of each topic as well (CSV: instead of the means).
    """
    format_name = format_of(output, wanted)
    text = "\n".join(_texts(table, format_name, output, per_topic))
    show(text, output, styled=format_name == "terminal")


def _texts(
    table: "ResultTable", format_name: str, output: Path | None, per_topic: bool
) -> Iterator[str]:
    from adducir.tables.formats import TABLES, render
    from adducir.tables.topics import topic_table

    topics = TABLES.kind(format_name).topics
    options = _terminal_options(output) if format_name == "terminal" else {}
    if topics == "per_topic":
        options["per_topic"] = per_topic
    yield render(table, format_name, **options)
    if per_topic and topics == "nowhere":
        raise UsageError(
            "the values of all topics are too many for a LaTeX table.",
            hint="Take --format csv for them.",
        )
    if per_topic and topics == "tables":
        for column in table.columns:
            yield render(topic_table(table, column), format_name, **options)


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
