"""Agreement between measures: Kendall's tau-b of the orders in which they put the systems.

Kendall, M. G. (1938): A new measure of rank correlation; ties as in tau-b.
"""

from html import escape
from math import isfinite

from adducir.tables.report.view import Section, View

FEWEST = 3
"""Fewer systems have no order to speak of."""


def section(view: View) -> Section | None:
    """A table of all pairs of rated measures."""
    means = {place: [row.cells[place].mean for row in view.table.rows] for place in view.rated}
    places = [place for place, many in means.items() if None not in many]
    if len(places) < 2 or len(view.table.rows) < FEWEST:
        return None
    names = [view.title(place) for place in places]
    taus = [[tau(view, first, second) for second in places] for first in places]
    body = (
        '<div class="scroll" tabindex="0" role="group" aria-label="Kendall\'s tau of measures">'
        f'<table class="figures"><thead><tr><td></td>{"".join(map(_head, names))}</tr></thead>'
        "<tbody>"
        + "".join(
            f'<tr><th scope="row">{escape(name)}</th>{"".join(map(_cell, row))}</tr>'
            for name, row in zip(names, taus, strict=True)
        )
        + "</tbody></table></div>"
    )
    lead = (
        f"Kendall's tau-b between the orders of the {len(view.table.rows)} systems: 1 where two "
        "measures rank them alike, −1 where one reverses the order of the other."
    )
    return Section("agreement", "Agreement between measures", lead, body)


def tau(view: View, first: int, second: int) -> float:
    """Kendall's tau-b of two columns' means, better systems first in both; NaN for constants."""
    from scipy.stats import kendalltau

    signed = [
        [
            (row.cells[place].mean or 0.0) * (1 if view.column(place).higher_is_better else -1)
            for row in view.table.rows
        ]
        for place in (first, second)
    ]
    return float(kendalltau(*signed).statistic)


def _head(name: str) -> str:
    return f'<th scope="col">{escape(name)}</th>'


def _cell(value: float) -> str:
    shown = f"{value:.2f}".replace("-", "−") if isfinite(value) else "–"
    return f"<td>{shown}</td>"
