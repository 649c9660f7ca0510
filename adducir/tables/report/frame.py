"""A figure with its caption, in a box that scrolls where the screen is narrower."""

from collections.abc import Callable
from html import escape

from adducir.tables.report.view import View


def framed(drawn: str, caption: str, *, fold: bool = False, tools: str = "") -> str:
    """The ``figure`` element.

    Args:
        drawn: The ``svg`` element, or other HTML.
        caption: What stands above it, as plain text.
        fold: Whether it is closed at first.
        tools: HTML of controls between caption and drawing.
    """
    title = escape(caption)
    whole = (
        f"<figure><figcaption>{title}</figcaption>{tools}"
        f'<div class="scroll" tabindex="0" role="group" aria-label="{title}">{drawn}</div>'
        "</figure>"
    )
    return f"<details><summary>{title}</summary>{whole}</details>" if fold else whole


def for_each_measure(view: View, draw: Callable[[int], str], *, fold: bool = False) -> str:
    """The figure of each measure with values; all but the first are closed.

    Args:
        view: The table.
        draw: From a column's place its ``svg`` element, or nothing.
        fold: Whether the first is closed too.
    """
    drawn: list[str] = []
    for place in view.with_values:
        if plot := draw(place):
            drawn.append(framed(plot, view.title(place), fold=fold or bool(drawn)))
    return "".join(drawn)
