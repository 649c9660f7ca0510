"""The page: the table and its notes in HTML, everything else drawn by the page's own script.

Its policy forbids loading anything; without scripts it shows the table, its notes and provenance.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar

from adducir.tables.formats import TableFormat
from adducir.tables.formats.names import joints
from adducir.tables.report.data import block, ranked, report_data, visible
from adducir.tables.report.headline import headline
from adducir.tables.table import SIGNS, ResultTable, Row

if TYPE_CHECKING:
    from jinja2 import Environment


class HTML(TableFormat):
    """A self-contained page: table, figures, topics and hits."""

    ending: ClassVar = ".html"
    topics: ClassVar = "always"

    def render(self, table: ResultTable) -> str:
        data, plan = report_data(table), table.material.plan
        testing = table.comparison.testing if table.comparison else None
        order = ranked(data, data["rated"][0]) if data["rated"] else []
        sections: dict[str, list[Row]] = {row.section: [] for row in table.rows}
        for at in dict.fromkeys([*order, *range(len(table.rows))]):
            sections[table.rows[at].section].append(table.rows[at])
        facts = list(_flat(table.provenance))
        if testing is not None:
            facts += _flat(testing.model_dump(exclude_defaults=True), "tests")
        parts = {
            "Table": "results",
            "Differences from the baseline": "differences" if data["tests"] else "",
            "All pairs": "pairs" if len(order) > 2 else "",
            "Rank intervals": "ranks" if data["ranks"] else "",
            "Topic by topic": "topics" if data["values"] else "",
            "Two systems": "compare" if data["values"] and len(table.rows) > 1 else "",
            "Hits of a topic": "hits" if data["hits"] else "",
            "Precision and recall": "recall" if data["recall"] else "",
            "Unjudged documents": "unjudged" if data["bounds"] else "",
            "Cost": "cost" if any(cost[1] for cost in data["costs"]) else "",
            "Training": "training" if data["curves"] else "",
            "Provenance": "provenance" if facts or plan else "",
        }
        return self_contained(
            "page",
            table=table,
            sections=sections,
            data=data,
            headline=headline(table, data),
            parts={name: title for title, name in parts.items() if name},
            facts=facts,
            plan=plan,
            testing=testing,
            block=block(data) if data["rated"] else "",
        )


def self_contained(name: str, **values: Any) -> str:
    """The page of a template and the script of its name, whose policy forbids loading anything."""
    style, script = _asset("page.css"), _asset(f"{name}.js")
    allowed = f"style-src {_digest(style)}; script-src {_digest(script)}"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    page = _environment().get_template(f"{name}.html.j2")
    return page.render(policy=policy, style=style, script=script, **values)


def fragment(table: ResultTable) -> str:
    """The table with title and notes, to embed in a notebook."""
    module: Any = _environment().get_template("table.html.j2").module
    return str(module.fragment(table))


def _flat(value: Any, *place: str) -> Iterator[tuple[str, str]]:
    """Path and value of every leaf; lists of mappings are keyed by name."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, *place, str(key))
    elif isinstance(value, list | tuple) and value and all(isinstance(x, Mapping) for x in value):
        for item in value:
            others = {key: part for key, part in item.items() if key != "name"}
            yield from _flat(others, *place[:-1], str(item.get("name") or ""))
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

    environment = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        loader=FunctionLoader(_asset),
    )
    environment.filters.update(visible=visible, joints=joints, brief=_brief)
    environment.globals["signs"] = SIGNS
    return environment
