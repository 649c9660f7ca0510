"""A result table as a LaTeX ``table`` that compiles as pasted, with booktabs and graphicx.

LaTeX itself measures the table and scales it down if it is wider than the column or page. Invisible
digits align numbers at the decimal point. Characters missing from pdfLaTeX's fonts (such as
Chinese) need LuaLaTeX or XeLaTeX and a font.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import ClassVar

from adducir.tables.formats import TableFormat
from adducir.tables.formats.names import one_line, wrap_title
from adducir.tables.style import ABSENT
from adducir.tables.table import ResultTable, Row

MANY = 6
"""A table with more columns is set smaller and spans both columns of a two-column page."""
_SYMBOLS = {
    "set": r"\circ",
    "better": r"\uparrow",
    "worse": r"\downarrow",
    "equivalent": r"\approx",
}
_IN_NOTES = {
    "best": r"\textbf{Bold}:",
    "set": r"$^{\circ}$",
    "better": r"$^{\uparrow}$",
    "worse": r"$^{\downarrow}$",
    "equivalent": r"$^{\approx}$",
}
_WORDS = (
    "αalpha βbeta γgamma δdelta εepsilon ζzeta ηeta θtheta κkappa λlambda μmu νnu ξxi πpi "
    "ρrho σsigma τtau φphi χchi ψpsi ωomega ΓGamma ΔDelta ΘTheta ΛLambda ΞXi ΠPi ΣSigma "
    "ΦPhi ΨPsi ΩOmega →rightarrow ←leftarrow ↑uparrow ↓downarrow ≈approx ≤leq ≥geq ≠neq ×times "
    "±pm ·cdot ∞infty ∈in ∪cup ∩cap ∘circ ′prime"
)
"""Characters by their names in math mode."""
_ESCAPES = str.maketrans(
    {word[0]: f"$\\{word[1:]}$" for word in _WORDS.split()}
    | {
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
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
    }
)


class Latex(TableFormat):
    """A LaTeX ``table`` that needs only booktabs and graphicx."""

    ending: ClassVar = ".tex"
    topics: ClassVar = "nowhere"

    def render(self, table: ResultTable) -> str:
        fit = table.style.fit
        is_wide = len(table.columns) > MANY
        environment = "table*" if fit == "page" or (fit == "auto" and is_wide) else "table"
        # Without what LaTeX would expand, and without blanks.
        label = re.sub(r"[\\{}%#~^$&_ ]", "", one_line(table.label))
        small = [r"\footnotesize", r"\setlength{\tabcolsep}{3pt}"]
        notes = [
            r"\par\medskip",
            r"\begin{minipage}{\linewidth}\footnotesize",
            *table.footer(_IN_NOTES, escaped),
            r"\end{minipage}",
        ]
        lines = [
            r"% needs \usepackage{booktabs,graphicx}",
            f"\\begin{{{environment}}}[tb]",
            r"\centering",
            f"\\caption{{{escaped(table.title or 'Results.')}}}",
            f"\\label{{{label}}}",
            *(small if is_wide or fit != "auto" else ()),
            f"\\sbox0{{\\begin{{tabular}}{{@{{}}{'l' * (1 + len(table.columns))}@{{}}}}",
            r"\toprule",
            *_header(table, 8 if is_wide or fit != "auto" else 12),
            r"\midrule",
            *_body(table),
            r"\bottomrule",
            r"\end{tabular}}%",
            r"\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi",
            *(notes if table.style.footer and table.below else ()),
            f"\\end{{{environment}}}",
        ]
        return "\n".join(lines) + "\n"


def _header(table: ResultTable, width: int) -> Iterator[str]:
    if groups := table.groups():
        spans, rules, place = "", "", 2
        for name, count in groups.items():
            spans += f" & \\multicolumn{{{count}}}{{c}}{{{escaped(name)}}}"
            rules += f"\\cmidrule(lr){{{place}-{place + count - 1}}}" if name else ""
            place += count
        yield spans + r" \\"
        yield rules
    head = escaped(table.head)
    for column in table.columns:
        title = r"\\".join(map(escaped, wrap_title(one_line(column.title), width)))
        if r"\\" in title:
            title = rf"\begin{{tabular}}[b]{{@{{}}c@{{}}}}{title}\end{{tabular}}"
        head += f" & \\multicolumn{{1}}{{c}}{{{title}}}"
    yield head + r" \\"


def _body(table: ResultTable) -> Iterator[str]:
    digits = [0] * len(table.columns)
    for row in table.rows:
        for place, cell in enumerate(row.cells):
            digits[place] = max(digits[place], len(cell.text))
    span = f"\\multicolumn{{{1 + len(table.columns)}}}{{@{{}}l@{{}}}}"
    for count, (section, rows) in enumerate(table.by_section().items()):
        if section:
            yield from [r"\addlinespace"] * (count > 0)
            yield f"{span}{{\\textit{{{escaped(section)}}}}} \\\\"
        for row in rows:
            yield from _row(row, digits)


def _row(row: Row, digits: Sequence[int]) -> Iterator[str]:
    line = escaped(row.title) + (f"$^{{\\mathrm{{{row.letter}}}}}$" if row.letter else "")
    for cell, width in zip(row.cells, digits, strict=True):
        missing = width - len(cell.text) if cell.text != ABSENT else 0
        line += " & " + (f"\\phantom{{{'0' * missing}}}" if missing else "")
        line += f"\\textbf{{{_signed(cell.text)}}}" if cell.best else _signed(cell.text)
        signs = ""
        for kind, letters in cell.marks:
            signs += _SYMBOLS[kind] + (f"\\mathrm{{{letters}}}" if letters else "")
        line += f"$^{{{signs}}}$" if signs else ""
    yield line + r" \\"
    for details in zip_longest(*(cell.lines for cell in row.cells)):
        texts = [f"{{\\scriptsize {_signed(detail)}}}" if detail else "" for detail in details]
        yield " & ".join(["", *texts]) + r" \\"


def _signed(text: str) -> str:
    return re.sub(r"-(?=[\d.])", "$-$", escaped(text))


def escaped(text: str) -> str:
    """A text on one line with LaTeX's special characters and ligatures escaped."""
    parted = re.sub(r"(?<=([-',]))(?=\1)", "{}", one_line(text).translate(_ESCAPES))
    return "{}" + parted if parted.startswith(("[", "*")) else parted
