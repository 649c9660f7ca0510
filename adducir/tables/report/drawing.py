"""What figures are made of: SVG marks with a class for their role, scales with tidy ticks.

Marks carry no colour of their own: the page's style sheet gives it by class
(:mod:`~adducir.tables.report.palette`), light, dark or for print.
"""

from collections.abc import Sequence
from html import escape
from math import ceil, floor, isfinite, log10

CHARACTER = 7.1
"""Width of a character of 12 pixels, on average and rather too much."""


def place(value: float) -> str:
    """A coordinate with a tenth of a pixel."""
    return f"{round(value, 1):g}"


def line(x1: float, y1: float, x2: float, y2: float, role: str = "axis") -> str:
    """A straight line."""
    ends = f'x1="{place(x1)}" y1="{place(y1)}" x2="{place(x2)}" y2="{place(y2)}"'
    return f'<line class="{role}" {ends}/>'


def box(x: float, y: float, width: float, height: float, role: str, title: str = "") -> str:
    """A rectangle; one with a title shows it to whoever points at it."""
    where = f'x="{place(x)}" y="{place(y)}"'
    size = f'width="{place(max(width, 0))}" height="{place(max(height, 0))}"'
    return _titled("rect", f'class="{role}" {where} {size}', title)


def dot(x: float, y: float, radius: float, role: str, title: str = "") -> str:
    """A circle."""
    where = f'cx="{place(x)}" cy="{place(y)}" r="{place(radius)}"'
    return _titled("circle", f'class="{role}" {where}', title)


def path(points: Sequence[tuple[float, float]], role: str, *, closed: bool = False) -> str:
    """Straight lines from point to point."""
    steps = "L".join(f"{place(x)} {place(y)}" for x, y in points)
    return f'<path class="{role}" d="M{steps}{"Z" if closed else ""}"/>' if points else ""


def label(
    x: float, y: float, text: str, role: str = "tick", anchor: str = "start", turn: float = 0
) -> str:
    """A line of text with its middle at ``y``; ``turn`` in degrees round its beginning."""
    turned = f' transform="rotate({turn:g} {place(x)} {place(y)})"' if turn else ""
    return (
        f'<text class="{role}" x="{place(x)}" y="{place(y)}" text-anchor="{anchor}" '
        f'dy=".35em"{turned}>{escape(text)}</text>'
    )


def figure(name: str, width: float, height: float, title: str, marks: Sequence[str]) -> str:
    """An ``svg`` element.

    Args:
        name: Its id, by which it is exported.
        width: In pixels, at which it is drawn where there is room.
        height: In pixels.
        title: What it shows, for those who do not see it.
        marks: What is in it.
    """
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return (
        f'<svg class="fig" id="{escape(name)}" {size} role="img" aria-label="{escape(title)}">'
        f"{''.join(marks)}</svg>"
    )


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Tidy numbers from ``low`` to ``high``: steps of 1, 2 or 5 times a power of ten."""
    span = high - low
    if not (isfinite(span) and span > 0):
        return [low]
    raw = span / max(1, most - 1)
    power = 10.0 ** floor(log10(raw))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= raw * (1 - 1e-9))
    first = ceil(low / step - 1e-9)
    return [number * step for number in range(first, floor(high / step + 1e-9) + 1)]


def shown(value: float, signed: bool = False) -> str:
    """A tick's number, with a true minus sign."""
    text = f"{round(value, 10):{'+' if signed and value else ''}g}"
    return ("0" if text in ("-0", "+0") else text).replace("-", "−")


def shortened(text: str, most: int) -> str:
    """A name that fits, with an ellipsis where it was cut."""
    return text if len(text) <= most else f"{text[: max(1, most - 1)]}…"


def room_for(names: Sequence[str], most: int) -> float:
    """The pixels that the longest name takes, cut at ``most`` characters.

    Short names of capitals and digits, such as BM25, are wider than characters are on average.
    """
    return max((_width(shortened(name, most)) for name in names), default=0.0)


def _width(text: str) -> float:
    wide = sum(one.isupper() or one.isdigit() for one in text) + text.count("M") + text.count("W")
    return max(CHARACTER * len(text), 6.4 * len(text) + 2.3 * wide)


def _titled(tag: str, attributes: str, title: str) -> str:
    if not title:
        return f"<{tag} {attributes}/>"
    return f"<{tag} {attributes}><title>{escape(title)}</title></{tag}>"


def printed_p(p: float) -> str:
    """``p = 0.0123``, or ``p < .001``: no p-value is printed as 0."""
    return "p < .001" if p < 0.001 else f"p = {p:.3g}"
