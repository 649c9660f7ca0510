"""Interpolated precision at eleven levels of recall, the mean over topics."""

from adducir.tables.report.drawing import CHARACTER, dot, figure, label, line, path, shown
from adducir.tables.report.frame import framed
from adducir.tables.report.view import Section, View

SIDE, LEFT, TOP = 340, 46, 12
MOST = 8
"""Curves in a figure: the best systems by the first measure, and the baseline."""
ROLES = ("curve", "curve2 dashed", "curve3 dotted", "curve4 dashdot")
"""Of four curves; the next four have larger dots."""


def section(view: View) -> Section | None:
    """A figure for each topic set."""
    drawn: list[str] = []
    for name, topics in view.material.topics.items():
        place = next((at for at in view.rated if view.column(at).group == name), None)
        if not topics.precision or place is None:
            continue
        rows = [at for at in view.ranked(place) if view.table.rows[at].system in topics.precision]
        chosen = rows[:MOST]
        if view.base is not None and view.base in rows and view.base not in chosen:
            chosen[-1] = view.base
        curves = {at: topics.precision[view.table.rows[at].system] for at in chosen}
        caption = f"{name}: precision and recall" if name else "Precision and recall"
        drawn.append(framed(_plot(view, name, curves), caption))
    if not drawn:
        return None
    lead = (
        "The highest precision at or beyond each of eleven levels of recall (trec_eval's "
        "iprec_at_recall), the mean over topics"
    )
    lead += f"; the {MOST} best systems." if len(view.table.rows) > MOST else "."
    body = f'<div class="plots">{"".join(drawn)}</div>'
    return Section("recall", "Precision and recall", lead, body)


def _plot(view: View, name: str, curves: dict[int, tuple[float, ...]]) -> str:
    def x(recall: float) -> float:
        return LEFT + recall * SIDE

    def y(precision: float) -> float:
        return TOP + SIDE - precision * SIDE

    marks = []
    for level in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        marks.append(line(x(level), TOP, x(level), TOP + SIDE, "grid"))
        marks.append(line(LEFT, y(level), LEFT + SIDE, y(level), "grid"))
        marks.append(label(x(level), TOP + SIDE + 12, shown(level), "tick", "middle"))
        marks.append(label(LEFT - 6, y(level), shown(level), "tick", "end"))
    for number, (at, curve) in enumerate(curves.items()):
        role, radius = ROLES[number % len(ROLES)], 2 + 2 * (number // len(ROLES))
        points = [(x(place / 10), y(value)) for place, value in enumerate(curve)]
        marks.append(path(points, role))
        marks += [
            dot(
                left, top, radius, "none", f"{view.names[at]}: {value:.4g} at recall {place / 10:g}"
            )
            for place, ((left, top), value) in enumerate(zip(points, curve, strict=True))
        ]
        across, down = LEFT + SIDE + 16, TOP + 10 + 20 * number
        marks.append(path([(across, down), (across + 34, down)], role))
        marks.append(dot(across + 17, down, radius, "none"))
        marks.append(label(across + 40, down, view.names[at]))
    marks.append(label(LEFT + SIDE / 2, TOP + SIDE + 30, "recall", "tick", "middle"))
    marks.append(label(10, TOP + SIDE / 2, "precision", "tick", "middle", -90))
    longest = max((len(view.names[at]) for at in curves), default=0)
    width = LEFT + SIDE + 62 + CHARACTER * longest
    order = list(view.material.topics).index(name)
    caption = f"Interpolated precision at eleven levels of recall, {len(curves)} systems"
    return figure(f"recall-{order}", width, TOP + SIDE + 42, caption, marks)
