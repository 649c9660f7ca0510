"""A figure with its caption, in a box that scrolls where the screen is narrower."""

from html import escape


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
