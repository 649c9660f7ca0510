"""A table of values per topic: topics as rows, systems as columns."""

from adducir.core.errors import UsageError
from adducir.tables.table import Column, ResultTable, Row, TableCell


def topic_table(table: ResultTable, column: Column) -> ResultTable:
    """One column of a table, topic by topic.

    Args:
        table: A table that holds values per topic.
        column: One of its columns.

    Returns:
        A table with the topics as rows and the systems of ``table`` as columns (those of a section
        as a group), and the means in a last row.

    Raises:
        UsageError: The column holds no values per topic.
    """
    place = table.columns.index(column)
    rows = [row for row in table.rows if row.cells[place].values]
    if not rows or not column.topics:
        raise UsageError(f"the table holds no values per topic for {column.title}.")
    lines = [
        Row(qid, tuple(TableCell(row.cells[place].values[at], 1) for row in rows))
        for at, qid in enumerate(column.topics)
    ]
    means = tuple(TableCell(row.cells[place].mean, row.cells[place].n) for row in rows)
    summary = Row("", means, "Sum" if column.summed else "Mean", section="All topics")
    name = f"{column.group}: {column.title}" if column.group else column.title
    return ResultTable(
        columns=tuple(
            Column(row.system, row.section, row.title, descriptive=True, summed=column.summed)
            for row in rows
        ),
        rows=(*lines, summary),
        title=f"{name}, per topic",
        style=table.style,
        head="Topic",
    )
