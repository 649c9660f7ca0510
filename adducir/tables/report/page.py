"""The page: the table and its notes in HTML, everything else drawn by the page's own script.

Its policy lets it load nothing; without script the table, its notes and the provenance are there.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar

from adducir.tables.formats import TableFormat
from adducir.tables.formats.names import joints
from adducir.tables.report.data import ReportData, visible
from adducir.tables.report.headline import headline
from adducir.tables.table import Cell, Mark, ResultTable, Row

if TYPE_CHECKING:
    from jinja2 import Environment

MANY = 6
"""A table of more columns is printed smaller."""
_SIGNS = {"best": "<b>Bold</b>", "set": "°", "better": "↑", "worse": "↓", "equivalent": "≈"}


class HTML(TableFormat):
    """A single page that needs nothing else: table, figures, topics and hits."""

    ending: ClassVar = ".html"
    topics: ClassVar = "always"

    def render(self, table: ResultTable) -> str:
        data = ReportData(table)
        style, script = _asset("page.css"), _asset("page.js")
        allowed = f"style-src {_digest(style)}; script-src {_digest(script)}"
        return (
            _environment()
            .get_template("page.html.j2")
            .render(
                page=_contents(data),
                style=style,
                script=script,
                policy=f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'",
                data=data.block() if data.rated else "",
            )
        )


def fragment(table: ResultTable) -> str:
    """The table with its title and notes, to stand in another page: a notebook's."""
    title = f"<p><b>{escape(visible(table.title))}</b></p>" if table.title else ""
    return f'<div class="adducir">{title}{_table(table)}<small>{_notes(table)}</small></div>'


def _contents(data: ReportData) -> dict[str, Any]:
    table, material = data.table, data.material
    several = len(table.rows) > 1
    facts = list(_flat(table.provenance))
    if table.comparison is not None:
        facts += _flat(table.comparison.testing.model_dump(exclude_defaults=True), "tests")
    parts = {
        "results": ("Table", True),
        "differences": ("Differences to the baseline", data.tests and not table.pairs),
        "pairs": ("All pairs", len(data.ranked(data.rated[0])) > 2 if data.rated else False),
        "ranks": ("Rank intervals", data.ranks),
        "topics": ("Topic by topic", data.values),
        "compare": ("Two systems", data.values and several),
        "hits": ("Hits of a topic", data.hits),
        "recall": ("Precision and recall", data.recall),
        "unjudged": ("Unjudged documents", data.bounds),
        "cost": ("Cost", any(cost[1] for cost in data.costs)),
        "training": ("Training", material.curves),
        "provenance": ("Provenance", facts or material.plan),
    }
    return {
        "title": visible(table.title),
        "headline": headline(data),
        "parts": {name: title for name, (title, there) in parts.items() if there},
        "table": _table(table, data),
        "notes": _notes(table),
        "names": data.names,
        "titles": data.titles,
        "rated": data.rated,
        "tested": [] if table.pairs else list(data.tests),
        "measured": list(data.values),
        "ranked": list(data.ranks),
        "bounded": [one["title"] for one in data.bounds],
        "costs": [(data.names[cost[0]], *map(_brief, cost[1:])) for cost in data.costs],
        "trainings": [visible(name) for name in material.curves],
        "plan": [(visible(title), map(visible, sources)) for title, sources in material.plan],
        "facts": [(visible(name), visible(value)) for name, value in facts],
        "many_topics": any(len(qids) > 100 for qids in data.topics.values()),
        "pairs_tested": table.pairs,
        "equivalence": bool(table.comparison and table.comparison.testing.equivalence),
        "level": 100 * (1 - table.comparison.testing.alpha) if table.comparison else 95,
    }


