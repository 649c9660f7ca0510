"""A result table as a LaTeX ``table`` that compiles as pasted, with booktabs and graphicx.

LaTeX itself measures the table, and scales it down where it is wider than the column or page.
Numbers are aligned at the point by invisible digits. Characters that pdfLaTeX's fonts lack
(Chinese, say) need LuaLaTeX or XeLaTeX and a font.
"""

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from adducir.tables.formats import TableFormat
from adducir.tables.formats.names import one_line, wrap_title
from adducir.tables.style import ABSENT
from adducir.tables.table import Column, Mark, ResultTable, Row

MANY = 6
"""A table of more columns is set smaller and spans both columns of a two-column page."""
_SYMBOLS = {
    "best": r"\textbf{Bold}:",
    "set": r"\circ",
    "better": r"\uparrow",
    "worse": r"\downarrow",
    "equivalent": r"\approx",
}
_GREEK = (
    "αalpha βbeta γgamma δdelta εepsilon ζzeta ηeta θtheta κkappa λlambda μmu νnu ξxi πpi "
    "ρrho σsigma τtau φphi χchi ψpsi ωomega ΓGamma ΔDelta ΘTheta ΛLambda ΞXi ΠPi ΣSigma "
    "ΦPhi ΨPsi ΩOmega"
)
_MATHS = (
    "→rightarrow ←leftarrow ↑uparrow ↓downarrow ≈approx ≤leq ≥geq ≠neq ×times ±pm ·cdot "
    "∞infty ∈in ∪cup ∩cap ∘circ ′prime"
)
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"{\ttfamily\char34}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\dots{}",
    "−": "$-$",
    **{char: f"\\{char}" for char in "&%$#_{}"},
    **{word[0]: f"$\\{word[1:]}$" for word in f"{_GREEK} {_MATHS}".split()},
}


class Latex(TableFormat):
    """A LaTeX ``table`` that needs booktabs and graphicx alone."""

    ending: ClassVar = ".tex"
    topics: ClassVar = "nowhere"

    def render(self, table: ResultTable) -> str:
        fit = table.style.fit
        many = len(table.columns) > MANY
        environment = "table*" if fit == "page" or (fit == "auto" and many) else "table"
        small = [r"\footnotesize", r"\setlength{\tabcolsep}{3pt}"]
        lines = [
            r"% needs \usepackage{booktabs,graphicx}",
            f"\\begin{{{environment}}}[tb]",
            r"\centering",
            f"\\caption{{{escaped(table.title or 'Results.')}}}",
            f"\\label{{{_label(table.label)}}}",
            *(small if many or fit != "auto" else ()),
            f"\\sbox0{{\\begin{{tabular}}{{@{{}}{'l' * (1 + len(table.columns))}@{{}}}}",
            r"\toprule",
            *_header(table, 8 if many or fit != "auto" else 12),
            r"\midrule",
            *_body(table),
            r"\bottomrule",
            r"\end{tabular}}%",
            r"\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi",
            *(_notes(table) if table.style.footer and table.notes else ()),
            f"\\end{{{environment}}}",
        ]
        return "\n".join(lines) + "\n"


def _header(table: ResultTable, width: int) -> Iterator[str]:
    groups = table.groups()
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
        max((len(row.cells[place].text) for row in table.rows), default=0)
        for place in range(len(table.columns))
    ]
    span = f"\\multicolumn{{{1 + len(table.columns)}}}{{@{{}}l@{{}}}}"
    for count, (section, rows) in enumerate(table.sections()):
        if section:
            yield from [r"\addlinespace"] * (count > 0)
            yield f"{span}{{\\textit{{{escaped(section)}}}}} \\\\"
        for row in rows:
            yield from _row(row, digits)


def _row(row: Row, digits: Sequence[int]) -> Iterator[str]:
    letter = f"$^{{\\mathrm{{{row.letter}}}}}$" if row.letter else ""
    means = [escaped(row.title) + letter]
    for cell, width in zip(row.cells, digits, strict=True):
        shown = _signed(escaped(cell.text))
        missing = width - len(cell.text) if cell.text != ABSENT else 0
        padding = f"\\phantom{{{'0' * missing}}}" if missing else ""
        signs = "".join(
            _SYMBOLS[kind] + (f"\\mathrm{{{letters}}}" if letters else "")
            for kind, letters in cell.marks
        )
        bold = f"\\textbf{{{shown}}}" if cell.best else shown
        means.append(padding + bold + (f"$^{{{signs}}}$" if signs else ""))
    yield " & ".join(means) + r" \\"
    for level in range(max((len(cell.lines) for cell in row.cells), default=0)):
        texts = [
            f"{{\\scriptsize {_signed(escaped(cell.lines[level]))}}}"
            if level < len(cell.lines)
            else ""
            for cell in row.cells
        ]
        yield " & ".join(["", *texts]) + r" \\"


def _signed(text: str) -> str:
    return re.sub(r"-(?=[\d.])", "$-$", text)


def _notes(table: ResultTable) -> list[str]:
    def shown(one: str | Mark) -> str:
        if not isinstance(one, Mark):
            return escaped(one)
        symbol = _SYMBOLS[one.kind]
        return symbol if one.kind == "best" else f"$^{{{symbol}}}$"

    sentences = ["".join(map(shown, note)) for note in table.notes]
    return [
        r"\par\medskip",
        r"\begin{minipage}{\linewidth}\footnotesize",
        *sentences,
        r"\end{minipage}",
    ]


def escaped(text: str) -> str:
    """A text on one line in which no character means anything to LaTeX, nor joins the next one."""
    plain = "".join(_ESCAPES.get(char, char) for char in one_line(text))
    parted = re.sub(r"(?<=([-',]))(?=\1)", "{}", plain)
    return "{}" + parted if parted.startswith(("[", "*")) else parted


def _label(text: str) -> str:
    """A text as the name of a label: without what LaTeX would expand, and without blanks."""
    return "".join(char for char in text if char not in "\\{}%#~^$&_ " and char.isprintable())
