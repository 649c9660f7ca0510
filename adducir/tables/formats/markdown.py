"""A result table as a GitHub pipe table, readable as plain text too; measures name their group."""

import re
from typing import ClassVar

from rich.cells import cell_len

from adducir.tables.formats import TableFormat
from adducir.tables.formats.names import one_line
from adducir.tables.table import ResultTable

_SYMBOLS = {"best": "**Bold**:", "set": "°", "better": "↑", "worse": "↓", "equivalent": "≈"}
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~$&])")


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