def _table(table: ResultTable, data: ReportData | None = None) -> str:
    """The ``table`` element; with ``data`` for the page: sortable, ranked by the first measure."""
    first = data.rated[0] if data is not None and data.rated else None
    order = data.ranked(first) if data is not None and first is not None else []
    place = {id(table.rows[at]): number for number, at in enumerate(order)}
    lines = [
        f'<table class="results{" many" * (len(table.columns) > MANY)}"'
        f' data-decimals="{table.style.decimals}"'
        f"{'' if table.style.leading_zero else ' data-zero=no'}><thead>"
    ]
    ranks = data is not None
    if groups := table.groups():
        lines.append("<tr>" + "<td></td>" * (1 + ranks))
        lines += [
            f'<th class="group" scope="colgroup" colspan="{count}" data-span="{count}">'
            f"{escape(visible(name))}</th>"
            for name, count in groups
        ]
        lines.append("</tr>")
    lines.append("<tr>" + '<th class="rank" scope="col">#</th>' * ranks)
    lines.append(f'<th class="system" scope="col">{escape(table.head)}</th>')
    for at, column in enumerate(table.columns):
        text = "<wbr>".join(map(escape, joints(visible(column.title))))
        if data is None:
            lines.append(f'<th scope="col" title="{escape(column.measure)}">{text}</th>')
            continue
        sort = "none" if at != first else "descending" if column.higher_is_better else "ascending"
        lines.append(
            f'<th scope="col" aria-sort="{sort}" data-column="{at}"'
            f' data-title="{escape(data.titles[at])}"'
            f' data-higher="{"yes" if column.higher_is_better else "no"}"'
            f"{' data-sum=yes' * column.summed}>"
            f'<button type="button" title="Sort by {escape(column.measure)}">{text}</button></th>'
        )
    lines.append("</tr></thead>")
    for section, rows in table.sections():
        lines.append("<tbody>")
        if section:
            span = 1 + ranks + len(table.columns)
            title = f'<th scope="rowgroup" colspan="{span}">{escape(visible(section))}</th>'
            lines.append(f'<tr class="section">{title}</tr>')
        rows = sorted(rows, key=lambda row: place.get(id(row), len(place)))
        lines += [_row(table, row, number if ranks else 0) for number, row in enumerate(rows, 1)]
        lines.append("</tbody>")
    return "".join(lines) + "</table>"


def _row(table: ResultTable, row: Row, rank: int) -> str:
    name = f"<bdi>{escape(visible(row.title))}</bdi>"
    name += f" <sup>{row.letter}</sup>" if row.letter else ""
    is_base = row.system in table.references and not table.pairs
    name += ' <small class="tag">baseline</small>' if is_base else ""
    number = f'<td class="rank">{rank}</td>' if rank else ""
    cells = "".join(map(_cell, row.cells))
    return f'<tr{" class=baseline" * is_base}>{number}<th scope="row">{name}</th>{cells}</tr>\n'


def _cell(cell: Cell) -> str:
    text = escape(cell.text).replace("-", "−")
    text = f"<b>{text}</b>" if cell.best else text
    text += "".join(map(_mark, cell.marks))
    text += "".join(
        f'<span class="detail">{escape(line).replace("-", "−")}</span>' for line in cell.lines
    )
    value = "" if cell.mean is None else f' data-value="{cell.mean!r}"'
    return f"<td{value}>{text}</td>"


def _mark(mark: Mark) -> str:
    if mark.kind == "best":
        return _SIGNS["best"]
    return f'<sup class="{mark.kind}">{_SIGNS[mark.kind]}{mark.letters}</sup>'


def _notes(table: ResultTable) -> str:
    lines = (
        "".join(_mark(x) if isinstance(x, Mark) else escape(visible(x)) for x in note)
        for note in table.notes
    )
    return "".join(f"<p>{line}</p>" for line in lines)


def _flat(value: Any, *place: str) -> Iterator[tuple[str, str]]:
    """Path and value of every leaf; a list of mappings is told by their names."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, *place, str(key))
    elif isinstance(value, list | tuple) and value and all(isinstance(x, Mapping) for x in value):
        for item in value:
            rest = {key: part for key, part in item.items() if key != "name"}
            yield from _flat(rest, *place[:-1], str(item.get("name") or ""))
    elif value not in (None, "", [], ()):
        shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        yield " · ".join(filter(None, place)), shown


def _brief(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@cache
def _asset(name: str) -> str:
    return files("adducir.tables.report").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FunctionLoader

    return Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        loader=FunctionLoader(_asset),
    )
