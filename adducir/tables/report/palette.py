"""Colours and strokes of the figures, by the role of a mark.

One table serves the page's style sheet (as CSS variables, light and dark) and the files of single
figures, whose marks carry their light colours as attributes. Blue is better and orange worse: the
two differ for every kind of colour vision, and no figure tells by colour alone.
"""

from collections.abc import Iterator

COLOURS: dict[str, tuple[str, str]] = {
    "ink": ("#1c2024", "#e8eaed"),
    "soft": ("#565d66", "#a9b0b8"),
    "line": ("#d8dce1", "#3b4149"),
    "paper": ("#ffffff", "#15181c"),
    "tint": ("#f3f5f7", "#1f242a"),
    "good": ("#0b5cad", "#6cb2f5"),
    "bad": ("#b3470a", "#f39a5c"),
    "same": ("#0f7268", "#56c2b4"),
    "band": ("#d9efec", "#173b38"),
    "good-pale": ("#d5e6f7", "#163250"),
    "bad-pale": ("#fbe0cd", "#4a2611"),
    "mark": ("#7b4fb5", "#bd9bf0"),
}
"""Name, light, dark. Texts on paper and tint have a contrast of 4.5 or more in both."""

HEAT = (
    ("#f2f6fa", "#1b222b"),
    ("#dde9f4", "#1d2f42"),
    ("#c3d9ed", "#1f3d5b"),
    ("#a3c5e3", "#234d74"),
    ("#7eadd7", "#2b608f"),
    ("#5893c8", "#3876ab"),
    ("#3878b4", "#5090c6"),
    ("#1f5c99", "#76aedd"),
    ("#0f4177", "#a5cdf0"),
)
"""The steps from the lowest value to the highest, light and dark."""

ROLES: dict[str, dict[str, str]] = {
    "axis": {"stroke": "ink", "stroke-width": "1", "fill": "none"},
    "grid": {"stroke": "line", "stroke-width": "1", "fill": "none"},
    "name": {"fill": "ink", "font-size": "12"},
    "tick": {"fill": "soft", "font-size": "11"},
    "on": {"fill": "paper", "font-size": "11"},
    "better": {"fill": "good", "stroke": "good", "stroke-width": "1.6"},
    "worse": {"fill": "bad", "stroke": "bad", "stroke-width": "1.6"},
    "none": {"fill": "paper", "stroke": "soft", "stroke-width": "1.6"},
    "whisker": {"stroke": "soft", "stroke-width": "1.4", "fill": "none"},
    "band": {"fill": "band", "stroke": "none"},
    "up": {"fill": "good", "stroke": "none"},
    "down": {"fill": "bad", "stroke": "none"},
    "up-pale": {"fill": "good-pale", "stroke": "none"},
    "down-pale": {"fill": "bad-pale", "stroke": "none"},
    "step": {"fill": "tint", "stroke": "soft", "stroke-width": "1"},
    "blank": {"fill": "tint", "stroke": "none"},
    "box": {"fill": "good-pale", "stroke": "good", "stroke-width": "1.2"},
    "ring": {"fill": "none", "stroke": "mark", "stroke-width": "1.6"},
    "thick": {"stroke": "good", "stroke-width": "5", "fill": "none"},
    "median": {"stroke": "good", "stroke-width": "2.2", "fill": "none"},
    "point": {"fill": "good", "stroke": "paper", "stroke-width": "1"},
    "other": {"fill": "mark", "stroke": "paper", "stroke-width": "1"},
    "front": {"stroke": "mark", "stroke-width": "1.4", "fill": "none"},
    "curve": {"stroke": "good", "stroke-width": "1.8", "fill": "none"},
    "curve2": {"stroke": "bad", "stroke-width": "1.8", "fill": "none"},
    "curve3": {"stroke": "same", "stroke-width": "1.8", "fill": "none"},
    "curve4": {"stroke": "mark", "stroke-width": "1.8", "fill": "none"},
    "dashed": {"stroke-dasharray": "6 4"},
    "dotted": {"stroke-dasharray": "2 3"},
    "dashdot": {"stroke-dasharray": "8 3 2 3"},
    "equal-ring": {"stroke": "same", "stroke-width": "1.6", "fill": "none"},
    "join": {"stroke": "soft", "stroke-width": "1", "fill": "none"},
    "join-up": {"stroke": "good", "stroke-width": "1.6", "fill": "none"},
    "join-down": {"stroke": "bad", "stroke-width": "1.6", "fill": "none"},
    **{f"heat{step}": {"fill": f"heat-{step}", "stroke": "none"} for step in range(len(HEAT))},
}
"""What a mark of a class looks like; colours are named."""


def colours() -> dict[str, tuple[str, str]]:
    """All colours, light and dark."""
    return COLOURS | {f"heat-{step}": pair for step, pair in enumerate(HEAT)}


def light(role: str) -> dict[str, str]:
    """The attributes of a class in light colours, for a figure by itself."""
    known = colours()
    return {
        name: known[value][0] if value in known else value
        for name, value in ROLES.get(role, {}).items()
    }


def style_sheet() -> str:
    """Variables and classes for the page."""
    return "\n".join([*_variables(), *_classes()])


def _variables() -> Iterator[str]:
    for place, query in ((0, ""), (1, "@media screen and (prefers-color-scheme: dark)")):
        listed = " ".join(f"--{name}: {pair[place]};" for name, pair in colours().items())
        rule = f":root {{ {listed} }}"
        yield f"{query} {{ {rule} }}" if query else rule


def _classes() -> Iterator[str]:
    known = colours()
    for role, attributes in ROLES.items():
        rules = [
            f"{name}: {f'var(--{value})' if value in known else value}"
            + ("px" if name == "font-size" else "")
            for name, value in attributes.items()
        ]
        yield f"svg .{role} {{ {'; '.join(rules)} }}"
