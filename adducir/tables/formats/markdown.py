"""A result table as a GitHub pipe table, readable as plain text too; measures name their group."""

import re
from typing import ClassVar

from rich.cells import cell_len

from adducir.tables.formats import TableFormat
from adducir.tables.formats.names import one_line
from adducir.tables.table import Mark, ResultTable, Row

_SYMBOLS = {"best": "**Bold**:", "set": "°", "better": "↑", "worse": "↓", "equivalent": "≈"}
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~$&])")


def escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", one_line(text))


class Markdown(TableFormat):
    """GitHub's pipe table, readable as plain text too."""

    ending: ClassVar = ".md"

    def render(self, table: ResultTable) -> str:
        head = [table.head]
        for column in table.columns:
            group = f"{escaped(column.group)}<br>" if column.group else ""
            head.append(group + escaped(column.title))
        body: list[list[str]] = []
        for section, rows in table.sections():
            if section:
                body.append([f"*{escaped(section)}*", *[""] * len(table.columns)])
            body += [_row(row) for row in rows]
        # All columns go to the left: numbers of equal decimals then stand under each other, with
        # the marks after them.
        widths = [max(3, *map(cell_len, texts)) for texts in zip(head, *body, strict=True)]
        rule = [":" + "-" * (width - 1) for width in widths]
        lines = [
            "| "
            + " | ".join(t + " " * (w - cell_len(t)) for t, w in zip(texts, widths, strict=True))
            + " |"
            for texts in (head, rule, *body)
        ]
        notes = " ".join(
            "".join(_SYMBOLS[x.kind] if isinstance(x, Mark) else escaped(x) for x in note)
            for note in table.notes
        )
        title = f"**{escaped(table.title)}**" if table.title else ""
        return "\n\n".join(part for part in (title, "\n".join(lines), notes) if part) + "\n"


def _row(row: Row) -> list[str]:
    texts = [escaped(row.title) + (f" ({row.letter})" if row.letter else "")]
    for cell in row.cells:
        text = f"**{cell.text}**" if cell.best else cell.text
        text += "".join(_SYMBOLS[mark.kind] + mark.letters for mark in cell.marks)
        texts.append("<br>".join([text, *map(escaped, cell.lines)]))
    return texts
