"""The tables of settings in docs/recipes.md, made from the classes: ``python docs/settings.py``."""

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic.fields import FieldInfo

from adducir.core.meanings import meaning
from adducir.core.recipe import Recipe
from adducir.families import cell, family, markdown

PAGE = Path(__file__).with_name("recipes.md")
_TABLE = re.compile(r"(?<=<!-- settings: )(\w+)( -->\n).*?(?=\n<!-- end -->)", re.DOTALL)


def settings_table(kinds: Mapping[str, type[Recipe]]) -> str:
    """All settings of some kinds, a row each, as a Markdown table."""
    rows = dict[str, str]()
    for kind in kinds.values():
        for key, field in kind.model_fields.items():
            if key in rows or field.exclude:
                continue
            holders = {
                name: kind.model_fields[key]
                for name, kind in kinds.items()
                if key in kind.model_fields
            }
            only = f" ({', '.join(f'`{name}`' for name in holders)})"
            others = "".join(
                f"; of `{name}` {_default(other)} by default"
                for name, other in holders.items()
                if other.default != field.default
            )
            text = markdown(cell(meaning(kind, key))).rstrip(".") + others
            only = only if len(holders) < len(kinds) else ""
            rows[key] = f"| `{key}` | {_default(field)} | {text}{only} |"
    return "\n".join(["| Key | Default | Meaning |", "| --- | --- | --- |", *rows.values()])


def _default(field: FieldInfo) -> str:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    if field.is_required():
        return "required"
    if shown := extra.get("shown"):
        return str(shown)
    if not isinstance(default := field.default, str | int | float) or default == "":
        return "none"
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, float) else str(default)


def with_tables(text: str) -> str:
    """A page with its tables made anew."""

    def table(match: re.Match[str]) -> str:
        return f"{match[1]}{match[2]}{settings_table(family(match[1]).kinds())}"

    return _TABLE.sub(table, text)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
