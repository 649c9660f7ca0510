"""How the figures were made: the resolved file, digests, versions, the plan's graph; folded."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from adducir.tables.report.drawing import box, figure, label, path, room_for, shortened
from adducir.tables.report.frame import framed
from adducir.tables.report.view import Section, View

NAME = 34
HIGH, GAP, ASIDE = 30, 10, 60
MOST = 200
"""The graph of a plan of more steps is not drawn."""


def section(view: View) -> Section | None:
    """Tables of names and values, and the graph of the plan's steps."""
    table, tested = view.table, dict[str, Any](view.table.facts)
    if table.comparison is not None:
        tested |= table.comparison.testing.model_dump()
    parts = [_mapping("How it was made", table.provenance), _mapping("Tests", tested)]
    if 1 < len(view.material.plan) <= MOST:
        caption = "The steps of the plan, each after what it is made from"
        parts.insert(0, framed(graph(view.material.plan), caption))
    body = "".join(parts)
    lead = "The settings, digests and versions behind every figure of this page."
    return Section("provenance", "Provenance", lead, body, folded=True) if body else None


def _mapping(title: str, facts: Mapping[str, Any]) -> str:
    """A heading and a table of names and values; nothing for an empty mapping.

    Nested names are joined by dots. A list of mappings, each with its ``name``, becomes a part of
    the table for each.
    """
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>\n'
        for name, value in _flat(facts)
    )
    if not rows:
        return ""
    return f'<h3>{escape(title)}</h3><table class="facts"><tbody>{rows}</tbody></table>'


def _flat(value: Any, *place: str) -> Iterator[tuple[str, str]]:
    """Path and value of every leaf; empty ones are left out."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, *place, str(key))
    elif isinstance(value, (list, tuple)) and all(isinstance(item, Mapping) for item in value):
        for item in value:
            rest = {key: part for key, part in item.items() if key != "name"}
            yield from _flat(rest, *place[:-1], str(item.get("name") or ""))
    elif isinstance(value, (list, tuple)):
        yield " · ".join(filter(None, place)), ", ".join(map(str, value))
    elif value is not None and value != "":
        yield " · ".join(filter(None, place)), str(value)


def graph(plan: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    """The steps in columns, each to the right of what it is made from."""
    inputs = dict(plan)
    levels: dict[str, int] = {}
    for name, sources in plan:  # each after its inputs
        levels[name] = 1 + max((levels[one] for one in sources if one in levels), default=-1)
    columns: dict[int, list[str]] = {}
    for name, level in levels.items():
        columns.setdefault(level, []).append(name)
    places: dict[str, tuple[float, float, float]] = {}
    x = 4.0
    for _, names in sorted(columns.items()):
        width = room_for(names, NAME) + 20
        for row, name in enumerate(names):
            places[name] = x, 4.0 + (HIGH + GAP) * row, width
        x += width + ASIDE
    marks = [
        path(_edge(places[source], places[name]), "whisker")
        for name, sources in inputs.items()
        for source in sources
        if source in places
    ]
    for name, (left, top, width) in places.items():
        marks.append(box(left, top, width, HIGH, "step", name))
        marks.append(label(left + 10, top + HIGH / 2, shortened(name, NAME), "name"))
    tall = max(top for _, top, _ in places.values()) + HIGH + 4
    caption = f"The plan: {len(places)} steps"
    return figure("plan", x - ASIDE + 4, tall, caption, marks)


def _edge(
    source: tuple[float, float, float], target: tuple[float, float, float]
) -> list[tuple[float, float]]:
    start, end = (source[0] + source[2], source[1] + HIGH / 2), (target[0], target[1] + HIGH / 2)
    return [start, (start[0] + ASIDE / 4, start[1]), (end[0] - ASIDE / 4, end[1]), end]
