"""How far unjudged documents could move a score: rank-biased precision and its residual.

Moffat and Zobel (TOIS 2008); see :mod:`adducir.evaluation.unjudged`.
"""

from adducir.tables.report.drawing import box, dot
from adducir.tables.report.frame import framed
from adducir.tables.report.rows import OPEN, Rows
from adducir.tables.report.view import Section, View


def section(view: View) -> Section | None:
    """A figure for each topic set."""
    drawn = []
    for number, (name, topics) in enumerate(view.material.topics.items()):
        ranges = {
            at: topics.bounds[row.system]
            for at, row in enumerate(view.table.rows)
            if row.system in topics.bounds
        }
        if ranges:
            caption = f"{name}: RBP (p = 0.8)" if name else "RBP (p = 0.8)"
            fold = len(ranges) > OPEN
            drawn.append(framed(_plot(view, number, ranges), caption, fold=fold))
    if not drawn:
        return None
    lead = (
        "From rank-biased precision with every unjudged document not relevant (the dot) to that "
        "with all of them relevant, those beyond the run included: the residual. Systems whose "
        "ranges do not meet keep their order whatever the judgements would be."
    )
    return Section("unjudged", "Unjudged documents", lead, "".join(drawn))


def _plot(view: View, number: int, ranges: dict[int, tuple[float, float]]) -> str:
    rows = sorted(ranges, key=lambda at: -ranges[at][0])
    lines = Rows([view.names[at] for at in rows], (0.0, 1.0))
    marks, texts = [], []
    for place, at in enumerate(rows):
        y, (low, high) = lines.y(place), ranges[at]
        tip = f"{view.names[at]}: {low:.3f} to {high:.3f}"
        marks.append(box(lines.x(low), y - 5, lines.x(high) - lines.x(low), 10, "up-pale", tip))
        marks.append(dot(lines.x(low), y, 4.5, "better", tip))
        texts.append(f"{view.number(low)} to {view.number(high)}")
    caption = f"Rank-biased precision of {len(rows)} systems, and its residual"
    return lines.figure(f"unjudged-{number}", caption, marks, texts=texts, room=120)
