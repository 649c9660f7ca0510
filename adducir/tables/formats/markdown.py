"""A result table as a GitHub pipe table, readable as plain text too.

Best values are bold, marks follow the number; details stand under the mean after ``<br>``.
Column groups have no place in a pipe table, so each measure carries its group's name.
"""

import re
from typing import ClassVar

from rich.cells import cell_len

from adducir.tables.formats import layout
from adducir.tables.formats.format import TableFormat
from adducir.tables.formats.names import one_line
from adducir.tables.table import ResultTable, Row

_SYMBOLS: dict[layout.LegendKind, str] = {
    "best": "**Bold**",
    "set": "°",
    "better": "↑",
    "worse": "↓",
    "equivalent": "≈",
}
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~$&])")


def escaped(text: str) -> str:
    """A text in which no character means anything to Markdown, on one line."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


class Markdown(TableFormat):
    """GitHub's pipe table, readable as plain text too."""

    ending: ClassVar = ".md"

    def render(self, table: ResultTable) -> str:
        return render(table)


def render(table: ResultTable) -> str:
    """The table with its title above and its legend and footer below, ending in a line break."""
    head = [table.head, *(_heading(column.group, column.title) for column in table.columns)]
    body: list[list[str]] = []
    for section, rows in layout.sections(table):
        if section:
            body.append([f"*{escaped(section)}*", *[""] * len(table.columns)])
        body += [_row(table, row) for row in rows]
    parts = [f"**{escaped(table.title)}**"] if table.title else []
    parts.append("\n".join(_pipes(head, body)))
    parts += _notes(table)
    return "\n\n".join(parts) + "\n"


def _heading(group: str, title: str) -> str:
    return f"{escaped(group)}<br>{escaped(title)}" if group else escaped(title)


def _row(table: ResultTable, row: Row) -> list[str]:
    mark = layout.letter_of_row(table, row)
    texts = [escaped(row.title) + (f" ({mark})" if mark else "")]
    for column, cell in zip(table.columns, row.cells, strict=True):
        text = layout.figure(table, column, cell)
        if layout.is_best(column, cell):
            text = f"**{text}**"
        text += "".join(
            _SYMBOLS[mark.kind] + mark.letters for mark in layout.marks(table, column, cell)
        )
        details = [escaped(line) for line in layout.detail_lines(table, column, cell)]
        texts.append("<br>".join([text, *details]))
    return texts


def _pipes(head: list[str], body: list[list[str]]) -> list[str]:
    """Lines with the pipes aligned.

    All columns go to the left: numbers of equal decimals then stand under each other, with the
    marks after them.
    """
    widths = [max(3, *map(cell_len, texts)) for texts in zip(head, *body, strict=True)]
    rule = [":" + "-" * (width - 1) for width in widths]
    return ["| " + " | ".join(map(_padded, texts, widths)) + " |" for texts in (head, rule, *body)]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _notes(table: ResultTable) -> list[str]:
    """Legend and footer, a paragraph each."""
    entries = []
    for kinds, meaning in layout.legend(table):
        signs = " ".join(_SYMBOLS[kind] for kind in kinds)
        entries.append(f"{signs}: {escaped(meaning)}" if signs else escaped(meaning))
    paragraphs = (" ".join(entries), " ".join(map(escaped, table.footer)))
    return [text for text in paragraphs if text]
