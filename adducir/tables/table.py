"""The model of a result table, independent of formats.

A row is a system, a column a measure; columns may be in groups (topic sets), rows in sections (such
as corpus variants). :func:`.build_table` makes a table of a
:class:`~adducir.statistics.comparison.Comparison`; renderers neither test nor round.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.core.packages import imported
from adducir.core.texts import typed
from adducir.corpora.frames import Framed
from adducir.tables.report_data import ReportData
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
"""A measure on condensed lists: name, other parameters, cutoff."""


class Mark(NamedTuple):
    """A mark on a figure: its kind, and the letters of its references, if several."""

    kind: MarkKind
    letters: str = ""


Note: TypeAlias = tuple[str | Mark, ...]
"""A line below a table: text and marks that each format renders itself."""


class PairResult(NamedTuple):
    """One test of a cell: a row of :attr:`.Comparison.tests`, from its system's view."""

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


class PoweredFigure(NamedTuple):
    """A prediction-powered mean, or difference from ``reference``, of a cell."""

    topic_set: str
    system: str
    measure: str
    reference: str  # empty for a mean
    value: float
    low: float
    high: float
    weight: float  # lambda, the model's weight
    humans: int  # topics that humans judged
    model: int  # further topics, judged by the model alone


@dataclass(frozen=True, slots=True)
class Cell:
    """One system's figure in one column.

    Attributes:
        mean: Mean over the ``n`` topics, or their sum; None if missing.
        best: Whether it is the best of its column (all ties).
        in_set: Whether it is in the set of systems that may be the best, unless that has all.
        p_best: p of the system in that set, None without a set.
        tests: Tests of difference against each reference, in the table's order.
        equivalence: Test of equivalence, if one was made.
        text: The printed figure, followed by ``marks``, with ``lines`` of details below.
        topic_set: The figure's topic set in the comparison.
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
    topic_set: str | None = None


@dataclass(frozen=True)
class Column:
    """One measure over one topic set.

    Attributes:
        measure: The measure's exact name, e.g. ``nDCG(judged_only=True)@5``.
        group: Name of the topic set, empty if the table has only one.
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
        inner = ",".join(part for part in (before.rstrip(","), after.lstrip(",")) if part)
        return f"{name}{f'({inner})' if inner else ''}{cutoff} (condensed)"

    return _CONDENSED.sub(printed, text)


