"""Rank intervals (:mod:`adducir.statistics.ranking`), and the table's set of best systems."""

import numpy as np

from adducir.statistics.ranking import ranking
from adducir.tables.report.drawing import dot, line, printed_p
from adducir.tables.report.frame import framed
from adducir.tables.report.rows import OPEN, Rows, rank_ticks
from adducir.tables.report.view import Section, View

SAMPLES = 2_000
MOST = 300
"""Ranks of more systems, or over more topics than :data:`MOST_TOPICS`, are not computed here."""
MOST_TOPICS = 20_000


def section(view: View) -> Section | None:
    """A figure for each measure, or one for each of its sections that are tested by themselves.

    Those of all measures but the first are folded.
    """
    fold, drawn = len(view.table.rows) > OPEN, ""
    for place in view.with_values:
        folded = fold or bool(drawn)
        for number, part in enumerate(view.compared(place)):
            if plot := _plot(view, place, part, f"ranks-{place}" + f"-{number}" * bool(part)):
                drawn += framed(plot, _title(view, place, part), fold=folded)
    if not drawn:
        return None
    asked = any(cell.p_best is not None for _, _, cell in view.table.cells())
    lead = (
        "Thick: the bootstrap interval of a system's rank. Thin: the interval that holds for all "
        f"systems at once. {SAMPLES:,} samples of topics; computed for this picture, beside the "
        "planned tests."
        + " Filled: systems in the table's model confidence set, which may be the best; p: the "
        "least alpha at which another has left the set."
        * asked
        + " Each section is tested, and ranked, by itself." * view.table.stacked
    )
    return Section("ranks", "Rank intervals", lead, drawn)


def _title(view: View, place: int, section: str) -> str:
    return view.title(place) + f" · {section}" * bool(section)


def _plot(view: View, place: int, section: str, figure: str) -> str:
    values, rows = view.values(place), view.compared(place)[section]
    topics = len(view.topics(place))
    if not (1 < len(rows) <= MOST and 1 < topics <= MOST_TOPICS) or view.runs(place):
        return ""  # samples of topics would take the few runs at hand for all there could be
    lower, alpha = not view.column(place).higher_is_better, view.alpha
    scores = np.array([values[at] for at in rows])
    found = ranking(scores, lower_is_better=lower, alpha=alpha, samples=SAMPLES)
    p_best = [view.table.rows[at].cells[place].p_best for at in rows]
    names = [view.table.rows[at].title if section else view.names[at] for at in rows]
    lines = Rows(names, (1, len(rows)), width=360, inset=12)
    marks, texts = [], []
    for number, name in enumerate(names):
        y = lines.y(number)
        ends = found.low[number], found.high[number]
        sure = found.simultaneous_low[number], found.simultaneous_high[number]
        p = p_best[number]
        inside = p is not None and p > alpha
        tip = f"{name}: rank {ends[0]} to {ends[1]}, surely {sure[0]} to {sure[1]}"
        marks.append(line(lines.x(sure[0]), y, lines.x(sure[1]), y, "whisker"))
        marks.append(line(lines.x(ends[0]), y, lines.x(ends[1]), y, "thick"))
        role = "better" if inside else "none"
        marks.append(dot(lines.x(float(found.rank[number])), y, 5.5, role, tip))
        own = printed_p(p) if p is not None else f"{ends[0]} to {ends[1]}"
        texts.append("may be the best" if inside else own)
    caption = f"Rank intervals of {len(rows)} systems on {_title(view, place, section)}"
    ranks = rank_ticks(len(rows))
    return lines.figure(figure, caption, marks, texts=texts, room=120, at=ranks, axis="rank")
