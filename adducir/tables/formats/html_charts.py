"""The charts of the HTML page: each system's difference to the baseline, topic by topic."""

from collections.abc import Iterator
from html import escape

from adducir.tables.formats.layout import number
from adducir.tables.formats.svg import difference_chart, reach
from adducir.tables.style import Style
from adducir.tables.table import Column, ResultTable, Row


def reference(table: ResultTable) -> Row | None:
    """The row that charts compare with: the first baseline's, else the first; None without rows."""
    chosen = (row for row in table.rows if row.system in table.baselines[:1])
    return next(chosen, table.rows[0] if table.rows else None)


def charts(table: ResultTable) -> Iterator[str]:
    """A heading and, for each column that is not descriptive, a grid of charts.

    Nothing where the table holds no values per topic.
    """
    base = reference(table)
    if base is None:
        return
    grids = [
        grid
        for place, column in enumerate(table.columns)
        if not column.descriptive and (grid := _grid(table, base, place, column))
    ]
    if grids:
        yield f"<h2>Topic by topic: difference to {escape(base.title)}</h2>"
        yield (
            '<div class="notes"><p>One bar a topic, the greatest difference first. '
            "All charts of a measure share one scale.</p></div>"
        )
        yield from grids


def _grid(table: ResultTable, base: Row, place: int, column: Column) -> str:
    """The charts of one column; empty if there are no values."""
    ground = base.cells[place].values
    others = [
        row
        for row in table.rows
        if row is not base and ground and len(row.cells[place].values) == len(ground)
    ]
    differences = [
        [mine - theirs for mine, theirs in zip(row.cells[place].values, ground, strict=True)]
        for row in others
    ]
    if not others:
        return ""
    end = reach(differences)
    title = f"{column.group}: {column.title}" if column.group else column.title
    figures = "".join(
        _figure(table, row, base, place, end, found)
        for row, found in zip(others, differences, strict=True)
    )
    return f'<h3>{escape(title)}</h3><div class="charts">{figures}</div>'


def _figure(
    table: ResultTable, row: Row, base: Row, place: int, end: float, differences: list[float]
) -> str:
    column = table.columns[place]
    mine, theirs = row.cells[place].values, base.cells[place].values
    more = sum(value > 0 for value in differences)
    less = sum(value < 0 for value in differences)
    mean = sum(differences) / len(differences)
    style = Style(table.style.decimals, table.style.leading_zero)
    details = (
        f"{number(mean, style, signed=True)} on average; {more} wins, {less} losses, "
        f"{len(differences) - more - less} ties"
    ).replace("-", "−")
    name = f"{row.section} · {row.title}" if row.section else row.title
    chart = difference_chart(
        column.topics,
        mine,
        theirs,
        end,
        f"{name} less {base.title}, {column.title}: {details}",
        higher_is_better=column.higher_is_better,
    )
    return (
        f"<figure><figcaption>{escape(name)}<small>{details}</small></figcaption>{chart}</figure>"
    )
