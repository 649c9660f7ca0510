"""Names and values, nested as they come, as tables of the HTML page."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any


def mapping(title: str, facts: Mapping[str, Any]) -> Iterator[str]:
    """A heading and a table of names and values; nothing for an empty mapping.

    Nested names are joined by dots. A list of mappings, each with its ``name``, becomes a part of
    the table for each.
    """
    lines = list(_flat(facts))
    if lines:
        rows = "".join(
            f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>\n'
            for name, value in lines
        )
        yield f'<h2>{escape(title)}</h2><table class="facts"><tbody>{rows}</tbody></table>'


def _flat(value: Any, *path: str) -> Iterator[tuple[str, str]]:
    """Path and value of every leaf; empty ones are left out."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, *path, str(key))
    elif isinstance(value, (list, tuple)) and all(isinstance(item, Mapping) for item in value):
        for item in value:
            rest = {key: part for key, part in item.items() if key != "name"}
            yield from _flat(rest, *path[:-1], str(item.get("name") or ""))
    elif isinstance(value, (list, tuple)):
        yield " · ".join(filter(None, path)), ", ".join(map(str, value))
    elif value is not None and value != "":
        yield " · ".join(filter(None, path)), str(value)
