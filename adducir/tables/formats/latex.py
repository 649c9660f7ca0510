r"""A result table as a LaTeX ``table`` that compiles as pasted, with booktabs alone.

Marks are superscripts from base LaTeX (arrows, an approximation sign, letters). Numbers are
aligned at the point by invisible digits, so no package for that is needed either. Names may hold
any character; those that pdfLaTeX's fonts lack (Chinese, say) need LuaLaTeX or XeLaTeX and a
font, as everywhere.
"""

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from adducir.tables.formats import layout
from adducir.tables.formats.format import TableFormat
from adducir.tables.formats.latex_cut import COLUMN, PAGE, cut, fits_text
from adducir.tables.formats.names import one_line, wrap_title
from adducir.tables.formats.tex_escape import escaped, label
from adducir.tables.table import Column, ResultTable, Row

MANY = 6
"""A table of more columns is set smaller, spans both columns of a two-column page, and may stand
out into both margins alike."""
NARROW = 8
"""Characters at which titles of columns are broken where there is little room."""
BROAD = 12
"""The same where there is more."""
_SMALL = [r"\footnotesize", r"\setlength{\tabcolsep}{3pt}"]
_SYMBOLS: dict[layout.LegendKind, str] = {
    "best": r"\textbf{Bold}",
    "set": r"\circ",
    "better": r"\uparrow",
    "worse": r"\downarrow",
    "equivalent": r"\approx",
}


class Latex(TableFormat):
    """A LaTeX ``table`` that needs booktabs alone."""

    ending: ClassVar = ".tex"
    topics: ClassVar = "nowhere"

    def render(self, table: ResultTable) -> str:
        return render(table)


def render(table: ResultTable) -> str:
    """The whole ``table`` environment, or several, ending in a line break."""
    wide = _wide(table)
    limit = {"column": COLUMN, "page": PAGE}.get(table.style.fit)
    parts = [table] if limit is None else cut(table, NARROW, limit)
    each = [_environment(part, wide) for part in parts[:-1]]
    each.append(_environment(parts[-1], wide, _notes(table) if table.style.footer else []))
    return r"% needs \usepackage{booktabs}" + "\n" + "\n\n".join(each) + "\n"


def _wide(table: ResultTable) -> bool:
    """Whether it spans the page."""
    fit = table.style.fit
    return fit == "page" or (fit == "auto" and len(table.columns) > MANY)


def _environment(table: ResultTable, wide: bool, notes: Sequence[str] = ()) -> str:
    large = table.style.fit == "auto" and not wide and fits_text(table, BROAD)
    small = [] if large else _SMALL
    environment = "table*" if wide else "table"
    lines = [
        f"\\begin{{{environment}}}[tb]",
        r"\centering",
        f"\\caption{{{escaped(table.title or 'Results.')}}}",
        f"\\label{{{label(table.label)}}}",
        *small,
        *([r"\makebox[\linewidth]{%"] * wide),
        f"\\begin{{tabular}}{{@{{}}{'l' * (1 + len(table.columns))}@{{}}}}",
        r"\toprule",
        *_header(table, NARROW if small else BROAD),
        r"\midrule",
        *_body(table),
        r"\bottomrule",
        r"\end{tabular}" + "}" * wide,
        *notes,
        f"\\end{{{environment}}}",
    ]
    return "\n".join(lines)


def _header(table: ResultTable, width: int) -> Iterator[str]:
    """The groups over their rules, then the measures, broken beyond ``width`` characters."""
    groups = layout.column_groups(table)
    if groups:
        spans = [f"\\multicolumn{{{count}}}{{c}}{{{escaped(name)}}}" for name, count in groups]
        yield " & ".join(["", *spans]) + r" \\"
        place, rules = 2, []
        for name, count in groups:
            if name:
                rules.append(f"\\cmidrule(lr){{{place}-{place + count - 1}}}")
            place += count
        yield "".join(rules)
    titles = [f"\\multicolumn{{1}}{{c}}{{{_title(column, width)}}}" for column in table.columns]
    yield " & ".join([escaped(table.head), *titles]) + r" \\"


def _title(column: Column, width: int) -> str:
    lines = [escaped(line) for line in wrap_title(one_line(column.title), width)]
    if len(lines) == 1:
        return lines[0]
    stacked = r"\\".join(lines)
    return rf"\begin{{tabular}}[b]{{@{{}}c@{{}}}}{stacked}\end{{tabular}}"


def _body(table: ResultTable) -> Iterator[str]:
    digits = [
        max((len(layout.figure(table, column, row.cells[place])) for row in table.rows), default=0)
        for place, column in enumerate(table.columns)
    ]
    span = f"\\multicolumn{{{1 + len(table.columns)}}}{{@{{}}l@{{}}}}"
    for count, (section, rows) in enumerate(layout.sections(table)):
        if section:
            yield from [r"\addlinespace"] * (count > 0)
            yield f"{span}{{\\textit{{{escaped(section)}}}}} \\\\"
        for row in rows:
            yield from _row(table, row, digits)


def _row(table: ResultTable, row: Row, digits: Sequence[int]) -> Iterator[str]:
    """The line of means, then a line for each line of details."""
    mark = layout.letter_of_row(table, row)
    means = [escaped(row.title) + (f"$^{{\\mathrm{{{mark}}}}}$" if mark else "")]
    below: list[tuple[str, ...]] = []
    for place, (column, cell) in enumerate(zip(table.columns, row.cells, strict=True)):
        text = layout.figure(table, column, cell)
        shown = _signed(escaped(text))
        bold = f"\\textbf{{{shown}}}" if layout.is_best(column, cell) else shown
        padding = _invisible(digits[place] - len(text)) if text != layout.ABSENT else ""
        signs = "".join(_superscript(*mark) for mark in layout.marks(table, column, cell))
        means.append(padding + bold + (f"$^{{{signs}}}$" if signs else ""))
        below.append(layout.detail_lines(table, column, cell))
    yield " & ".join(means) + r" \\"
    for level in range(max(map(len, below), default=0)):
        texts = [
            f"{{\\scriptsize {_signed(escaped(lines[level]))}}}" if level < len(lines) else ""
            for lines in below
        ]
        yield " & ".join(["", *texts]) + r" \\"


def _signed(text: str) -> str:
    """Figures with true minus signs."""
    return re.sub(r"-(?=[\d.])", "$-$", text)


def _invisible(count: int) -> str:
    return f"\\phantom{{{'0' * count}}}" if count else ""


def _superscript(kind: layout.LegendKind, letters: str) -> str:
    return _SYMBOLS[kind] + (f"\\mathrm{{{letters}}}" if letters else "")


def _notes(table: ResultTable) -> list[str]:
    """Legend and footer in small print under the table, as wide as the text."""
    sentences = []
    for kinds, meaning in layout.legend(table):
        shown = [_SYMBOLS[kind] if kind == "best" else f"$^{{{_SYMBOLS[kind]}}}$" for kind in kinds]
        sentences.append(f"{' '.join(shown)}: {escaped(meaning)}" if shown else escaped(meaning))
    sentences += map(escaped, table.footer)
    if not sentences:
        return []
    return [
        r"\par\medskip",
        r"\begin{minipage}{\linewidth}\footnotesize",
        *sentences,
        r"\end{minipage}",
    ]