@dataclass(frozen=True)
class Row:
    """One system: a cell per column, its printed name, section, and any letter in marks.

    ``rates`` is False for a row of statistics, which the report does not rank.
    """

    system: str
    cells: tuple[Cell, ...]
    label: str = ""
    section: str = ""
    letter: str = ""
    rates: bool = True

    @property
    def title(self) -> str:
        return self.label or self.system


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A table's layout, names, and additional content.

    Attributes:
        head: What the rows are.
        provenance: The origin of the figures.
        system_names: Printed name of each system, if it differs from the system's name.
        measure_names: Printed name of each measure, by its exact name.
        sections: Section (such as a corpus variant) of systems.
        places: Section and group of columns of topic sets whose name is not that of a group.
        notes: Sentences to add below.
        evaluated: Whether Adducir computed the values, and knows how unjudged documents counted.
        unit: What a topic is called.
        powered: Prediction-powered means and differences, if a model judged topics too.
        trained: Systems that are known to be trained; a seed in a run's name tells it, too.
    """

    title: str = ""
    label: str = "tab:results"
    style: Style = field(default_factory=Style)
    head: str = "System"
    provenance: Mapping[str, Any] = field(default_factory=dict)
    material: ReportData = field(default_factory=ReportData)
    system_names: Mapping[str, str] = field(default_factory=dict)
    measure_names: Mapping[str, str] = field(default_factory=dict)
    sections: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    evaluated: bool = True
    unit: str = "topic"
    powered: Sequence[PoweredFigure] = ()
    trained: Collection[str] = ()


@dataclass(frozen=True, kw_only=True)
class ResultTable(Layout, Framed):
    """A whole table: columns and rows, contiguous by group or section.

    Attributes:
        below: Lines that every format prints below the table.
        comparison: The source of the figures, if systems were compared.
        places: The section and the group of columns of each of its topic sets.

    Example:
        >>> table = ad.build_table(ad.compare(ad.evaluate([run], {"1": {"x": 1}}, "RR")))
        >>> table.to_polars()["system"].to_list()
        ['cats']
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    below: Sequence[Note] = ()
    comparison: "Comparison | None" = None

    def footer(
        self, signs: Mapping[str, str] = SIGNS, escaped: Callable[[str], str] = str
    ) -> list[str]:
        """The lines below as texts, with a format's own signs for marks."""
        return [
            "".join(signs[part.kind] if isinstance(part, Mark) else escaped(part) for part in line)
            for line in self.below
        ]

    @typed
    def render(self, form: str = "terminal", **options: object) -> str:
        """The table as text: ``terminal``, ``markdown``, ``latex``, ``csv``, ``json``, ``html``.

        Args:
            form: The format, a kind of :data:`adducir.tables.formats.TABLES`.
            options: The format's own, such as ``per_topic``.
        """
        text: str = imported("adducir.tables.formats:render")(self, form, **options)
        return text

    @property
    def references(self) -> tuple[str, ...]:
        return () if self.comparison is None else self.comparison.references

    @property
    def pairs(self) -> bool:
        return self.comparison is not None and self.comparison.testing.all_pairs

    def by_section(self) -> dict[str, list[Row]]:
        sections: dict[str, list[Row]] = {}
        for row in self.rows:
            sections.setdefault(row.section, []).append(row)
        return sections

    def groups(self) -> dict[str, int]:
        """Each group of columns with their number; empty if no column has one."""
        counts = Counter(column.group for column in self.columns)
        return counts if any(counts) else {}

    def cells(self) -> Iterator[tuple[Row, Column, Cell]]:
        for row in self.rows:
            for column, cell in zip(self.columns, row.cells, strict=True):
                yield row, column, cell

    def topics(self, column: Column) -> tuple[str, ...]:
        """The topics of a column; empty if its sections differ."""
        place, qids = self.columns.index(column), dict[str, tuple[str, ...]]()
        for row in self.rows:
            if self.comparison and (name := row.cells[place].topic_set) is not None:
                qids[name] = self.comparison.matrix(name).qids
        return qids.popitem()[1] if len(set(qids.values())) == 1 else ()

    def values(self, row: Row, column: Column) -> NDArray[np.float64] | None:
        """(T,) the values per topic of a cell, means over the runs of its system; None without."""
        name = row.cells[self.columns.index(column)].topic_set
        if self.comparison is None or name is None:
            return None
        return self.comparison.matrix(name).of(row.system, column.measure)

    def to_polars(self) -> pl.DataFrame:
        """A row per figure and reference, one for an untested figure, as in CSV."""
        rows: list[tuple[object, ...]] = []
        best = self.comparison is not None and self.comparison.testing.against == "best"
        for row, column, cell in self.cells():
            if cell.mean is None:
                continue
            cells = row.system, row.section, column.group, column.measure, cell.mean, cell.n
            claim = cell.equivalence
            further = (
                *(None if claim is None else claim.verdict is not None,),
                *((None,) * 3 if claim is None else (claim.reference, claim.p, claim.p_corrected)),
                *(cell.p_best, None if cell.p_best is None else cell.in_set),
                True if claim is not None and best else None,
                column.higher_is_better if row.rates else None,
            )
            rows += [
                (*cells, cell.best, *(test[1:] if test else (None,) * 11), *further)
                for test in cell.tests or (None,)
            ]
        frame = pl.DataFrame(rows, schema=HEADER, orient="row", infer_schema_length=None)
        return self._with_powered(frame) if self.powered else frame

    def _with_powered(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame with prediction-powered figures in eight more columns."""
        set_of = {name: place[1] for name, place in self.places.items()}
        keys = ("group", "system", "measure")
        for kind, on in (("ppi", keys), ("ppi_difference", (*keys, "baseline"))):
            figures = [
                (set_of[figure.topic_set], *figure[1:3], *figure[3 : len(on)], *figure[4:8])
                for figure in self.powered
                if bool(figure.reference) == (kind != "ppi")
            ]
            names = (kind, f"{kind}_low", f"{kind}_high", f"{kind}_lambda")
            schema = dict.fromkeys(on, pl.String) | dict.fromkeys(names, pl.Float64)
            more = pl.DataFrame(figures, schema=schema, orient="row")
            frame = frame.with_columns(pl.col(on).cast(pl.String))
            frame = frame.join(more, on=on, how="left", maintain_order="left")
        return frame

    def _repr_html_(self) -> str:
        # The report builds on this module, which therefore cannot import one by a statement.
        html = import_module("adducir.tables.report.page")
        return html.fragment(self)
