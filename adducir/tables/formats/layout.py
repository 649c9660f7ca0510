"""What the renderers share: numbers as text, which marks a cell bears, and what marks mean.

No format is known here. A renderer asks for numbers, marks and lines of detail and puts them into
its own syntax, so that two formats of one table can never disagree.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Literal, NamedTuple

from adducir.tables.style import Detail, Style
from adducir.tables.table import Column, ResultTable, Row, TableCell, Versus

MarkKind = Literal["set", "better", "worse", "equivalent"]
LegendKind = Literal["set", "better", "worse", "equivalent", "best"]
ABSENT = "–"

_VERDICTS: tuple[Literal["better", "worse"], ...] = ("better", "worse")
_MARKING_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DETAIL_TITLES: dict[Detail, str] = {
    "difference": "difference to the baseline",
    "ci": "confidence interval of the difference",
    "effect": "effect size d (difference in standard deviations of the differences)",
    "wtl": "topics won/tied/lost against the baseline",
    "p": "p-value",
    "p_corrected": "corrected p-value (p')",
    "equivalence_p": "corrected p-value of the equivalence test (p≈)",
}


class Mark(NamedTuple):
    """One mark: its kind, and the letters of the baselines it speaks of (if several)."""

    kind: MarkKind
    letters: str


def number(value: float | None, style: Style, *, signed: bool = False) -> str:
    """A value with the table's decimals; ``–`` for none; never a negative zero.

    Args:
        value: An exact double, rounded once, here: half to even of its exact binary value.
        style: Decimals and leading zero.
        signed: Write the plus sign, too.
    """
    if value is None:
        return ABSENT
    text = f"{value:{'+' if signed else ''}.{style.decimals}f}"
    if not any(digit in text for digit in "123456789") and text[-1].isdigit():
        text = text.lstrip("+-")
    if not style.leading_zero:
        text = text.replace("0.", ".", 1) if text.lstrip("+-").startswith("0.") else text
    return text


def figure(table: ResultTable, column: Column, cell: TableCell) -> str:
    """The cell's number: a mean with the table's decimals, a sum without decimals."""
    return number(cell.mean, Style(0) if column.summed else table.style)


def p_value(value: float | None, style: Style) -> str:
    """``=0.012`` or ``<0.001``: a p-value with its relation sign, to at least three decimals."""
    decimals = max(3, style.decimals)
    wide = Style(decimals=decimals, leading_zero=style.leading_zero)
    if value is None:
        return f"={ABSENT}"
    smallest: float = 10.0**-decimals
    return f"<{number(smallest, wide)}" if value < smallest else f"={number(value, wide)}"


def letter(table: ResultTable, baseline: str) -> str:
    """The letter that stands for a baseline; empty where the table has only one."""
    if len(table.baselines) < 2:
        return ""
    place = table.baselines.index(baseline)
    size = len(_MARKING_LETTERS)
    return _MARKING_LETTERS[place] if place < size else f"({place + 1})"


def letter_of_row(table: ResultTable, row: Row) -> str:
    """The letter printed beside a row's name: only baselines of several have one."""
    return letter(table, row.system) if row.system in table.baselines else ""


def marks(table: ResultTable, column: Column, cell: TableCell) -> tuple[Mark, ...]:
    """A cell's marks: set, better, worse, equivalent, in this order; none if descriptive."""
    if column.descriptive:
        return ()
    found = [Mark("set", "")] * cell.in_set
    for kind in _VERDICTS:
        against = [entry.baseline for entry in cell.versus if entry.verdict == kind]
        if against:
            found.append(Mark(kind, "".join(letter(table, name) for name in against)))
    if cell.equivalence and cell.equivalence.equivalent:
        found.append(Mark("equivalent", ""))
    return tuple(found)


def is_best(column: Column, cell: TableCell) -> bool:
    """Whether to mark the cell as the best."""
    return cell.best and not column.descriptive


