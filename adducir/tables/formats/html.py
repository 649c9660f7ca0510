"""A report of one table as a single HTML page that needs nothing else, not even the network.

Table, legend and footer; per-topic differences to the baseline as charts; the facts of the tests;
and how everything was made. All text is escaped. The page reads in light and dark, prints on A4,
and loses only the sorting of rows by a click where scripts are off.
"""

from collections.abc import Iterator
from html import escape
from string import Template
from typing import ClassVar

from adducir.tables.formats.format import TableFormat
from adducir.tables.formats.html_charts import charts
from adducir.tables.formats.html_facts import mapping
from adducir.tables.formats.html_style import CSS, SCRIPT
from adducir.tables.formats.layout import (
    LegendKind,
    Mark,
    column_groups,
    detail_lines,
    figure,
    is_best,
    legend,
    letter_of_row,
    marks,
    sections,
)
from adducir.tables.formats.names import joints
from adducir.tables.table import Column, ResultTable, Row, TableCell

MANY = 6
"""A table of more columns is printed smaller."""
_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$css</style>
</head>
<body>
<main>
<h1>$title</h1>
$body
</main>
<script>$script</script>
</body>
</html>
""")
_SYMBOLS: dict[LegendKind, str] = {
    "best": "<b>Bold</b>",
    "better": '<sup class="better">↑</sup>',
    "worse": '<sup class="worse">↓</sup>',
    "equivalent": '<sup class="equivalent">≈</sup>',
}
_EXPLANATIONS: dict[LegendKind, str] = {
    "better": "significantly better",
    "worse": "significantly worse",
    "equivalent": "equivalent",
}


class HTML(TableFormat):
    """A single page that needs nothing else, with charts of the topics."""

    ending: ClassVar = ".html"
    topics: ClassVar = "always"

    def render(self, table: ResultTable) -> str:
        """See :func:`render`."""
        return render(table)


def render(table: ResultTable) -> str:
    """The whole page."""
    parts = [
        f'<div class="wide">{"".join(_table(table))}</div>',
        f'<div class="notes">{"".join(_notes(table))}</div>',
        *charts(table),
        *mapping("Provenance", table.provenance),
        *mapping("Test details", table.facts),
    ]
    return _PAGE.substitute(
        title=escape(table.title or "Results"), css=CSS, script=SCRIPT, body="\n".join(parts)
    )


def fragment(table: ResultTable) -> str:
    """The table with its title and notes, to stand in another page: a notebook's."""
    title = f"<p><b>{escape(table.title)}</b></p>" if table.title else ""
    notes = "".join(_notes(table))
    return f'<div class="adducir">{title}{"".join(_table(table))}<small>{notes}</small></div>'


def _table(table: ResultTable) -> Iterator[str]:
    many = " many" * (len(table.columns) > MANY)
    yield f'<table class="results{many}"><thead>'
    groups = column_groups(table)
    if groups:
        spans = "".join(
            f'<th class="group" scope="colgroup" colspan="{count}">{escape(name)}</th>'
            if name
            else f'<td colspan="{count}"></td>'
            for name, count in groups
        )
        yield f"<tr><td></td>{spans}</tr>"
    heads = "".join(
        f'<th scope="col" data-column="{place}" title="Sort by {escape(column.measure)}">'
        f"{_breakable(column.title)}</th>"
        for place, column in enumerate(table.columns)
    )
    yield f'<tr><th scope="col">{escape(table.head)}</th>{heads}</tr></thead>'
    for section, rows in sections(table):
        yield "<tbody>"
        if section:
            span = 1 + len(table.columns)
            title = f'<th scope="rowgroup" colspan="{span}">{escape(section)}</th>'
            yield f'<tr class="section">{title}</tr>'
        yield from (_row(table, row) for row in rows)
        yield "</tbody>"
    yield "</table>"


def _breakable(title: str) -> str:
    """A measure's name that may be broken at its joints."""
    return "<wbr>".join(map(escape, joints(title) if len(title) > 10 else [title]))


def _row(table: ResultTable, row: Row) -> str:
    mark = letter_of_row(table, row)
    name = escape(row.title) + (f" <sup>{mark}</sup>" if mark else "")
    cells = (
        _cell(table, column, cell) for column, cell in zip(table.columns, row.cells, strict=True)
    )
    return f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>\n'


def _cell(table: ResultTable, column: Column, cell: TableCell) -> str:
    text = escape(figure(table, column, cell)).replace("-", "−")
    if is_best(column, cell):
        text = f"<b>{text}</b>"
    text += "".join(_mark(mark) for mark in marks(table, column, cell))
    below = "".join(
        f'<span class="detail">{escape(line).replace("-", "−")}</span>'
        for line in detail_lines(table, column, cell)
    )
    value = "" if cell.mean is None else f' data-value="{cell.mean!r}"'
    return f"<td{value}>{text}{below}</td>"


def _mark(mark: Mark) -> str:
    sign = {"better": "↑", "worse": "↓", "equivalent": "≈"}[mark.kind]
    details = _EXPLANATIONS[mark.kind]
    return f'<sup class="{mark.kind}" title="{details}">{sign}{mark.letters}</sup>'


def _notes(table: ResultTable) -> Iterator[str]:
    for kinds, meaning in legend(table):
        signs = " ".join(_SYMBOLS[kind] for kind in kinds)
        yield f"<p>{signs}{': ' if signs else ''}{escape(meaning)}</p>"
    for sentence in table.footer:
        yield f"<p>{escape(sentence)}</p>"
