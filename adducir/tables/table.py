"""The model of a result table: what every format prints, and nothing about how.

A row is a system, a column is a measure; columns may stand in groups (topic sets), rows in sections
(say corpus variants). :func:`.build_table` makes a table of a
:class:`~adducir.statistics.comparison.Comparison`; renderers test nothing and round nothing.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.core.errors import UsageError
from adducir.corpora.frames import Framed
from adducir.tables.material import Material
from adducir.tables.style import ABSENT, Style

if TYPE_CHECKING:
    from adducir.statistics.comparison import Comparison

HEADER = (
    *("system", "section", "group", "measure", "mean", "n", "best", "baseline", "difference"),
    *("p", "p_corrected", "mark", "ci_low", "ci_high", "effect", "wins", "ties", "losses"),
    *("equivalent", "equivalent_to", "equivalence_p", "equivalence_p_corrected", "p_best"),
    *("in_set", "exploratory", "higher_is_better"),
)
"""The columns of a table as a frame, and in CSV."""

MarkKind = Literal["best", "set", "better", "worse", "equivalent"]
SIGNS = {"best": "•", "set": "°", "better": "↑", "worse": "↓", "equivalent": "≈"}

_CONDENSED = re.compile(
    r"(?<!\w)(\w+)\((|[^()]*,)judged_only=True(|,[^()]*)\)((?:@\d+(?:\.\d+)?)?)"
)
"""A measure of condensed lists: its name, its other parameters, its cutoff."""


class Mark(NamedTuple):
    """A sign at a figure: its kind, and the letters of the references it speaks of, if several."""

    kind: MarkKind
    letters: str = ""


Note: TypeAlias = tuple[str | Mark, ...]
"""A line below a table: text, with marks that each format shows in its own way."""


class PairResult(NamedTuple):
    """What one test found of a cell: a row of :attr:`.Comparison.tests`, seen from its system."""

    claim: str
    reference: str
    difference: float
    p: float | None
    p_corrected: float | None
    verdict: str | None
    low: float | None
    high: float | None
    effect: float | None
    wins: int | None
    ties: int | None
    losses: int | None


@dataclass(frozen=True, slots=True)
class Cell:
    """One system's figure in one column.

    Attributes:
        mean: Mean over the ``n`` topics, or their sum; None where there is none.
        best: Whether it is the best of its column (equal ones all).
        in_set: Whether it is in the set of systems that may be the best, which does not hold all.
        p_best: p of the system in that set, None where there is no set.
        tests: Tests of difference against each reference, in the order of the table's.
        equivalence: Test of equivalence, if one was made.
        text: The figure as it is printed, with ``marks`` behind and ``lines`` of details below.
    """

    mean: float | None = None
    n: int = 0
    best: bool = False
    in_set: bool = False
    p_best: float | None = None
    tests: tuple[PairResult, ...] = ()
    equivalence: PairResult | None = None
    text: str = ABSENT
    marks: tuple[Mark, ...] = ()
    lines: tuple[str, ...] = ()

    def against(self, reference: str) -> PairResult | None:
        return next((one for one in self.tests if one.reference == reference), None)


@dataclass(frozen=True)
class Column:
    """One measure over one topic set.

    Attributes:
        measure: The measure's exact name, e.g. ``nDCG(judged_only=True)@5``.
        group: Name of the topic set, empty where the table has only one.
        label: The name to print; empty means the exact name.
        descriptive: Shown without best and marks (``Judged@5``).
        summed: A count (``NumRet``), which is a sum over topics.
    """

    measure: str
    group: str = ""
    label: str = ""
    higher_is_better: bool = True
    descriptive: bool = False
    summed: bool = False

    @property
    def title(self) -> str:
        return self.label or printed_name(self.measure)


def printed_name(text: str) -> str:
    """A measure's name for readers, ``nDCG@5 (condensed)``; in a sentence, of each it names."""

    def printed(match: re.Match[str]) -> str:
        name, before, after, cutoff = match.groups()
        rest = ",".join(one for one in (before.rstrip(","), after.lstrip(",")) if one)
        return f"{name}{f'({rest})' if rest else ''}{cutoff} (condensed)"

    return _CONDENSED.sub(printed, text)


@dataclass(frozen=True)
class Row:
    """One system: a cell a column, its printed name, its section, its letter in marks, if any."""

    system: str
    cells: tuple[Cell, ...]
    label: str = ""
    section: str = ""
    letter: str = ""

    @property
    def title(self) -> str:
        return self.label or self.system


