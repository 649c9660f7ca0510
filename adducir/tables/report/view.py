"""A table as the sections of a report read it: rated columns, arrays of values, names."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from adducir.tables.material import Material
from adducir.tables.table import Column, ResultTable

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes:
        name: Its id.
        title: Its heading.
        lead: What it shows and how to read it, a sentence or two, as plain text.
        body: Its HTML.
        folded: Whether it is closed until somebody opens it.
        needs: Whether it shows nothing without script.
    """

    name: str
    title: str
    lead: str
    body: str
    folded: bool = False


class View:
    """A table and what the report has beyond it."""

    def __init__(self, table: ResultTable) -> None:
        self.table = table
        self.material: Material = table.material

    @cached_property
    def names(self) -> list[str]:
        """The name of each row, with its section where there are several."""
        many = len({row.section for row in self.table.rows}) > 1
        return [
            f"{row.title} · {row.section}" if many and row.section else row.title
            for row in self.table.rows
        ]

    @cached_property
    def rated(self) -> list[int]:
        """The places of the columns that rate systems."""
        columns = enumerate(self.table.columns)
        return [place for place, column in columns if not (column.descriptive or column.summed)]

    @cached_property
    def base(self) -> int | None:
        """The row of the first baseline."""
        rows = enumerate(self.table.rows)
        named = self.table.references[:1] if not self.table.pairs else ()
        return next((at for at, row in rows if row.system in named), None)

    def topics(self, place: int) -> tuple[str, ...]:
        """The topics of a column."""
        return self.table.topics(self.column(place))

    def values(self, place: int) -> dict[int, Floats]:
        """The values per topic of each row that has them, by the row's number."""
        return {at: runs.mean(axis=0) for at, runs in self._each(place).items()}

    def runs(self, place: int) -> dict[int, Floats]:
        """The values per run and topic, (R, T), of each row that has values, by its number.

        Empty where no row has several runs.
        """
        found = self._each(place)
        return found if any(len(one) > 1 for one in found.values()) else {}

    def _each(self, place: int) -> dict[int, Floats]:
        if not self.topics(place):
            return {}
        column = self.column(place)
        found = ((at, self.table.values(row, column)) for at, row in enumerate(self.table.rows))
        return {at: values for at, values in found if values is not None}

    @cached_property
    def with_values(self) -> list[int]:
        """The rated columns that hold values per topic."""
        return [place for place in self.rated if self.values(place)]

    def ranked(self, place: int) -> list[int]:
        """The rows that have a mean, the best first."""
        means = {at: row.cells[place].mean for at, row in enumerate(self.table.rows)}
        sign = -1.0 if self.column(place).higher_is_better else 1.0
        known = [(sign * mean, at) for at, mean in means.items() if mean is not None]
        return [at for _, at in sorted(known)]

    def scored(self, place: int) -> list[int]:
        """The rows that have values per topic, the best mean first."""
        values = self.values(place)
        return [at for at in self.ranked(place) if at in values]

    @property
    def pairs(self) -> bool:
        """Whether the table tested all pairs of its rows, not those of each section alone."""
        return self.table.pairs and not self.table.stacked

    def compared(self, place: int) -> dict[str, list[int]]:
        """The :meth:`scored` rows of each section that is tested by itself; else all, under ""."""
        rows = self.scored(place)
        if not self.table.stacked:
            return {"": rows}
        found: dict[str, list[int]] = {row.section: [] for row in self.table.rows}
        for at in rows:
            found[self.table.rows[at].section].append(at)
        return found

    def systems(self, place: int) -> list[int]:
        """The rows of systems, the best first: no bounds, as far as values tell them apart."""
        return self.scored(place) or self.ranked(place)

    @cached_property
    def first(self) -> tuple[int, ...]:
        """The systems that are shown first: the baseline and the best of the others, or one."""
        places = self.with_values or self.rated
        order = self.systems(places[0]) if places else []
        base = self.base if self.base is not None else (order[-1] if order else None)
        others = [at for at in order if at != base]
        return () if base is None else (base, *others[:1])

    @cached_property
    def pair(self) -> tuple[int, int] | None:
        """The two systems that are compared first; None where there is one."""
        return (self.first[0], self.first[1]) if len(self.first) == 2 else None

    def column(self, place: int) -> Column:
        """A column."""
        return self.table.columns[place]

    def title(self, place: int) -> str:
        """A column's name with that of its topic set."""
        column = self.column(place)
        return f"{column.group}: {column.title}" if column.group else column.title

    def number(self, value: float | None, *, signed: bool = False) -> str:
        """A figure with the table's decimals and a true minus sign."""
        return self.table.style.number(value, signed=signed).replace("-", "−")

    @property
    def alpha(self) -> float:
        """The significance level of the tests; .05 where there are none."""
        return self.table.comparison.testing.alpha if self.table.comparison else 0.05
