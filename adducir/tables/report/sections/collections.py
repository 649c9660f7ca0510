"""Forest plots over collections: a difference on each topic set, and what they say together.

Drawn on request, beside the sentences of the footer (:mod:`adducir.statistics.meta_analysis`): a
square for each topic set, as large as its weight, with its own interval; a diamond as wide as the
interval of the mean, on the line of its prediction interval.
"""

from adducir.core.errors import UsageError
from adducir.statistics.effects import Effect
from adducir.statistics.meta_analysis import MetaAnalysis, effects_of, meta_analysis
from adducir.tables.report.drawing import box, line, path, room_for, shortened
from adducir.tables.report.frame import framed
from adducir.tables.report.rows import NAME, TOP, Rows
from adducir.tables.report.view import Section, View


def section(view: View) -> Section | None:
    """A plot for each measure that all topic sets have."""
    base = view.base
    if not view.table.style.meta or base is None:
        return None
    measures = dict.fromkeys(view.table.columns[place].measure for place in view.rated)
    drawn = "".join(_plot(view, measure, base) for measure in measures)
    lead = (
        "Random effects (REML, Hartung-Knapp). Squares: the difference on each topic set, as large "
        "as its weight, with its normal 95% interval. Diamonds: the mean, as wide as its interval; "
        "the line through it is where the difference on another topic set is to be expected. "
        "Uncorrected."
    )
    if not drawn:
        lead = "No plot: no difference to the baseline was tested on all topic sets."
    return Section("collections", f"Collections: differences to {view.names[base]}", lead, drawn)


def _plot(view: View, measure: str, base: int) -> str:
    """The plot of a measure; empty where no system was tested on all topic sets."""
    places = [at for at in view.rated if view.table.columns[at].measure == measure]
    groups = [view.table.columns[at].group for at in places]
    baseline = view.table.rows[base].system
    found: list[tuple[str, MetaAnalysis]] = []
    for at, row in enumerate(view.table.rows):
        tests = [row.cells[place].against(baseline) for place in places]
        effects = [Effect(**one.more["effect"]) for one in tests if one and "effect" in one.more]
        if len(effects) < max(2, len({column.group for column in view.table.columns})):
            continue
        try:
            found.append((view.names[at], meta_analysis(*effects_of(effects))))
        except UsageError:
            continue  # the footer says why
    if not found:
        return ""
    ends = [
        end
        for _, one in found
        for end in (*one.lows, *one.highs, one.low, one.high, *(one.predicted or ()))
    ]
    low, high = float(min(0.0, *ends)), float(max(0.0, *ends))
    margin = (high - low or 0.1) * 0.04
    names = [_named(name, of) for name, _ in found for of in (*groups, "together")]
    rows = Rows(names, (low - margin, high + margin), width=300)
    marks, texts = [line(rows.x(0), TOP, rows.x(0), rows.bottom, "axis")], []
    for number, (_, one) in enumerate(found):
        marks += _marks(rows, one, number * (len(groups) + 1))
        spans = [*zip(one.effects, one.lows, one.highs, strict=True), (one.mean, one.low, one.high)]
        for effect, start, end in spans:
            middle, first, last = (view.number(float(x), signed=True) for x in (effect, start, end))
            texts.append(f"{middle} [{first}, {last}]")
    title = view.table.columns[places[0]].title
    drawn = rows.figure(
        f"collections-{places[0]}",
        f"Forest plot over {len(groups)} topic sets: difference to the baseline on {title}",
        marks,
        texts=texts,
        room=room_for(texts, 60) + 16,
        axis="difference" + " (less is better)" * (not view.column(places[0]).higher_is_better),
        signed=True,
    )
    return framed(drawn, title)


def _named(system: str, collection: str) -> str:
    """The name of a line, of which both parts are seen where it has to be cut."""
    last = shortened(collection, NAME // 2)
    return f"{shortened(system, NAME - len(last) - 3)} · {last}"


def _marks(rows: Rows, one: MetaAnalysis, first: int) -> list[str]:
    """The squares of the topic sets from a line on, and the diamond below them."""
    marks = []
    each = zip(one.effects, one.lows, one.highs, one.weights, strict=True)
    for number, (effect, low, high, weight) in enumerate(each):
        x, y, half = rows.x(float(effect)), rows.y(first + number), 2 + 5 * float(weight) ** 0.5
        marks.append(line(rows.x(float(low)), y, rows.x(float(high)), y, "whisker"))
        marks.append(box(x - half, y - half, 2 * half, 2 * half, "point", f"weight {weight:.0%}"))
    y = rows.y(first + len(one.effects))
    if one.predicted:
        start, end = (rows.x(float(x)) for x in one.predicted)
        marks.append(line(start, y, end, y, "whisker"))
    left, middle, right = (rows.x(float(x)) for x in (one.low, one.mean, one.high))
    marks.append(
        path([(left, y), (middle, y - 6), (right, y), (middle, y + 6)], "none", closed=True)
    )
    return marks
