"""The model of a result table: what every renderer prints, and nothing about how.

A row is a system, a column is a measure; columns may stand in groups (one group a topic set,
say a year), rows in sections (say a corpus variant). A cell holds the mean as an exact double
and all that was found out about it; rounding and marks belong to the renderers
(:mod:`adducir.tables.formats`). :func:`adducir.tables.builder.build_table`
makes one from a :class:`~adducir.statistics.comparison.results.Comparison`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from adducir.core.errors import UsageError
from adducir.tables.material import Material
from adducir.tables.style import DETAILS, Detail, Style

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = [
    "DETAILS",
    "Column",
    "Detail",
    "Equivalence",
    "ResultTable",
    "Row",
    "Style",
    "TableCell",
    "Verdict",
    "Versus",
]

_CONDENSED = re.compile(
    r"(?<!\w)(\w+)\((|[^()]*,)judged_only=True(|,[^()]*)\)((?:@\d+(?:\.\d+)?)?)"
)
"""A measure of condensed lists: its name, its other parameters, its cutoff."""

Verdict = Literal["better", "worse", "none"]


@dataclass(frozen=True)
class Versus:
    """What a comparison of one cell with one baseline found.

    Attributes:
        baseline: The baseline's system name.
        difference: Mean of the system less mean of the baseline, in units of the measure.
        verdict: ``better`` or ``worse`` where the corrected p-value is at most alpha. It
            speaks of quality: for a measure where less is better, ``better`` goes with a negative
            difference.
        p: p-value of this one test; None where no test was made.
        p_corrected: p-value corrected within the family of tests.
        ci: Confidence interval of the difference, in units of the measure.
        level: The interval's level, say 0.95.
        effect: Standardised effect size of the paired differences.
        wins: Topics on which the system's value is the better one, as for the verdict.
        ties: Topics with equal values.
        losses: Topics on which the baseline's value is.
        more: Whatever else the test reported (statistic, number of draws, other effect sizes);
            for the formats that machines read.
    """

    baseline: str
    difference: float
    verdict: Verdict = "none"
    p: float | None = None
    p_corrected: float | None = None
    ci: tuple[float, float] | None = None
    level: float | None = None
    effect: float | None = None
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Equivalence:
    """What the equivalence test of one cell found.

    Attributes:
        against: The system it was compared with (the column's best, or a named one).
        equivalent: Whether the two were shown to differ by less than the bound.
        bound: Half-width of the band, in units of the measure.
        p: p-value of the test (the larger of the two one-sided ones).
        p_corrected: The same, corrected within the family of equivalence tests.
    """

    against: str
    equivalent: bool
    bound: float | None = None
    p: float | None = None
    p_corrected: float | None = None


@dataclass(frozen=True)
class TableCell:
    """One system's figures for one column.

    Attributes:
        mean: Mean over the column's topics, or their sum where the column says so; None where
            the system was not evaluated there.
        n: Number of topics.
        best: Whether it has the best mean (equal ones all).
        in_set: Whether it is in the set of systems that may be the best, which does not hold all.
        p_best: p of the system in that set (model confidence set), None where there is no set.
        versus: One entry a baseline, in the order of :attr:`ResultTable.baselines`; a baseline has
            no entry against itself.
        equivalence: Result of the equivalence test, if one was made.
        values: Values per topic, in the order of the column's topics; empty if not kept.
        runs: For a system of several runs, whose means the values are, those of each by its name.
    """

    mean: float | None = None
    n: int = 0
    best: bool = False
    in_set: bool = False
    p_best: float | None = None
    versus: tuple[Versus, ...] = ()
    equivalence: Equivalence | None = None
    values: tuple[float, ...] = ()
    runs: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def against(self, baseline: str) -> Versus | None:
        """The comparison with ``baseline``, or None if there is none."""
        return next((entry for entry in self.versus if entry.baseline == baseline), None)


@dataclass(frozen=True)
class Column:
    """One measure over one topic set.

    Attributes:
        measure: The measure's exact name, e.g. ``nDCG(judged_only=True)@5``.
        group: Name of the topic set, empty where the table has only one.
        label: The name to print; empty means the exact name.
        higher_is_better: False for, e.g., a mean rank.
        descriptive: True for what is descriptive (``Judged@5``): shown without best and marks.
        summed: True for counts (``NumRet``), which are sums over topics.
        topics: The topics' ids, in the order of the cells' values.
    """

    measure: str
    group: str = ""
    label: str = ""
    higher_is_better: bool = True
    descriptive: bool = False
    summed: bool = False
    topics: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name to print."""
        return self.label or printed_name(self.measure)


def printed_name(text: str) -> str:
    """A measure's name for readers: ``nDCG@5 (condensed)`` of ``nDCG(judged_only=True)@5``.

    In a sentence, that of each measure it names.
    """

    def printed(match: re.Match[str]) -> str:
        name, before, after, cutoff = match.groups()
        rest = ",".join(one for one in (before.rstrip(","), after.lstrip(",")) if one)
        return f"{name}{f'({rest})' if rest else ''}{cutoff} (condensed)"

    return _CONDENSED.sub(printed, text)


@dataclass(frozen=True)
class Row:
    """One system: its name, the name to print, the section it stands in, a cell a column."""

    system: str
    cells: tuple[TableCell, ...]
    label: str = ""
    section: str = ""

    @property
    def title(self) -> str:
        """The name to print."""
        return self.label or self.system


@dataclass(frozen=True)
class ResultTable:
    """A whole table.

    Attributes:
        columns: The columns; those of one group stand together.
        rows: The rows; those of one section stand together.
        baselines: The systems that the others were tested against, in order; all systems where
            all pairs were tested.
        pairs: Whether all pairs were tested.
        non_inferiority: Whether only inferiority was tested in place of equivalence.
        equivalence_against: ``best``, or the system that equivalence was tested against.
        alpha: Level of the tests.
        title: Caption.
        label: LaTeX label.
        footer: Sentences that every format prints below the table.
        facts: Settings and results that machines read: test, correction, alpha and so on.
        provenance: How the table was made: commands, versions, fingerprints.
        style: How numbers are printed.
        head: What the rows are.
        material: What the report shows beyond the table.

    Raises:
        UsageError: A row that has not exactly one cell a column, or the same system twice in one
            section.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    baselines: tuple[str, ...] = ()
    pairs: bool = False
    equivalence_against: str = "best"
    non_inferiority: bool = False
    alpha: float = 0.05
    title: str = ""
    label: str = "tab:results"
    footer: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    style: Style = field(default_factory=Style)
    head: str = "System"
    material: Material = field(default_factory=Material)

    def __post_init__(self) -> None:
        seen = set()
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise UsageError(
                    f"row {row.title!r} has {len(row.cells)} cells for {len(self.columns)} columns."
                )
            if (row.section, row.system) in seen:
                raise UsageError(f"system {row.system!r} is twice in one table section.")
            seen.add((row.section, row.system))

    def to_polars(self) -> "pl.DataFrame":
        """A row for each cell and baseline; of a cell that was not tested one row.

        Columns: system, section, group, measure, mean, n, best, p_best, and those of
        :class:`Versus` but for ``more``, the interval's ends as ``low`` and ``high``.
        """
        import polars as pl

        return pl.DataFrame(list(self._records()), infer_schema_length=None)

    def to_pandas(self) -> "pd.DataFrame":
        """The frame of :meth:`to_polars` in pandas."""
        import pandas as pd

        return pd.DataFrame(list(self._records()))

    def _records(self) -> Iterator[dict[str, Any]]:
        for row, column, cell in self.cells():
            own = {"system": row.system, "section": row.section, "group": column.group}
            figures = {"measure": column.measure, "mean": cell.mean, "n": cell.n}
            figures |= {"best": cell.best, "p_best": cell.p_best}
            for one in cell.versus or (None,):
                low, high = (one and one.ci) or (None, None)
                names = [each.name for each in fields(Versus) if each.name not in ("more", "ci")]
                details = {name: getattr(one, name, None) for name in names}
                yield own | figures | details | {"low": low, "high": high}

    def _repr_html_(self) -> str:
        """The table as the HTML report has it, for a notebook."""
        # The report builds on this module, which therefore cannot import one by a statement.
        html = import_module("adducir.tables.report.page")
        fragment: str = html.fragment(self)
        return fragment

    @property
    def stacked(self) -> bool:
        """Whether its sections are tested and marked each by itself."""
        return "sections" in self.facts

    @property
    def tested(self) -> bool:
        """Whether anything was tested, or a set of best systems made."""
        found = (cell for _, _, cell in self.cells())
        return any(
            cell.p_best is not None or cell.equivalence or any(x.p is not None for x in cell.versus)
            for cell in found
        )

    def title_of(self, system: str) -> str:
        """The name to print for a system, which need not have a row."""
        return next((row.title for row in self.rows if row.system == system), system)

    def cells(self) -> Iterator[tuple[Row, Column, TableCell]]:
        """Every cell with its row and its column, row by row."""
        for row in self.rows:
            for column, cell in zip(self.columns, row.cells, strict=True):
                yield row, column, cell
