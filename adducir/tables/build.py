"""Tables of comparisons, and of plain figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import polars as pl

from adducir.core.errors import UsageError
from adducir.evaluation.measures import is_descriptive, is_summed, lower_is_better
from adducir.statistics.comparison import Comparison
from adducir.tables.material import Material
from adducir.tables.notes import lines_of
from adducir.tables.style import Detail, Style
from adducir.tables.table import Cell, Column, Mark, PairResult, ResultTable, Row

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Layout:
    """How a table is arranged and named.

    Attributes:
        title: Caption.
        label: LaTeX label.
        style: How numbers are printed.
        system_names: Printed name of each system, where it differs from the system's name.
        measure_names: Printed name of each measure, by its exact name.
        sections: Section (say a corpus variant) of each system; systems without one stand in a
            section without a name.
        places: Section and group of columns of each topic set, where its name is not simply that of
            a group.
        notes: Sentences to add below.
        evaluated: Whether Adducir computed the values, and knows how unjudged documents counted.
        provenance: How the table was made: commands, versions, fingerprints.
        facts: What else there is to know of the figures, for machines.
        head: What the rows are.
        unit: What a topic is called.
        material: What the report shows beyond the table.
    """

    title: str = ""
    label: str = "tab:results"
    style: Style = field(default_factory=Style)
    system_names: Mapping[str, str] = field(default_factory=dict)
    measure_names: Mapping[str, str] = field(default_factory=dict)
    sections: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    evaluated: bool = True
    provenance: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    head: str = "System"
    unit: str = "topic"
    material: Material = field(default_factory=Material)


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
    layout = layout or Layout()
    places = {name: layout.places.get(name, ("", name)) for name in comparison.scores.sets}
    more, described = list(figures), columns or {}
    heads: dict[tuple[str, str], Column] = {}
    for name, names in _by_set(comparison.means.select("set", "measure")):
        group = places[name][1]
        for measure in dict.fromkeys(names):
            label = layout.measure_names.get(measure, "")
            heads.setdefault((group, measure), _column(comparison, measure, group, label))
    for one in more:
        group = places[one.topic_set][1]
        if (group, one.measure) not in heads:
            own = described.get(one.measure, Column(one.measure, descriptive=True))
            heads[group, one.measure] = replace(own, group=group)
    groups = list(dict.fromkeys(group for group, _ in heads))
    ordered = sorted(heads, key=lambda key: groups.index(key[0]))
    systems: dict[tuple[str, str], None] = {}
    known = [(one.topic_set, one.system) for one in more if one.system not in comparison.systems]
    known += list(comparison.means.select("set", "system").iter_rows())
    for name, system in known:
        systems[places[name][0] or layout.sections.get(system, ""), system] = None
    sections = list(dict.fromkeys(section for section, _ in systems))
    rows = sorted(systems, key=lambda key: sections.index(key[0]))
    found = _cells(comparison, places, layout.style)
    of_place = {place: name for name, place in places.items()}
    for one in more:
        group = places[one.topic_set][1]
        text = layout.style.number(one.value, 0 if heads[group, one.measure].summed else None)
        found[one.topic_set, one.system, one.measure] = Cell(one.value, one.n, text=text)
    by_place = any(section for section, _ in places.values())

    def cell(section: str, system: str, group: str, measure: str) -> Cell:
        name = of_place.get((section if by_place else "", group))
        return Cell() if name is None else found.get((name, system, measure), Cell())

    letters = _letters(comparison)
    table = ResultTable(
        columns=tuple(heads[key] for key in ordered),
        rows=tuple(
            Row(
                system,
                tuple(cell(section, system, *key) for key in ordered),
                layout.system_names.get(system, ""),
                section,
                letters.get(system, ""),
            )
            for section, system in rows
        ),
        title=layout.title,
        label=layout.label,
        comparison=comparison,
        places=places,
        provenance=layout.provenance,
        facts=layout.facts,
        style=layout.style,
        head=layout.head,
        material=layout.material,
    )
    printed = layout.system_names, layout.measure_names
    notes = lines_of(table, *printed, unit=layout.unit, evaluated=layout.evaluated)
    return replace(table, notes=(*notes, *((note,) for note in layout.notes)))


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
    layout = layout or Layout()

    def cell(column: Column, value: float | None) -> Cell:
        return Cell(value, text=layout.style.number(value, 0 if column.summed else None))

    return ResultTable(
        tuple(columns),
        tuple(
            Row(
                name,
                tuple(cell(*pair) for pair in zip(columns, values, strict=True)),
                layout.system_names.get(name, ""),
                layout.sections.get(name, ""),
            )
            for name, values in rows.items()
        ),
        title=layout.title,
        label=layout.label,
        notes=tuple((note,) for note in layout.notes),
        provenance=layout.provenance,
        facts=layout.facts,
        style=layout.style,
        head=layout.head,
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


def _by_set(frame: pl.DataFrame) -> Iterable[tuple[str, list[Any]]]:
    """The values of a frame's second column by those of its first, ``set``."""
    grouped = frame.group_by("set", maintain_order=True).agg(pl.all())
    return grouped.iter_rows()


