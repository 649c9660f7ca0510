"""Options whose choices are the kinds of a family: our own, and those of installed packages."""

from typing import Any

import typer

from adducir.core.registry import Family
from adducir.core.texts import nearest


def kind_of(family: Family[Any]) -> dict[str, Any]:
    """What makes an option take the name of one of a family's kinds: ``typer.Option(**…)``."""
    names = tuple(family)

    def parsed(text: str) -> str:
        if text not in names:
            near = nearest(text, names)
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(names)}{near or '.'}")
        return text

    def completed(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return {"parser": parsed, "metavar": f"[{'|'.join(names)}]", "autocompletion": completed}
