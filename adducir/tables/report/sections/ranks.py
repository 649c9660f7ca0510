"""Rank intervals, and the set of systems that may be the best.

See :mod:`adducir.statistics.ranking` for both; they are computed for this picture alone.
"""

import numpy as np

from adducir.statistics.ranking import ranking
from adducir.statistics.ranking_of_runs import ranking_of_runs
from adducir.tables.report.drawing import dot, line
from adducir.tables.report.frame import framed
from adducir.tables.report.rows import OPEN, Rows, rank_ticks
from adducir.tables.report.view import Section, View

SAMPLES = 2_000
MOST = 300
"""Ranks of more systems, or over more topics than :data:`MOST_TOPICS`, are not computed here."""
MOST_OF_RUNS = 60
"""The same where a system has several runs."""
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
    several = any(view.runs(place) for place in view.with_values)
    lead = (
        "Thick: the bootstrap interval of a system's rank. Thin: the interval that holds for all "
        "systems at once. Filled: systems in the model confidence set, which may be the best; p: "
        "the least alpha at which another has left the set. "
        f"{SAMPLES:,} samples of topics"
        + (", of systems with several runs draws of the means over topics and runs" * several)
        + "; computed for this picture, beside the planned tests, but for p where the table marks "
        "the set." + " Each section is tested, and ranked, by itself." * view.table.stacked
    )
    return Section("ranks", "Which systems may be the best", lead, drawn)


def _title(view: View, place: int, section: str) -> str:
    return view.title(place) + f" · {section}" * bool(section)


def _plot(view: View, place: int, section: str, figure: str) -> str:
    values, rows = view.values(place), view.compared(place)[section]
    topics = len(view.column(place).topics)
    runs = view.runs(place)
    most = MOST_OF_RUNS if runs else MOST
    if not (1 < len(rows) <= most and 1 < topics <= MOST_TOPICS):
        return ""
    lower, alpha = not view.column(place).higher_is_better, view.alpha(place, section)
    if runs:
        each = [runs[at] for at in rows]
        found = ranking_of_runs(each, lower_is_better=lower, alpha=alpha, samples=SAMPLES)
    else:
        scores = np.array([values[at] for at in rows])
        found = ranking(scores, lower_is_better=lower, alpha=alpha, samples=SAMPLES)
    own = [p for at in rows if (p := view.table.rows[at].cells[place].p_best) is not None]
    p_best = own if len(own) == len(rows) else found.p_best
    names = [view.table.rows[at].title if section else view.names[at] for at in rows]
    lines = Rows(names, (1, len(rows)), width=360, inset=12)
    marks, texts = [], []
    for number, name in enumerate(names):
        y = lines.y(number)
        ends = found.low[number], found.high[number]
        sure = found.surely_low[number], found.surely_high[number]
        inside = p_best[number] > alpha
        tip = f"{name}: rank {ends[0]} to {ends[1]}, surely {sure[0]} to {sure[1]}"
        marks.append(line(lines.x(sure[0]), y, lines.x(sure[1]), y, "whisker"))
        marks.append(line(lines.x(ends[0]), y, lines.x(ends[1]), y, "thick"))
        role = "better" if inside else "none"
        marks.append(dot(lines.x(float(found.rank[number])), y, 5.5, role, tip))
        texts.append("may be the best" if inside else f"p = {p_best[number]:.3g}")
    caption = f"Rank intervals of {len(rows)} systems on {_title(view, place, section)}"
    ranks = rank_ticks(len(rows))
    return lines.figure(figure, caption, marks, texts=texts, room=120, at=ranks, axis="rank")
