"""A result table as CSV and JSON, for programs and unrounded, and as Markdown.

CSV is tidy: one header line, one line per cell and reference, numbers in their shortest round-trip
form, no notes; text that a spreadsheet would take for a formula is preceded by an apostrophe. JSON
contains everything; ``schema_version`` rises when a field is removed or changes its meaning.
Numbers that JSON lacks (an infinite t statistic) become null. In Markdown, measures name their
group.
"""

import io
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

import polars as pl
from rich.cells import cell_len

from adducir.core.csv_files import CsvWriter
from adducir.core.errors import UsageError
from adducir.evaluation.measures import lower_is_better
from adducir.tables.formats import TableFormat
from adducir.tables.formats.names import one_line
from adducir.tables.table import Cell, ResultTable

SCHEMA_VERSION = 3
_SYMBOLS = {"best": "**Bold**:", "set": "°", "better": "↑", "worse": "↓", "equivalent": "≈"}
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~$&])")


class CSV(TableFormat):
    """Comma-separated values, one line per cell, for programs."""

    ending: ClassVar = ".csv"
    topics: ClassVar = "per_topic"
    per_topic: bool = False
    """One line per system, topic and measure instead."""

    def render(self, table: ResultTable) -> str:
        frame = topic_values(table) if self.per_topic else table.to_polars()
        out = io.StringIO()
        writer = CsvWriter(out)
        writer.row(frame.columns)
        for row in frame.iter_rows():  # booleans as in JSON
            writer.row([str(cell).lower() if isinstance(cell, bool) else cell for cell in row])
        return out.getvalue()


def topic_values(table: ResultTable) -> pl.DataFrame:
    """The values per topic, for each run of a system, in the table's order."""
    if table.comparison is None:
        raise UsageError("the table does not have values per topic.")
    scores = table.comparison.scores
    falls = {name: lower_is_better(measure) for name, measure in scores.measures.items()}
    order = pl.DataFrame(
        [
            (cell.topic_set, row.system, column.measure, row.section, column.group)
            for row, column, cell in table.cells()
            if cell.topic_set is not None
        ],
        schema=["set", "system", "measure", "section", "group"],
        orient="row",
    )
    # In the table's order, not that of the scores.
    return order.join(
        scores.frame, on=["set", "system", "measure"], maintain_order="left_right"
    ).select(
        system="run",
        section="section",
        group="group",
        qid="qid",
        measure="measure",
        value="value",
        higher_is_better=~pl.col("measure").replace_strict(falls, return_dtype=pl.Boolean),
    )


class JSON(TableFormat):
    """Everything in the table, unrounded, for programs."""

    ending: ClassVar = ".json"
    topics: ClassVar = "per_topic"
    per_topic: bool = False
    """Also the values per topic."""

    def render(self, table: ResultTable) -> str:
        comparison = table.comparison
        data: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "title": table.title,
            "label": table.label,
            "columns": [asdict(column) for column in table.columns],
            "rows": [
                {
                    "system": row.system,
                    "label": row.label,
                    "section": row.section,
                    "cells": [_figure(cell) for cell in row.cells],
                }
                for row in table.rows
            ],
        }
        if comparison is not None:
            data["testing"] = comparison.testing.model_dump()
            data["sets"] = [
                {"name": name, "section": section, "group": group, "topics": topics}
                for name, topics in comparison.topics.items()
                for section, group in [table.places[name]]
            ]
            data["tests"] = [_given(test) for test in comparison.tests.to_dicts()]
            data["evaluations"] = [
                _given(asdict(evaluation)) for evaluation in comparison.scores.evaluations
            ]
        if table.powered:
            data["prediction_powered"] = [_given(figure._asdict()) for figure in table.powered]
        if self.per_topic:
            data["values"] = topic_values(table).to_dict(as_series=False)
        data |= {
            "footer": table.footer(),
            "provenance": table.provenance,
            "style": asdict(table.style),
        }
        return json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _given(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if value not in (None, "")}


def _figure(cell: Cell) -> dict[str, Any]:
    more = {} if cell.p_best is None else {"in_set": cell.in_set, "p_best": cell.p_best}
    return {"mean": cell.mean, "n": cell.n, "best": cell.best, **more}


def _plain(value: Any) -> Any:
    """Nested mappings, sequences, texts and finite numbers; anything else as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (str, int)) else str(value)


def escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", one_line(text))


class Markdown(TableFormat):
    """GitHub's pipe table, readable as plain text too."""

    ending: ClassVar = ".md"

    def render(self, table: ResultTable) -> str:
        head, body = [table.head], list[list[str]]()
        for column in table.columns:
            group = f"{escaped(column.group)}<br>" if column.group else ""
            head.append(group + escaped(column.title))
        for section, rows in table.by_section().items():
            if section:
                body.append([f"*{escaped(section)}*", *[""] * len(table.columns)])
            for row in rows:
                body.append([escaped(row.title) + (f" ({row.letter})" if row.letter else "")])
                for cell in row.cells:
                    text = f"**{cell.text}**" if cell.best else cell.text
                    for mark in cell.marks:
                        text += _SYMBOLS[mark.kind] + mark.letters
                    body[-1].append("<br>".join([text, *map(escaped, cell.lines)]))
        # All columns are left-aligned: numbers with the same decimals then align, followed by
        # their marks.
        widths = [max(3, *map(cell_len, texts)) for texts in zip(head, *body, strict=True)]
        rule = [":" + "-" * (width - 1) for width in widths]
        lines = ""
        for texts in (head, rule, *body):
            for text, width in zip(texts, widths, strict=True):
                lines += f"| {text}{' ' * (width - cell_len(text))} "
            lines += "|\n"
        notes = " ".join(table.footer(_SYMBOLS, escaped))
        title = f"**{escaped(table.title)}**\n\n" if table.title else ""
        return title + lines + (f"\n{notes}\n" if notes else "")