@dataclass(frozen=True, kw_only=True)
class Presented:
    """What a table has beside its figures; ``head``: what rows are, ``provenance``: its making."""

    title: str = ""
    label: str = "tab:results"
    style: Style = field(default_factory=Style)
    head: str = "System"
    provenance: Mapping[str, Any] = field(default_factory=dict)
    material: Material = field(default_factory=Material)


@dataclass(frozen=True)
class ResultTable(Presented, Framed):
    """A whole table: columns and rows, of which those of one group or section stand together.

    Attributes:
        notes: Lines that every format prints below the table.
        comparison: What the figures are from, where systems were compared.
        places: The section and the group of columns of each of its topic sets.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[Note, ...] = ()
    comparison: "Comparison | None" = None
    places: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [(row.section, row.system) for row in self.rows]
        if len(set(names)) < len(names):
            raise UsageError("a system is twice in one section of a table.")
        if any(len(row.cells) != len(self.columns) for row in self.rows):
            raise UsageError("a row has not exactly one cell a column.")

    @property
    def footer(self) -> list[str]:
        return [
            "".join(SIGNS[one.kind] if isinstance(one, Mark) else one for one in note)
            for note in self.notes
        ]

    @property
    def references(self) -> tuple[str, ...]:
        return () if self.comparison is None else self.comparison.references

    @property
    def pairs(self) -> bool:
        return self.comparison is not None and self.comparison.testing.all_pairs

    @cached_property
    def stacked(self) -> bool:
        """Whether its sections are topic sets, each tested by itself."""
        return len({section for section, _ in self.places.values()}) > 1

    def sections(self) -> Iterator[tuple[str, list[Row]]]:
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.section, []).append(row)
        return iter(found.items())

    def groups(self) -> list[tuple[str, int]]:
        """Each group of columns with their number; empty if no column has one."""
        counts: dict[str, int] = {}
        for column in self.columns:
            counts[column.group] = counts.get(column.group, 0) + 1
        return list(counts.items()) if any(counts) else []

    def cells(self) -> Iterator[tuple[Row, Column, Cell]]:
        for row in self.rows:
            for column, cell in zip(self.columns, row.cells, strict=True):
                yield row, column, cell

    def title_of(self, system: str) -> str:
        return next((row.title for row in self.rows if row.system == system), system)

    def set_of(self, row: Row, column: Column) -> str | None:
        """The topic set that a cell is of; None where its figure is of no comparison."""
        wanted = (row.section if self.stacked else "", column.group)
        return next((name for name, place in self.places.items() if place == wanted), None)

    def topics(self, column: Column) -> tuple[str, ...]:
        """The topics of a column; none where its sections have different ones."""
        if self.comparison is None:
            return ()
        every = {
            self.comparison.matrix(name).qids
            for name, (_, group) in self.places.items()
            if group == column.group
        }
        return every.pop() if len(every) == 1 else ()

    def values(self, row: Row, column: Column) -> NDArray[np.float64] | None:
        """(R, T) the values per topic of a cell, for each run of its system; None without."""
        name = self.set_of(row, column)
        if self.comparison is None or name is None:
            return None
        matrix = self.comparison.matrix(name)
        measures = [str(one) for one in matrix.measures]
        if row.system not in matrix.systems or column.measure not in measures:
            return None
        at = measures.index(column.measure)
        if row.system in matrix.runs:
            runs: NDArray[np.float64] = matrix.runs[row.system][:, at]
            return runs
        alone: NDArray[np.float64] = matrix.values[at, matrix.systems.index(row.system)][None]
        return alone

    def to_polars(self) -> pl.DataFrame:
        """A row for each figure and reference, of a figure that was not tested one, as in CSV."""
        rows: list[tuple[object, ...]] = []
        best = self.comparison is not None and self.comparison.testing.against == "best"
        for row, column, cell in self.cells():
            if cell.mean is None:
                continue
            own = row.system, row.section, column.group, column.measure, cell.mean, cell.n
            found = cell.equivalence
            further = (
                *(None if found is None else found.verdict is not None,),
                *((None,) * 3 if found is None else (found.reference, found.p, found.p_corrected)),
                *(cell.p_best, None if cell.p_best is None else cell.in_set),
                *(True if found is not None and best else None, column.higher_is_better),
            )
            rows += [
                (*own, cell.best, *(test[1:] if test else (None,) * 11), *further)
                for test in cell.tests or (None,)
            ]
        return pl.DataFrame(rows, schema=HEADER, orient="row", infer_schema_length=None)

    def _repr_html_(self) -> str:
        # The report builds on this module, which therefore cannot import one by a statement.
        html = import_module("adducir.tables.report.page")
        fragment: str = html.fragment(self)
        return fragment
