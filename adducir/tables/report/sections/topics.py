"""The heat map of topics and systems, the hardest topics first."""

import numpy as np

from adducir.tables.report.drawing import box, figure, label, room_for, shortened
from adducir.tables.report.frame import framed
from adducir.tables.report.palette import HEAT
from adducir.tables.report.templates import filled
from adducir.tables.report.view import Floats, Section, View

MOST = 100
"""Topics that are drawn: of more, half of them the hardest, half those with the widest spread."""
MOST_SYSTEMS = 200
QUERY, NAME = 56, 22
ROW = 18


def section(view: View) -> Section | None:
    """The map of the first measure; the script draws the others."""
    if not view.with_values:
        return None
    place = view.with_values[0]
    topics = len(view.topics(place))
    lead = (
        "One row per topic, the hardest first (by the mean over all systems), one column per "
        "system; the stronger the colour, the higher the value."
    )
    if topics > MOST:
        lead += (
            f" Of {topics:,} topics, {MOST} are drawn: the {MOST // 2} hardest, and the "
            f"{MOST // 2} of the others on which systems differ most."
        )
    drawn = framed(heat_map(view, place), view.title(place), tools=tools(view, "heat"))
    return Section("topics", "Topic by topic", lead, drawn)


def tools(view: View, name: str) -> str:
    """A choice of the measure, for the script."""
    return filled(
        "measure_tools", name=name, measures=[(at, view.title(at)) for at in view.with_values]
    )


def drawn_topics(values: Floats, higher: bool) -> list[int]:
    """The topics to draw of (S, T) values, the hardest first."""
    mean = values.mean(axis=0)
    order = np.argsort(mean if higher else -mean, kind="stable")
    if len(order) <= MOST:
        return [int(at) for at in order]
    hardest = set(order[: MOST // 2].tolist())
    spread = np.argsort(-(values.max(axis=0) - values.min(axis=0)), kind="stable")
    others = [at for at in spread.tolist() if at not in hardest][: MOST - len(hardest)]
    return [int(at) for at in order if at in hardest or at in set(others)]


def limits(values: Floats) -> tuple[float, float]:
    """The ends of the colours' scale."""
    return min(0.0, float(values.min())), max(1.0, float(values.max()))


def steps(values: Floats) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    """The colour of each value: equal steps from 0 (or the lowest) to 1 (or the highest)."""
    low, high = limits(values)
    return np.minimum((values - low) / (high - low) * len(HEAT), len(HEAT) - 1).astype(np.int64)


def heat_map(view: View, place: int) -> str:
    """The ``svg`` element: one path for each colour."""
    column, found, qids = view.column(place), view.values(place), view.topics(place)
    rows = [at for at in range(len(view.table.rows)) if at in found][:MOST_SYSTEMS]
    values = np.array([found[at] for at in rows])
    shown = drawn_topics(values, column.higher_is_better)
    hits = view.material.topics.get(column.group)
    queries = hits.queries if hits else {}
    texts = [f"{qids[at]}  {queries.get(qids[at], '')}".strip() for at in shown]
    wide = 52 if len(rows) <= 8 else 26 if len(rows) <= 30 else 12
    turn = -60 if wide > 12 else -90  # upright where slanting names would touch
    left = room_for(texts, QUERY) * 0.92 + 14
    names = [view.names[at] for at in rows]
    top = min(room_for(names, NAME) * 0.95 + 22, 170)
    cells: dict[int, list[str]] = {}
    colours = steps(values)
    for line, at in enumerate(shown):
        for across in range(len(rows)):
            x, y = left + wide * across, top + ROW * line
            cells.setdefault(int(colours[across, at]), []).append(
                f"M{x:g} {y:g}h{wide - 1}v{ROW - 1}h{1 - wide}z"
            )
    marks = [
        f'<path class="heat{step}" d="{"".join(many)}"/>' for step, many in sorted(cells.items())
    ]
    for line, text in enumerate(texts):
        marks.append(
            label(left - 8, top + ROW * (line + 0.5), shortened(text, QUERY), "tick", "end")
        )
    for across, name in enumerate(names):
        x = left + wide * (across + 0.5)
        marks.append(label(x, top - 8, shortened(name, NAME), "tick", "start", turn))
    foot = top + ROW * len(shown) + 20
    low, high = limits(values)
    marks += [box(left + 14 * at, foot - 5, 14, 10, f"heat{at}") for at in range(len(HEAT))]
    marks.append(label(left - 6, foot, f"{low:.4g}", anchor="end"))
    marks.append(label(left + 14 * len(HEAT) + 6, foot, f"{high:.4g}"))
    width = left + wide * len(rows) + 90
    counts = ((len(shown), "topic"), (len(rows), "system"))
    sizes = " and ".join(f"{count} {what}{'s' * (count != 1)}" for count, what in counts)
    caption = f"Heat map of {sizes} on {view.title(place)}"
    return figure("topics-map", round(width), round(foot + 14), caption, marks)
