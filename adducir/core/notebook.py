"""Small tables in HTML, by which objects show themselves in a notebook."""

from collections.abc import Iterable, Sequence
from html import escape

MOST = 10
"""Rows that are shown of what has more."""


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; all text is escaped.

    Args:
        caption: What it is.
        head: The columns' names.
        rows: Their values: numbers with four digits after the point, None as nothing.
    """
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"<td>{value:.4f}</td>"
    return f"<td>{'' if value is None else escape(str(value))}</td>"
