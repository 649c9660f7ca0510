"""The records of files of training examples: JSON objects and arrays, tables, lines of columns."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from adducir.core.errors import InputError
from adducir.core.files import read_lines, suffix_of
from adducir.core.json_lines import json_values, read_objects
from adducir.core.texts import counted
from adducir.corpora.tables import (
    PARQUET,
    TABLES,
    Quotes,
    cells_of,
    delimiter_of,
    table_records,
)
from adducir.training.example_columns import HEADLESS, role_of

FileFormat = Literal["columns", "lists", "pairs", "triples", "scored-pairs", "scored-triples"]
Role = Literal["query", "positives", "negatives", "documents", "labels", "scores"]


@dataclass(frozen=True, kw_only=True)
class RecordFile:
    """A file whose records are mappings of columns, which may be named by its format.

    Attributes:
        path: The file.
        format: Its layout, if the file does not show it.
        columns: The columns of some roles, if their names are unusual.
        quotes: What quotes are in tables.
        qids: What may name queries; None where nothing does.
    """

    path: Path
    format: FileFormat | None = None
    columns: Mapping[Role, Sequence[str]] | None = None
    quotes: Quotes | None = None
    qids: Collection[str] | None = None

    def fail(self, line: int | None, message: str, hint: str | None = None) -> NoReturn:
        raise InputError(message, path=self.path, line=line, hint=hint)

    def records(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        if suffix_of(self.path) == PARQUET:
            return table_records(self.path)
        first = next(((n, text) for n, text in read_lines(self.path) if text.strip()), (1, ""))
        head = first[1].lstrip("\ufeff \t")
        if not head:
            return iter(())
        if self.format in HEADLESS:
            return self._rows(first)
        if self.format == "lists":
            return self._lists()
        if suffix_of(self.path) in TABLES:
            return table_records(self.path, self.quotes)
        if head.startswith("{") or re.match(r"\[\s*(\{|$)", head):
            return read_objects(self.path)
        if head.startswith("[") and "\t" not in head and self.format is None:
            return self._lists()
        return self._rows(first)

    def _lists(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Of JSON arrays: a query, then texts, ids, or [id, score]."""
        for line, values in json_values(self.path, "Every line must hold one JSON array."):
            if not isinstance(values, list) or len(values) < 2:
                self.fail(line, "this is not a JSON array of a query and its documents.")
            query, *others = values
            if isinstance(others[0], list):
                if not all(isinstance(pair, list) and len(pair) == 2 for pair in others):
                    self.fail(line, "these are not pairs of a document and its score.")
                documents, scores = zip(*others, strict=True)
                yield line, {"query": query, "documents": [*documents], "scores": [*scores]}
            else:
                yield line, {"query": query, "positive": others[0], "negatives": others[1:]}

    def _rows(self, first: tuple[int, str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Of tab-separated lines, with a header or without."""
        cells = [cell.strip() for cell in first[1].split("\t")]
        stated = {name for names in (self.columns or {}).values() for name in names}
        are_names = len(cells) > 1 and all(
            re.fullmatch(r"[A-Za-z][\w -]{0,30}", cell) for cell in cells
        )
        known = [cell for cell in cells if role_of(cell)]
        has_header = stated.issubset(cells) if stated else len(known) > 1
        if self.format == "columns" or (self.format is None and are_names and has_header):
            yield from table_records(self.path, self.quotes)
            return
        if self.format is None and are_names and known:
            self.fail(
                first[0],
                f"this line has {known[0]!r}, and may be a header or an example.",
                "Set `examples.format` to columns, and `examples.columns` to each role's, or to "
                f"one of {', '.join(HEADLESS)}.",
            )
        names = HEADLESS.get(str(self.format)) or self._headless(cells, first[0])
        delimiter = delimiter_of(first[1]) if suffix_of(self.path) in TABLES else "\t"
        quotes = self.quotes or ("literal" if delimiter == "\t" else None)
        for line, row in cells_of(read_lines(self.path), self.path, delimiter, quotes):
            if len(row) != len(names):
                self.fail(line, f"this line has {counted(len(row), 'column')}, not {len(names)}.")
            yield line, dict(zip(names, row, strict=True))

    def _headless(self, cells: Sequence[str], line: int) -> tuple[str, ...]:
        numeric = [re.fullmatch(r"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?", cell) for cell in cells]
        fitting = [kind for kind, names in HEADLESS.items() if len(names) == len(cells)]
        if len(cells) == 3 and numeric[2] and (not all(numeric) or cells[2] in "01"):
            self.fail(
                line,
                f"the third column, {cells[2]!r}, may be a negative or a score.",
                "Set `examples.format` to triples or scored-pairs.",
            )
        if len(cells) < 4 and numeric[0] and self.qids is None and not all(numeric):
            self.fail(
                line,
                f"the first column, {cells[0]!r}, may be a query, a qid or a score.",
                "Name the queries of qids, `examples.topics`, or set `examples.format`.",
            )
        if not fitting or (len(cells) == 5 and not all(numeric[:2])):
            self.fail(
                line,
                f"a line of {counted(len(cells), 'column')} is not known as a training example.",
                "Separate columns by tabs, and name them in a header (query, positive, negative, "
                f"score), or set `examples.format` to one of {', '.join(HEADLESS)}. Judgements are "
                "named by `examples.qrels`.",
            )
        return HEADLESS[fitting[0]]
