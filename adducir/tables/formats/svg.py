"""Per-topic differences of two systems as a small bar chart in SVG.

The field's classical plot: one bar a topic, the difference to the baseline, greatest first. Colours
come from the page's style sheet (classes ``up``, ``down``, ``axis``; ``turned`` where up is bad),
so the chart follows the page into dark mode and onto paper.
"""

from collections.abc import Iterator, Sequence
from html import escape
from math import ceil

WIDTH, HEIGHT = 240, 110
LEFT, RIGHT, TOP, BOTTOM = 34, 4, 6, 6
MOST_BARS = 200
"""Beyond so many topics the bars become one outline without names."""


def reach(differences: Sequence[Sequence[float]]) -> float:
    """A common scale's end: the greatest difference of all charts, up to a tidy number.

    Returns:
        Above 0; 0.1 where there is no difference at all.
    """
    most = max((abs(value) for values in differences for value in values), default=0.0)
    if most == 0.0:
        return 0.1
    step = 0.1 if most <= 1 else 10.0 ** len(str(int(most))) / 20
    return ceil(round(most / step, 9)) * step


def difference_chart(
    qids: Sequence[str],
    system: Sequence[float],
    baseline: Sequence[float],
    end: float,
    title: str,
    *,
    higher_is_better: bool = True,
) -> str:
    """An ``svg`` element.

    Args:
        qids: Topics.
        system: The system's values, one per topic.
        baseline: The baseline's values, likewise.
        end: The scale goes from -end to end, in units of the measure.
        title: What the chart shows, for those who do not see it.
        higher_is_better: Whether a positive difference is good.
    """
    differences = [mine - theirs for mine, theirs in zip(system, baseline, strict=True)]
    order = sorted(range(len(qids)), key=lambda place: -differences[place])
    if len(qids) <= MOST_BARS:
        details = [
            f"{qids[at]}: {system[at]:.4g} − {baseline[at]:.4g} = {differences[at]:+.4g}"
            for at in order
        ]
        marks = _bars([differences[place] for place in order], details, end)
    else:
        marks = _outline([differences[place] for place in order], end)
    turned = "" if higher_is_better else ' class="turned"'
    return (
        f'<svg{turned} viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"{''.join(_axis(end))}{''.join(marks)}</svg>"
    )


def _y(value: float, end: float) -> float:
    """Vertical place of a difference, in units of the view box, from the top."""
    middle = TOP + (HEIGHT - TOP - BOTTOM) / 2
    return round(middle - value / end * (HEIGHT - TOP - BOTTOM) / 2, 2)


def _axis(end: float) -> Iterator[str]:
    for value in (end, 0.0, -end):
        y = _y(value, end)
        kind = "axis" if value == 0 else "grid"
        yield f'<line class="{kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
        sign = "+" if value > 0 else "−" if value < 0 else ""
        yield f'<text x="{LEFT - 4}" y="{y}">{sign}{abs(value):g}</text>'


def _bars(ordered: Sequence[float], details: Sequence[str], end: float) -> Iterator[str]:
    """One bar a topic, with topic and values as its tooltip; no difference leaves a short tick."""
    slot = (WIDTH - LEFT - RIGHT) / max(1, len(ordered))
    width = round(max(slot * 0.8, 0.5), 3)
    for rank, (value, tip) in enumerate(zip(ordered, details, strict=True)):
        top, foot = sorted((_y(value, end), _y(0.0, end)))
        kind = "up" if value > 0 else "down" if value < 0 else "axis"
        x = round(LEFT + rank * slot + slot * 0.1, 2)
        yield (
            f'<rect class="{kind}" x="{x}" y="{top}" width="{width}" '
            f'height="{max(foot - top, 0.5):.2f}"><title>{escape(tip)}</title></rect>'
        )


def _outline(ordered: Sequence[float], end: float) -> Iterator[str]:
    """One area above and one below the axis."""
    slot = (WIDTH - LEFT - RIGHT) / len(ordered)
    for kind, values in (
        ("up", [max(value, 0.0) for value in ordered]),
        ("down", [min(value, 0.0) for value in ordered]),
    ):
        points = [
            f"{LEFT + edge * slot:.2f},{_y(value, end)}"
            for rank, value in enumerate(values)
            for edge in (rank, rank + 1)
        ]
        base = _y(0.0, end)
        yield (
            f'<polygon class="{kind}" points="{LEFT},{base} {" ".join(points)} '
            f'{WIDTH - RIGHT},{base}"/>'
        )
