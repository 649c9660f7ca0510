"""What annotators said of examples: how often each label was given, and how long units are.

Tables 2 and 3 and Figure 1 of the EGRET paper. An annotation is a line of a table; those of one
item by several raters share its weight, so that every item counts once. Items that are not valid
(artefacts of the extraction) count for the share of valid ones alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from adducir.core.errors import InputError
from adducir.corpora.sentences import sentence_bounds
from adducir.corpora.tables import text_records
from adducir.tables.build import figure_table
from adducir.tables.table import Column, Layout, ResultTable

ALL = "all"
_YES, _NO = {"yes", "true", "1", "valid"}, {"no", "false", "0", "invalid"}


@dataclass(frozen=True)
class AnnotatedColumns:
    """Names of a table's columns: labels of categories, marked texts, group, validity."""

    labels: Sequence[str] = ()
    texts: Sequence[str] = ()
    group: str | None = None
    valid: str | None = None


def read_annotations(path: Path, columns: AnnotatedColumns) -> pl.DataFrame:
    """One row per annotation, with its ``weight`` and whether it is ``valid``.

    Raises:
        InputError: A column is missing, or validity is not yes or no.
    """
    named = [*columns.labels, *columns.texts, *filter(None, (columns.group, columns.valid))]
    rows = []
    for line, record in text_records(path, ["item", *named]):
        valid = record[columns.valid].lower() if columns.valid else "yes"
        if valid not in _YES | _NO:
            message = f"{columns.valid} is {valid!r}, not yes or no."
            raise InputError(message, path=path, line=line)
        if columns.group and not record[columns.group]:
            raise InputError(f"the cell of {columns.group!r} is empty.", path=path, line=line)
        values = {f"column {name}": record[name] for name in named}
        item = record["item"], record.get(columns.group or "", "")
        rows.append({"item": "\t".join(item), "valid": valid in _YES, **values})
    if not rows:
        raise InputError("it contains no annotations.", path=path)
    return pl.DataFrame(rows).with_columns(weight=1 / pl.len().over("item"))


def annotation_table(frame: pl.DataFrame, columns: AnnotatedColumns, layout: Layout) -> ResultTable:
    """A row for each group, for all, and for each label, whose rows are the items that have it."""
    rows: dict[str, pl.DataFrame] = {}
    if columns.group:
        name = f"column {columns.group}"
        rows = {
            value: frame.filter(pl.col(name) == value)
            for value in frame[name].unique(maintain_order=True)
        }
    if len(rows) != 1:
        rows[ALL] = frame
    valid = frame.filter(pl.col("valid"))
    values = {name: sorted({*valid[f"column {name}"]} - {""}) for name in columns.labels}
    for name, of_label in values.items():
        for value in of_label:
            rows[f"{name}: {value}"] = frame.filter(pl.col(f"column {name}") == value)
    heads = [Column("Items", descriptive=True, summed=True)]
    if columns.valid:
        heads += [Column("Valid", descriptive=True, summed=True), _column("Valid share", "")]
    heads += [_column(value, name) for name, of_label in values.items() for value in of_label]
    heads += [_column(unit, name) for name in columns.texts for unit in ("Sentences", "Words")]
    cells = {name: _cells(part, columns, values) for name, part in rows.items()}
    notes = [
        f"{frame.height:,} annotations of {frame['item'].n_unique():,} items; several of one item "
        "share its weight.",
        "Shares of labels are of the valid items that have one; lengths are means over the valid "
        "items that have the text.",
    ]
    return figure_table(heads, cells, replace(layout, notes=notes, unit="item"))


def _column(name: str, group: str) -> Column:
    return Column(name, group, descriptive=True)


def _cells(
    frame: pl.DataFrame, columns: AnnotatedColumns, values: Mapping[str, Iterable[str]]
) -> list[float | None]:
    valid = frame.filter(pl.col("valid"))
    cells: list[float | None] = [frame["item"].n_unique()]
    if columns.valid:
        cells += [valid["item"].n_unique(), _mean(frame["valid"], frame)]
    for name, of_label in values.items():
        labelled = valid.filter(pl.col(f"column {name}") != "")
        cells += [_mean(labelled[f"column {name}"] == value, labelled) for value in of_label]
    for name in columns.texts:
        marked = valid.filter(pl.col(f"column {name}") != "")
        texts = marked[f"column {name}"].to_list()
        cells.append(_mean([len(sentence_bounds(text)) for text in texts], marked))
        cells.append(_mean([len(text.split()) for text in texts], marked))
    return cells


def _mean(values: Iterable[float], frame: pl.DataFrame) -> float | None:
    weights = frame["weight"].to_numpy()
    return float(np.average([*values], weights=weights)) if len(weights) else None