def legend(table: ResultTable) -> list[tuple[tuple[LegendKind, ...], str]]:
    """Each sentence of the legend with the marks it explains, for the marks that the table bears.

    Of tests that marked nothing, a sentence without a mark says so. The last sentence, without a
    mark, explains the details under the means, if there are any.
    """
    entries: list[tuple[tuple[LegendKind, ...], str]] = []
    judged = [cell for _, column, cell in table.cells() if not column.descriptive]
    borne = {mark.kind for _, column, cell in table.cells() for mark in marks(table, column, cell)}
    if any(cell.best for cell in judged):
        entries.append((("best",), f"best value of {_column(table)}."))
    if "set" in borne:
        how = f"model confidence set, alpha = {table.alpha:g}"
        entries.append((("set",), f"may be the best of {_column(table)} ({how})."))
    if any(entry.p is not None for cell in judged for entry in cell.versus):
        kinds = tuple(kind for kind in _VERDICTS if kind in borne)
        who = _baselines_named(table)
        marked = f"significantly {', '.join(kinds)} than {who}."
        entries.append((kinds, marked if kinds else "No difference is significant."))
    if any(cell.equivalence for cell in judged):
        less = table.non_inferiority
        what = "shown not to be inferior to" if less else "statistically equivalent to"
        if "equivalent" in borne:
            entries.append((("equivalent",), f"{what} {_comparator(table)}."))
        else:
            no = "was" if less else "was shown to be"
            entries.append(((), f"No system {no} {what} {_comparator(table)}."))
    if table.style.details:
        details = "; ".join(_detail_title(table, detail) for detail in table.style.details)
        entries.append(((), f"Below each mean: {details}."))
    return entries


def _column(table: ResultTable) -> str:
    """What systems are the best of."""
    return "the column in its section" if table.stacked else "the column"


def _baselines_named(table: ResultTable) -> str:
    names = [table.title_of(system) for system in table.baselines]
    if len(names) == 1:
        return f"the baseline {names[0]}"
    if table.pairs:
        return "the systems whose letters follow"
    lettered = [f"{letter(table, system)}: {table.title_of(system)}" for system in table.baselines]
    return f"the baselines whose letters follow ({', '.join(lettered)})"


def _detail_title(table: ResultTable, detail: Detail) -> str:
    levels = {entry.level for _, _, cell in table.cells() for entry in cell.versus if entry.level}
    level = f"{100 * levels.pop():g}% " if detail == "ci" and len(levels) == 1 else ""
    return level + _DETAIL_TITLES[detail]


def _comparator(table: ResultTable) -> str:
    if table.equivalence_against == "best":
        return f"the best system of {_column(table)}"
    return table.title_of(table.equivalence_against)


def detail_lines(table: ResultTable, column: Column, cell: TableCell) -> tuple[str, ...]:
    """The lines under a mean, as the table's style asks for: one per detail and baseline."""
    if column.descriptive:
        return ()
    lines = []
    for detail in table.style.details:
        if detail == "equivalence_p":
            if cell.equivalence:
                lines.append(f"p≈{p_value(cell.equivalence.p_corrected, table.style)}")
            continue
        for entry in cell.versus:
            prefix = f"{letter(table, entry.baseline)}: " if len(table.baselines) > 1 else ""
            text = _detail(detail, entry, table.style)
            if text:
                lines.append(prefix + text)
    return tuple(lines)


def _detail(detail: Detail, entry: Versus, style: Style) -> str:
    """One detail as text, empty where it is not known."""
    if detail == "difference":
        return number(entry.difference, style, signed=True)
    if detail == "ci" and entry.ci:
        low, high = (number(end, style, signed=True) for end in entry.ci)
        return f"[{low}, {high}]"
    if detail == "effect" and entry.effect is not None:
        return f"d={number(entry.effect, Style(2, style.leading_zero), signed=True)}"
    if detail == "wtl" and entry.wins is not None:
        return f"{entry.wins}/{entry.ties}/{entry.losses}"
    if detail == "p" and entry.p is not None:
        return f"p{p_value(entry.p, style)}"
    if detail == "p_corrected" and entry.p_corrected is not None:
        return f"p'{p_value(entry.p_corrected, style)}"
    return ""


def column_groups(table: ResultTable) -> list[tuple[str, int]]:
    """Each run of columns with the same group, with its length; empty if no column has one."""
    if not any(column.group for column in table.columns):
        return []
    runs = groupby(column.group for column in table.columns)
    return [(name, len(list(run))) for name, run in runs]


def sections(table: ResultTable) -> Iterator[tuple[str, list[Row]]]:
    """Each run of rows with the same section."""
    for name, rows in groupby(table.rows, key=lambda row: row.section):
        yield name, list(rows)
