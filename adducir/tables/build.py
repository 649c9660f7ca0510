"""Tables of comparisons, and of plain figures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import polars as pl

from adducir.core.errors import UsageError
from adducir.evaluation.measures import is_descriptive, is_summed, lower_is_better
from adducir.statistics.comparison import Comparison
from adducir.tables.notes import lines_of
from adducir.tables.style import Detail, Style
from adducir.tables.table import Cell, Column, Mark, PairResult, Presented, ResultTable, Row

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, kw_only=True)
class Layout(Presented):
    """How a table is arranged and named.

    Attributes:
        system_names: Printed name of each system, where it differs from the system's name.
        measure_names: Printed name of each measure, by its exact name.
        sections: Section (say a corpus variant) of systems.
        places: Section and group of columns of topic sets whose name is not that of a group.
        notes: Sentences to add below.
        evaluated: Whether Adducir computed the values, and knows how unjudged documents counted.
        unit: What a topic is called.
    """

    system_names: Mapping[str, str] = field(default_factory=dict)
    measure_names: Mapping[str, str] = field(default_factory=dict)
    sections: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    evaluated: bool = True
    unit: str = "topic"

    def table(self, columns: Sequence[Column], rows: Iterable[Row], **more: Any) -> ResultTable:
        own = {one.name: getattr(self, one.name) for one in fields(Presented)}
        return ResultTable(tuple(columns), tuple(rows), **own, **more)


class Figure(NamedTuple):
    """A figure that no comparison knows: of a system that is none, or of all topics at once."""

    topic_set: str
    system: str
    measure: str
    value: float | None
    n: int = 0


def build_table(
    comparison: Comparison,
    layout: Layout | None = None,
    *,
    figures: Iterable[Figure] = (),
    columns: Mapping[str, Column] | None = None,
) -> ResultTable:
    """A result table: a row for each system, a column for each measure and topic set.

    ``figures`` are not tested. A system that the comparison lacks stands first in its section, a
    measure that it lacks last in its group; ``columns`` says what such measures are, by name.
    """
    layout, more = layout or Layout(), list(figures)
    places = {name: layout.places.get(name, ("", name)) for name in comparison.scores.sets}
    means = list(comparison.means.select("set", "system", "measure").iter_rows())
    heads: dict[tuple[str, str], Column] = {}
    for name, _, measure in means:
        label = layout.measure_names.get(measure, "")
        group = places[name][1]
        heads.setdefault((group, measure), _column(comparison, measure, group, label))
    for one in more:
        own = (columns or {}).get(one.measure, Column(one.measure, descriptive=True))
        group = places[one.topic_set][1]
        heads.setdefault((group, one.measure), replace(own, group=group))
    known = [(one.topic_set, one.system) for one in more if one.system not in comparison.systems]
    systems = {
        (places[name][0] or layout.sections.get(system, ""), system): name
        for name, system, *_ in [*known, *means]
    }
    found = _cells(comparison, layout.style)
    for one in more:
        summed = heads[places[one.topic_set][1], one.measure].summed
        text = layout.style.number(one.value, 0 if summed else None)
        found[one.topic_set, one.system, one.measure] = Cell(one.value, one.n, text=text)
    by_place = any(section for section, _ in places.values())
    of_place = {place: name for name, place in places.items()}
    letters, ordered = _letters(comparison), _grouped(heads)
    table = layout.table(
        [heads[key] for key in ordered],
        (
            Row(
                system,
                tuple(
                    found.get(
                        (of_place.get((section if by_place else "", group), ""), system, measure),
                        Cell(),
                    )
                    for group, measure in ordered
                ),
                layout.system_names.get(system, ""),
                section,
                letters.get(system, ""),
            )
            for section, system in _grouped(systems)
        ),
        comparison=comparison,
        places=places,
    )
    notes = (*lines_of(table, layout), *((note,) for note in layout.notes))
    return replace(table, notes=notes)


def _grouped(keys: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The keys in their order, but those of one group together."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for key in keys:
        groups.setdefault(key[0], []).append(key)
    return [key for group in groups.values() for key in group]


def merged(notes: Mapping[str, Iterable[str]]) -> list[str]:
    """The notes of sections: what holds for all is said once, the others name theirs."""
    each = {name: list(some) for name, some in notes.items()}
    found = dict.fromkeys(
        note if not name or all(note in some for some in each.values()) else f"{name}: {note}"
        for name, some in each.items()
        for note in some
    )
    return list(found)


def figure_table(
    columns: Sequence[Column],
    rows: Mapping[str, Sequence[float | None]],
    layout: Layout | None = None,
) -> ResultTable:
    """A table of plain figures, by the names of its rows, which are not tested."""
    layout, style = layout or Layout(), layout.style if layout else Style()
    return layout.table(
        columns,
        (
            Row(
                name,
                tuple(
                    Cell(value, text=style.number(value, 0 if column.summed else None))
                    for column, value in zip(columns, values, strict=True)
                ),
                layout.system_names.get(name, ""),
                layout.sections.get(name, ""),
            )
            for name, values in rows.items()
        ),
        notes=tuple((note,) for note in layout.notes),
    )


def topic_table(table: ResultTable, column: Column) -> ResultTable:
    """One column of a table, topic by topic: topics as rows, systems as columns, means at last."""
    qids = table.topics(column)
    place = table.columns.index(column)
    each = [
        (row, values) for row in table.rows if (values := table.values(row, column)) is not None
    ]
    if not each or not qids:
        raise UsageError(f"the table holds no values per topic for {column.title}.")
    heads = [
        Column(row.system, row.section, row.title, descriptive=True, summed=column.summed)
        for row, _ in each
    ]
    rows: dict[str, list[float | None]] = {
        qid: [float(values[:, at].mean()) for _, values in each] for at, qid in enumerate(qids)
    }
    rows[""] = [row.cells[place].mean for row, _ in each]
    name = f"{column.group}: {column.title}" if column.group else column.title
    layout = Layout(
        title=f"{name}, per topic",
        style=table.style,
        head="Topic",
        system_names={"": "Sum" if column.summed else "Mean"},
        sections={"": "All topics"},
    )
    return figure_table(heads, rows, layout)


def _column(comparison: Comparison, name: str, group: str, label: str) -> Column:
    measure = comparison.scores.measures[name]
    return Column(
        name,
        group,
        label,
        higher_is_better=not lower_is_better(measure),
        descriptive=is_descriptive(measure),
        summed=is_summed(measure),
    )


def _letters(comparison: Comparison) -> dict[str, str]:
    references = comparison.references
    if len(references) < 2:
        return {}
    letters = [*_LETTERS, *(f"({n})" for n in range(len(_LETTERS) + 1, len(references) + 1))]
    return dict(zip(references, letters, strict=False))


def _cells(comparison: Comparison, style: Style) -> dict[tuple[str, str, str], Cell]:
    letters, references = _letters(comparison), comparison.references
    systems = comparison.means.group_by("set").agg(pl.n_unique("system"))
    several = {name: count > 1 for name, count in systems.iter_rows()}
    tests: dict[tuple[str, str, str], list[PairResult]] = {}
    claims = comparison.tests.filter(pl.col("claim") != "difference")
    named = pl.concat([comparison.both_ways(), claims])
    fields = pl.struct(PairResult._fields)
    for *whose, test in named.select("set", "system", "measure", fields).iter_rows():
        tests.setdefault((whose[0], whose[1], whose[2]), []).append(PairResult(**test))
    found: dict[tuple[str, str, str], Cell] = {}
    for name, system, measure, mean, topics, best, p_best in comparison.means.iter_rows():
        place = name, system, measure
        summed = is_summed(comparison.scores.measures[measure])
        mean = float(round(mean * topics)) if summed else mean
        every = tests.get(place, [])
        own = [
            test for test in every if test.claim == "difference" and test.reference in references
        ]
        own.sort(key=lambda test: references.index(test.reference))
        equivalence = next((test for test in every if test.claim != "difference"), None)
        in_set = p_best is not None and p_best > comparison.testing.alpha
        in_set = in_set and (name, measure) not in comparison.undecided
        marks = [Mark("set")] * in_set
        for kind in ("better", "worse"):
            against = [letters.get(one.reference, "") for one in own if one.verdict == kind]
            if against:
                marks.append(Mark(kind, "".join(against)))
        if equivalence is not None and equivalence.verdict:
            marks.append(Mark("equivalent"))
        found[place] = Cell(
            mean,
            topics,
            best and several[name],
            in_set,
            p_best,
            tuple(own),
            equivalence,
            style.number(mean, 0 if summed else None),
            tuple(marks),
            tuple(_lines(own, equivalence, letters, style)),
        )
    return found


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
        for one in tests:
            letter = letters.get(one.reference)
            if text := _detail(detail, one, style):
                yield f"{letter}: {text}" if letter else text


def _detail(detail: Detail, one: PairResult, style: Style) -> str:
    if detail == "difference":
        return style.number(one.difference, signed=True)
    if detail == "ci" and one.low is not None:
        return f"[{style.number(one.low, signed=True)}, {style.number(one.high, signed=True)}]"
    if detail == "effect" and one.effect is not None:
        return f"d={style.number(one.effect, 2, signed=True)}"
    if detail == "wins" and one.wins is not None:
        return f"{one.wins}/{one.ties}/{one.losses}"
    if detail == "p" and one.p is not None:
        return f"p{style.p_value(one.p)}"
    if detail == "p_corrected" and one.p_corrected is not None:
        return f"p'{style.p_value(one.p_corrected)}"
    return ""
