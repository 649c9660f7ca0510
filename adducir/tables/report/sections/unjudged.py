"""How far unjudged documents could move means: the least and the greatest over all their grades.

See :mod:`adducir.evaluation.unjudged`. Rank-biased precision and its residual (Moffat and Zobel,
TOIS 2008) are always among the figures.
"""

from collections.abc import Mapping, Sequence

from adducir.tables.report.drawing import box, dot, label
from adducir.tables.report.frame import framed
from adducir.tables.report.rows import OPEN, TOP, Rows
from adducir.tables.report.view import Section, View

MOST = 30
"""Orders of more systems are counted, not drawn."""
TIPPED = 12
"""Of so many systems each mark tells which two it is of."""
CELL = 18
Ends = tuple[float, float, float]


def section(view: View) -> Section | None:
    """A figure for each topic set and measure; all but a topic set's first are folded."""
    drawn: list[str] = []
    for name, topics in view.material.topics.items():
        for number, (measure, by_system) in enumerate(topics.bounds.items()):
            ends = {
                at: by_system[row.system]
                for at, row in enumerate(view.table.rows)
                if row.system in by_system
            }
            title = _title(view, name, measure)
            plot = _plot(view, f"unjudged-{len(drawn)}", ends, title)
            drawn.append(framed(plot, title, fold=len(ends) > OPEN or number > 0))
    if not drawn:
        return None
    lead = (
        "The dot: a system's mean with every unjudged document not relevant. The bar: from the "
        "least to the greatest mean over all grades that the unjudged documents among those that "
        "count could have; of RBP (p = 0.8 where not named) those beyond the run besides. "
    )
    if len(view.table.rows) > 1:
        lead += (
            "On the right, a filled mark: the system of the line keeps its place above the "
            "numbered one whatever these grades are (their bars do not meet). An open one: that is "
            "not sure. "
        )
    if view.table.comparison and view.table.comparison.runs:
        lead += "Of a system with several runs, those of its first. "
    return Section("unjudged", "Unjudged documents", lead.rstrip(), "".join(drawn))


def _title(view: View, group: str, measure: str) -> str:
    """As the table names it, with the topic set; a measure that it lacks by its own name."""
    for place, column in enumerate(view.table.columns):
        if (column.group, column.measure) == (group, measure):
            return view.title(place)
    return f"{group}: {measure}" if group else measure


def _plot(view: View, name: str, ends: Mapping[int, Ends], title: str) -> str:
    rows = sorted(ends, key=lambda at: (-ends[at][1], at))
    names = [view.names[at] for at in rows]
    ordered = [ends[at] for at in rows]
    numbered = 1 < len(rows) <= MOST
    lines = Rows(
        [f"{place}. {one}" for place, one in enumerate(names, 1)] if numbered else names,
        (0.0, 1.0),
        width=360,
    )
    marks, texts = [], []
    for place, (low, value, high) in enumerate(ordered):
        y = lines.y(place)
        tip = f"{names[place]}: {value:.3f}, {low:.3f} to {high:.3f}"
        marks.append(box(lines.x(low), y - 5, lines.x(high) - lines.x(low), 10, "up-pale", tip))
        marks.append(dot(lines.x(value), y, 4.5, "better", tip))
        text = f"{view.number(value)} [{view.number(low)}, {view.number(high)}]"
        if len(rows) > MOST:
            text += f" above {sum(low > other[2] for other in ordered)}"
        texts.append(text)
    room = 170.0 + 60 * (len(rows) > MOST)
    if numbered:
        marks += _orders(lines, lines.right + room, names, ordered)
        room += CELL * len(rows)
    systems = f"{len(rows)} system{'s' * (len(rows) != 1)}"
    caption = f"Bounds of {title} from unjudged documents: {systems}"
    return lines.figure(name, caption, marks, texts=texts, room=room)


def _orders(lines: Rows, left: float, names: Sequence[str], ends: Sequence[Ends]) -> list[str]:
    """A mark for each two systems, in the line of the better: filled where the order is sure."""
    marks = []
    for below in range(1, len(names)):
        x = left + CELL * (below - 0.5)
        marks.append(label(x, lines.bottom + TOP + 4, str(below + 1), "tick", "middle"))
        for above in range(below):
            sure = ends[above][0] > ends[below][2]
            tip = f"{names[above]} above {names[below]}: {'sure' if sure else 'not sure'}"
            role, told = "better" if sure else "none", tip * (len(names) <= TIPPED)
            marks.append(dot(x, lines.y(above), 4, role, told))
    return marks
