"""The table itself, with figures to sort by, and its legend and footer."""

from collections.abc import Iterator
from html import escape

from adducir.tables.formats.names import joints
from adducir.tables.report.templates import filled
from adducir.tables.report.view import Section, View
from adducir.tables.table import Cell, Column, Mark, MarkKind, ResultTable, Row

MANY = 6
"""A table of more columns is printed smaller."""
VERY_MANY = 12
"""One of more is printed across the page."""
_SYMBOLS: dict[MarkKind, str] = {
    "best": "<b>Bold</b>:",
    "set": '<sup class="set">°</sup>',
    "better": '<sup class="better">↑</sup>',
    "worse": '<sup class="worse">↓</sup>',
    "equivalent": '<sup class="equivalent">≈</sup>',
}
_SIGNS: dict[MarkKind, str] = {"set": "°", "better": "↑", "worse": "↓", "equivalent": "≈"}
_EXPLANATIONS: dict[MarkKind, str] = {
    "set": "may be the best",
    "better": "significantly better",
    "worse": "significantly worse",
    "equivalent": "equivalent",
}


def section(view: View) -> Section:
    """The table, its tools, and its notes."""
    table = view.table
    turned = " turned" * (len(table.columns) > VERY_MANY)
    body = (
        f'{filled("table_tools")}<div class="scroll{turned}" tabindex="0" role="group" '
        f'aria-label="Results">'
        f"{''.join(table_lines(table, sortable=True))}</div>"
        f'<div class="notes">{"".join(notes(table))}</div>'
    )
    return Section("results", "Results", "", body)


def table_lines(table: ResultTable, *, sortable: bool = False) -> Iterator[str]:
    """The ``table`` element.

    Args:
        table: What to print.
        sortable: Whether heads are buttons, for the page's script.
    """
    many = " many" * (len(table.columns) > MANY)
    widest = [_widest(table, place) for place in range(len(table.columns))]
    zero = "" if table.style.leading_zero else ' data-zero="no"'
    yield f'<table class="results{many}"{zero}><thead>'
    groups = table.groups()
    if groups:
        spans = "".join(
            f'<th class="group" scope="colgroup" colspan="{count}">{escape(name)}</th>'
            if name
            else f'<td colspan="{count}"></td>'
            for name, count in groups
        )
        yield f"<tr><td></td>{spans}</tr>"
    heads = "".join(_head(place, column, sortable) for place, column in enumerate(table.columns))
    yield f'<tr><th scope="col">{escape(table.head)}</th>{heads}</tr></thead>'
    for name, rows in table.sections():
        yield "<tbody>"
        if name:
            span = 1 + len(table.columns)
            title = f'<th scope="rowgroup" colspan="{span}">{escape(name)}</th>'
            yield f'<tr class="section">{title}</tr>'
        yield from (_row(table, row, widest) for row in rows)
        yield "</tbody>"
    yield "</table>"


def _head(place: int, column: Column, sortable: bool) -> str:
    text = _breakable(column.title)
    if not sortable:
        return f'<th scope="col" title="{escape(column.measure)}">{text}</th>'
    sums = ' data-sum="yes"' if column.summed else ""
    return (
        f'<th scope="col" aria-sort="none" data-column="{place}"{sums}>'
        f'<button type="button" title="Sort by {escape(column.measure)}">{text}</button></th>'
    )


def _breakable(title: str) -> str:
    """A measure's name that may be broken at its joints."""
    return "<wbr>".join(map(escape, joints(title) if len(title) > 10 else [title]))


def _widest(table: ResultTable, place: int) -> str:
    """The longest marks of a column."""
    found = (row.cells[place].marks for row in table.rows)
    return max((_signs(many) for many in found), key=len, default="")


def _signs(many: tuple[Mark, ...]) -> str:
    return "".join(_SIGNS[mark.kind] + mark.letters for mark in many)


def _row(table: ResultTable, row: Row, widest: list[str]) -> str:
    mark = row.letter
    name = escape(row.title) + (f" <sup>{mark}</sup>" if mark else "")
    is_base = row.system in table.references and not table.pairs
    if is_base:
        name += ' <small class="tag">baseline</small>'
    cells = (_cell(cell, room) for cell, room in zip(row.cells, widest, strict=True))
    kind = ' class="baseline"' if is_base else ""
    return f'<tr{kind}><th scope="row">{name}</th>{"".join(cells)}</tr>\n'


def _cell(cell: Cell, room: str) -> str:
    """A cell; unseen, the signs that its marks lack of the column's longest stand behind them."""
    text = escape(cell.text).replace("-", "−")
    if cell.best:
        text = f"<b>{text}</b>"
    own = cell.marks
    text += "".join(_mark(mark) for mark in own)
    if lacking := room[len(_signs(own)) :]:
        text += f'<sup data-room="{escape(lacking)}"></sup>'
    below = "".join(
        f'<span class="detail">{escape(line).replace("-", "−")}</span>' for line in cell.lines
    )
    value = "" if cell.mean is None else f' data-value="{cell.mean!r}"'
    return f"<td{value}>{text}{below}</td>"


def _mark(mark: Mark) -> str:
    sign = _SIGNS[mark.kind]
    details = _EXPLANATIONS[mark.kind]
    return f'<sup class="{mark.kind}" title="{details}">{sign}{mark.letters}</sup>'


def notes(table: ResultTable) -> Iterator[str]:
    """The lines below the table."""
    for note in table.notes:
        shown = (_SYMBOLS[x.kind] if isinstance(x, Mark) else escape(x) for x in note)
        yield f"<p>{''.join(shown)}</p>"
