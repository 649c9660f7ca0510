"""A result table as JSON: everything the table holds, unrounded, for programs.

The form is versioned by ``schema_version``: fields may be added under the same version; a change
of what a field means, or its removal, raises it. Numbers that JSON lacks (an infinite t statistic)
become null.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from pydantic import Field

from adducir.tables.formats.format import TableFormat
from adducir.tables.formats.layout import legend
from adducir.tables.table import Column, ResultTable, Row

SCHEMA_VERSION = 2


class JSON(TableFormat):
    """Everything that the table holds, unrounded, for programs."""

    ending: ClassVar = ".json"
    topics: ClassVar = "per_topic"
    per_topic: bool = Field(False, description="Also each cell's values per topic.")

    def render(self, table: ResultTable) -> str:
        return render(table, per_topic=self.per_topic)


def render(table: ResultTable, *, per_topic: bool = False) -> str:
    """The table as indented JSON, ending in a line break; characters beyond ASCII as they are.

    Args:
        table: What to print.
        per_topic: Also give each cell's values per topic, and each column's topics.
    """
    data = {
        "schema_version": SCHEMA_VERSION,
        "title": table.title,
        "label": table.label,
        "baselines": list(table.baselines),
        "pairs": table.pairs,
        "equivalence_against": table.equivalence_against,
        "columns": [_column(column, per_topic) for column in table.columns],
        "rows": [_row(row, per_topic) for row in table.rows],
        "legend": [{"marks": list(kinds), "meaning": text} for kinds, text in legend(table)],
        "footer": list(table.footer),
        "facts": table.facts,
        "provenance": table.provenance,
        "style": asdict(table.style),
    }
    return json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _column(column: Column, per_topic: bool) -> dict[str, Any]:
    data = asdict(column)
    if not per_topic:
        del data["topics"]
    return data


def _row(row: Row, per_topic: bool) -> dict[str, Any]:
    data = asdict(row)
    for cell in data["cells"]:
        if not per_topic:
            del cell["values"]
        if not per_topic or not cell["runs"]:
            del cell["runs"]
    return data


def _plain(value: Any) -> Any:
    """Nested data of mappings, sequences, texts and finite numbers; anything else as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (str, int)) else str(value)