def _letters(comparison: Comparison) -> dict[str, str]:
    """The letters that stand for references, where there are several."""
    asked = comparison.testing
    references = comparison.systems if asked.all_pairs else asked.baselines
    if len(references) < 2:
        return {}
    letters = [*_LETTERS, *(f"({n})" for n in range(len(_LETTERS) + 1, len(references) + 1))]
    return dict(zip(references, letters, strict=False))


def _cells(
    comparison: Comparison, places: Mapping[str, Any], style: Style
) -> dict[tuple[str, str, str], Cell]:
    """The cells by set, system and measure."""
    letters, asked = _letters(comparison), comparison.testing
    references = comparison.systems if asked.all_pairs else asked.baselines
    several = {
        name: len(set(names)) > 1 for name, names in _by_set(comparison.means["set", "system"])
    }
    key = ["set", "system", "measure"]
    both = comparison.both_ways().filter(pl.col("reference").is_in(references))
    order = pl.DataFrame({"reference": references, "rank": range(len(references))})
    both = both.join(order, on="reference", maintain_order="left") if references else both
    both = both.sort("rank", maintain_order=True) if references else both
    fields = pl.struct(PairResult._fields)
    tests: dict[tuple[str, str, str], list[PairResult]] = {}
    for name, system, measure, test in both.select(*key, fields).iter_rows():
        tests.setdefault((name, system, measure), []).append(PairResult(**test))
    others = comparison.tests.filter(pl.col("claim") != "difference").select(*key, fields)
    equivalences = {
        (name, system, measure): PairResult(**test)
        for name, system, measure, test in others.iter_rows()
    }
    found: dict[tuple[str, str, str], Cell] = {}
    for name, system, measure, mean, topics, best, p_best in comparison.means.iter_rows():
        place = name, system, measure
        summed = is_summed(comparison.scores.measures[measure])
        mean = float(round(mean * topics)) if summed else mean
        own, equivalence = tuple(tests.get(place, ())), equivalences.get(place)
        in_set = p_best is not None and p_best > asked.alpha
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
            own,
            equivalence,
            style.number(mean, 0 if summed else None),
            tuple(marks),
            _lines(own, equivalence, letters, style),
        )
    return found


def _lines(
    tests: Sequence[PairResult],
    equivalence: PairResult | None,
    letters: Mapping[str, str],
    style: Style,
) -> tuple[str, ...]:
    """The lines under a mean, as the style asks for: one per detail and reference."""
    lines = []
    for detail in style.details:
        if detail == "equivalence_p":
            if equivalence is not None:
                lines.append(f"p≈{style.p_value(equivalence.p_corrected)}")
            continue
        for one in tests:
            letter = letters.get(one.reference)
            if text := _detail(detail, one, style):
                lines.append(f"{letter}: {text}" if letter else text)
    return tuple(lines)


def _detail(detail: Detail, one: PairResult, style: Style) -> str:
    """One detail as text, empty where it is not known."""
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
