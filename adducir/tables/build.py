"""Tables of comparisons, and of plain figures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import NamedTuple

import polars as pl

from adducir.core.errors import UsageError
from adducir.core.texts import typed
from adducir.evaluation.measures import is_descriptive, is_summed, lower_is_better, summary
from adducir.statistics.comparison import Comparison
from adducir.tables.notes import lines_of
from adducir.tables.style import Detail, Style
from adducir.tables.table import Cell, Column, Layout, Mark, PairResult, ResultTable, Row

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Figure(NamedTuple):
    """A figure outside any comparison, such as a bound or a median over all topics.

    ``rates``: whether its row is a system, which the report may rank, and not a statistic;
    ``decimals``: how many are printed, by default the table's.
    """

    topic_set: str
    system: str
    measure: str
    value: float | None
    n: int = 0
    rates: bool = True
    decimals: int | None = None


@typed
def build_table(
    comparison: Comparison,
    layout: Layout | None = None,
    *,
    figures: Iterable[Figure] = (),
    columns: Mapping[str, Column] | None = None,
) -> ResultTable:
    """A result table: a row per system, a column per measure and topic set.

    Args:
        comparison: What :func:`adducir.compare` returned.
        layout: Titles, names and sections.
        figures: Further figures, which are not tested. Their systems come first in their section,
            and their measures last in their group, if not in the comparison.
        columns: Describes these measures by name.

    Raises:
        AdducirError: An argument has another type.

    Example:
        >>> scores = ad.evaluate(run, {"1": {"x": 1}}, "RR")
        >>> print(ad.build_table(ad.compare(scores)).render("csv").splitlines().pop()[:5])
        cats,
    """
    layout, more = Layout() if layout is None else layout, list(figures)
    places = {name: layout.places.get(name, ("", name)) for name in comparison.scores.sets}
    several = len(comparison.references) > 1
    names = chain(_LETTERS, (f"({number})" for number in count(len(_LETTERS) + 1)))
    letters = dict(zip(comparison.references, names, strict=False)) if several else {}
    cells = _cells(comparison, letters, layout.style)
    heads: dict[str, dict[str, Column]] = {}
    rows: dict[str, dict[str, Row]] = {}
    strangers = [figure[:3] for figure in more if figure.system not in comparison.systems]
    statistics = {figure.system for figure in more if not figure.rates}
    for name, system, _ in [*strangers, *cells]:
        section = places[name][0] or layout.sections.get(system, "")
        printed, letter = layout.system_names.get(system, ""), letters.get(system, "")
        rates = system not in statistics
        rows.setdefault(section, {})[system] = Row(system, (), printed, section, letter, rates)
    # First, since rows without a section would read as those of the one above them.
    rows = {"": rows.pop("", {}), **rows}
    for name, _, measure in cells:
        group, measure_ = places[name][1], comparison.scores.measures[measure]
        if measure not in heads.setdefault(group, {}):
            heads[group][measure] = Column(
                measure,
                group,
                layout.measure_names.get(measure, ""),
                higher_is_better=not lower_is_better(measure_),
                descriptive=is_descriptive(measure_),
                summed=is_summed(measure_),
            )
    for figure in more:
        group, measure = places[figure.topic_set][1], figure.measure
        column = (columns or {}).get(measure, Column(measure, descriptive=True))
        head = heads.setdefault(group, {}).setdefault(measure, replace(column, group=group))
        text = layout.style.number(figure.value, 0 if head.summed else figure.decimals)
        cells[figure[:3]] = Cell(figure.value, figure.n, text=text, topic_set=figure.topic_set)
    by_place = any(section for section, _ in places.values())
    named = {place: name for name, place in places.items()}
    order = [(group, measure) for group, columns_ in heads.items() for measure in columns_]
    table = ResultTable(
        **{**vars(layout), "places": places},
        columns=[heads[group][measure] for group, measure in order],
        rows=[
            replace(
                row,
                cells=tuple(
                    cells.get((named.get((section * by_place, group), ""), system, measure), Cell())
                    for group, measure in order
                ),
            )
            for section, by_system in rows.items()
            for system, row in by_system.items()
        ],
        comparison=comparison,
    )
    return replace(table, below=[*lines_of(table), *((note,) for note in layout.notes)])


def merged(notes: Mapping[str, Iterable[str]]) -> list[str]:
    """The notes of sections: common ones once, the others with their section."""
    texts = {name: list(some) for name, some in notes.items()}
    lines = dict.fromkeys(
        note if not name or all(note in some for some in texts.values()) else f"{name}: {note}"
        for name, some in texts.items()
        for note in some
    )
    return list(lines)


def figure_table(
    columns: Sequence[Column],
    rows: Mapping[str, Sequence[float | None]],
    layout: Layout | None = None,
) -> ResultTable:
    """A table of untested figures, by row name."""
    layout = layout or Layout()
    return ResultTable(
        **vars(layout),
        columns=columns,
        rows=[
            Row(
                name,
                tuple(
                    Cell(value, text=layout.style.number(value, 0 if column.summed else None))
                    for column, value in zip(columns, values, strict=True)
                ),
                layout.system_names.get(name, ""),
                layout.sections.get(name, ""),
            )
            for name, values in rows.items()
        ],
        below=[(note,) for note in layout.notes],
    )


def topic_table(table: ResultTable, column: Column) -> ResultTable:
    """One column of a table per topic: topics as rows, systems as columns, means last."""
    qids = table.topics(column)
    place = table.columns.index(column)
    values_of = [
        (row, values) for row in table.rows if (values := table.values(row, column)) is not None
    ]
    if not values_of or not qids:
        raise UsageError(f"the table does not have values per topic for {column.title}.")
    heads = [
        Column(row.system, row.section, row.title, descriptive=True, summed=column.summed)
        for row, _ in values_of
    ]
    rows: dict[str, list[float | None]] = {
        qid: [float(values[at]) for _, values in values_of] for at, qid in enumerate(qids)
    }
    rows[""] = [row.cells[place].mean for row, _ in values_of]
    name = f"{column.group}: {column.title}" if column.group else column.title
    layout = Layout(
        title=f"{name}, per topic",
        style=table.style,
        head="Topic",
        system_names={"": "Sum" if column.summed else "Mean"},
        sections={"": "All topics"},
    )
    return figure_table(heads, rows, layout)


def _cells(
    comparison: Comparison, letters: Mapping[str, str], style: Style
) -> dict[tuple[str, str, str], Cell]:
    """The figures by topic set, system and measure, with their tests."""
    tests: dict[tuple[str, str, str], list[PairResult]] = {}
    references, testing = pl.Enum(comparison.references), comparison.testing
    differences = comparison.both_ways().filter(pl.col("reference").is_in(comparison.references))
    claims = comparison.tests.filter(pl.col("claim") != "difference")
    for frame in (differences.sort(pl.col("reference").cast(references)), claims):
        fields = pl.struct(PairResult._fields)
        for *place, test in frame.select("set", "system", "measure", fields).iter_rows():
            tests.setdefault((place[0], place[1], place[2]), []).append(PairResult(**test))
    p, column = pl.col("p_best"), ("set", "measure")
    means = comparison.means.with_columns(
        best=pl.col("best") & ~pl.col("best").all().over(column),  # all equal, or one system
        # A set of all systems is uninformative.
        in_set=((p > testing.alpha) & (p.min().over(column) <= testing.alpha)).fill_null(False),
    )
    cells: dict[tuple[str, str, str], Cell] = {}
    for name, system, measure, mean, topics, best, p_best, in_set in means.iter_rows():
        summed = is_summed(comparison.scores.measures[measure])
        mean = summary(comparison.scores.measures[measure], mean, topics)
        pairs = tests.get((name, system, measure), [])
        equivalence = pairs.pop() if pairs and pairs[-1].claim != "difference" else None
        marks = [Mark("set")] * in_set
        for kind in ("better", "worse"):
            against = [letters.get(pair.reference, "") for pair in pairs if pair.verdict == kind]
            if against:
                marks.append(Mark(kind, "".join(against)))
        if equivalence is not None and equivalence.verdict:
            marks.append(Mark("equivalent"))
        cells[name, system, measure] = Cell(
            mean,
            topics,
            best,
            in_set,
            p_best,
            tuple(pairs),
            equivalence,
            style.number(mean, 0 if summed else None),
            tuple(marks),
            tuple(_lines(pairs, equivalence, letters, style)) if style.details else (),
            name,
        )
    return cells


def _lines(
    tests: Sequence[PairResult],
    equivalence: PairResult | None,
    letters: Mapping[str, str],
    style: Style,
) -> Iterator[str]:
    for detail in style.details:
        if detail == "equivalence_p":
            if equivalence is not None:
                yield f"p≈{style.p_value(equivalence.p_corrected)}"
            continue
        for pair in tests:
            letter = letters.get(pair.reference)
            if text := _detail(detail, pair, style):
                yield f"{letter}: {text}" if letter else text


def _detail(detail: Detail, pair: PairResult, style: Style) -> str:
    if detail == "difference":
        return style.number(pair.difference, signed=True)
    if detail == "ci" and pair.low is not None:
        return f"[{style.number(pair.low, signed=True)}, {style.number(pair.high, signed=True)}]"
    if detail == "effect" and pair.effect is not None:
        return f"d={style.number(pair.effect, 2, signed=True)}"
    if detail == "wins" and pair.wins is not None:
        return f"{pair.wins}/{pair.ties}/{pair.losses}"
    if detail == "p" and pair.p is not None:
        return f"p{style.p_value(pair.p)}"
    if detail == "p_corrected" and pair.p_corrected is not None:
        return f"p'{style.p_value(pair.p_corrected)}"
    return ""
