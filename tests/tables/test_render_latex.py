"""LaTeX: it compiles as pasted with booktabs alone, whatever the names."""

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from sample_tables import nasty, small, versus, wide

from adducir.tables.formats.latex import render
from adducir.tables.formats.latex_cut import COLUMN
from adducir.tables.formats.latex_cut import cut as latex_cut
from adducir.tables.formats.tex_escape import escaped, label
from adducir.tables.table import Column, ResultTable, Row, Style, TableCell

NO_LATEX = shutil.which("pdflatex") is None
DETAILS = Style(2, False, ("difference", "ci", "effect", "wtl", "p_corrected", "equivalence_p"))


def test_small_table() -> None:
    lines = render(small()).splitlines()
    assert lines[0] == r"% needs \usepackage{booktabs}"
    assert lines[1] == r"\begin{table}[tb]"
    assert r"\caption{Made-up figures}" in lines
    assert r"\label{tab:results}" in lines
    assert r"BM25 & 0.612 & \textbf{0.400} \\" in lines
    assert r"BM25+RM3 & \textbf{0.700}$^{\uparrow}$ & 0.390$^{\approx}$ \\" in lines
    assert r"QLD & 0.200$^{\downarrow}$ & \textendash{} \\" in lines
    arrows = r"$^{\uparrow}$ $^{\downarrow}$"
    assert f"{arrows}: significantly better, worse than the baseline BM25." in lines
    assert "Means over 6 topics." in lines


def test_numbers_of_unequal_length_are_padded_with_invisible_digits() -> None:
    rows = tuple(Row(name, (TableCell(value),)) for name, value in (("a", 9.5), ("b", -120.25)))
    text = render(ResultTable((Column("rank"),), rows))
    assert r"a & \phantom{000}9.500 \\" in text
    assert r"b & $-$120.250 \\" in text


def test_groups_sections_letters_and_wide_tables() -> None:
    text = render(wide())
    assert r"\begin{table*}[tb]" in text
    assert (
        r" & \multicolumn{4}{c}{Touché 2020} & \multicolumn{4}{c}{Touché 2021} \\"
        "\n"
        r"\cmidrule(lr){2-5}\cmidrule(lr){6-9}"
    ) in text
    assert r"\multicolumn{9}{@{}l@{}}{\textit{DeepCT, topic and conclusion}} \\" in text
    assert r"BM25$^{\mathrm{b}}$" in text
    assert r"$^{\uparrow\mathrm{a}\approx}$" in text
    assert text.count(r"\addlinespace") == 2


def test_details_stand_in_lines_of_their_own() -> None:
    text = render(small(DETAILS))
    assert r" & {\scriptsize d=+.88} & {\scriptsize d=$-$.10} \\" in text
    assert r"{\scriptsize {}[$-$.43, $-$.39]}" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a_b & 50%", r"a\_b \& 50\%"),
        ("{x}#$", r"\{x\}\#\$"),
        ("~^\\", r"\textasciitilde{}\textasciicircum{}\textbackslash{}"),
        ("[1] *", "{}[1] *"),
        ("--rm3 ,, ''", "-{}-rm3 ,{}, '{}'"),
        ("κ→½", r"$\kappa$$\rightarrow$½"),
        ("a\nb", "a b"),
    ],
)
def test_escaping(text: str, expected: str) -> None:
    assert escaped(text) == expected


def test_labels_hold_nothing_that_expands() -> None:
    assert label("tab:a_b {c}\\d%") == "tab:abcd"


def test_a_table_fits_a_column_the_page_or_is_cut() -> None:
    column = render(small(Style(fit="column")))
    assert r"\begin{table}[tb]" in column
    assert r"\footnotesize" in column
    assert r"\begin{table*}[tb]" in render(small(Style(fit="page")))
    cut = render(wide(Style(fit="column")))
    parts = cut.count(r"\begin{table}")
    assert parts > 1
    assert cut.count(r"\end{table}") == parts
    assert f"(1 of {parts})" in cut
    assert r"\label{tab:wide-2}" in cut
    # Every figure stands once, every system in each part, the notes below the last.
    whole = render(wide())
    figures = r"\d\.\d{3}"
    assert sorted(re.findall(figures, cut)) == sorted(re.findall(figures, whole))
    assert cut.count(r"\textit{Original}") == parts
    assert cut.count("Means over 6 topics.") == 1
    assert cut.index("Means over 6 topics.") > cut.rindex(r"\bottomrule")


def test_a_cut_table_keeps_within_a_column() -> None:
    for part in latex_cut(wide(), 8, COLUMN):
        assert len(part.columns) <= 4
    assert latex_cut(small(), 8, COLUMN) == [small()]


def test_a_table_without_its_footer() -> None:
    text = render(small(Style(footer=False)))
    assert "Means over 6 topics." not in text
    assert "minipage" not in text


def document(*tables: ResultTable, two_columns: bool = False) -> str:
    body = "\n\\clearpage\n".join(render(table) for table in tables)
    options = "[twocolumn]" * two_columns
    head = f"\\documentclass{options}{{article}}\n\\usepackage{{booktabs}}\n\\begin{{document}}\n"
    return f"{head}{body}\n\\end{{document}}\n"


def compiled(source: str, folder: Path) -> str:
    """The log of a compilation without errors."""
    (folder / "paper.tex").write_text(source, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=120,
    )
    log = done.stdout.decode("utf-8", errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert (folder / "paper.pdf").stat().st_size > 1000
    return log


@pytest.mark.skipif(NO_LATEX, reason="pdflatex is not installed: LaTeX tables are not compiled")
def test_tables_compile_with_booktabs_alone(tmp_path: Path) -> None:
    fits = [wide(Style(fit="page")), small(Style(fit="page")), small(Style(fit="column"))]
    log = compiled(document(small(), small(DETAILS), nasty(), wide(), *fits), tmp_path)
    assert "Overfull \\hbox" not in log


def random_table(draw: random.Random, columns: int, style: Style) -> ResultTable:
    """Names of any length, marks, figures of one digit or four before the point."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 @()=+-"
    titles = ["".join(draw.choices(letters, k=draw.randint(1, 14))) for _ in range(columns)]
    each = tuple(
        Column(f"M{n}", group="" if columns < 7 else f"Collection {n // 3}", label=title)
        for n, title in enumerate(titles)
    )
    rows = []
    for number in range(5):
        name = f"{number}" + "".join(draw.choices(letters, k=draw.randint(2, 24)))
        rows.append(
            Row(
                name,
                tuple(
                    TableCell(
                        draw.random() * draw.choice((1, 1, 1000)),
                        6,
                        best=draw.random() < 0.2,
                        versus=(versus("0", 0.1, draw.choice(("better", "worse", "none"))),)
                        if number
                        else (),
                    )
                    for _ in each
                ),
            )
        )
    return ResultTable(each, tuple(rows), baselines=("0",), style=style)


@pytest.mark.skipif(NO_LATEX, reason="pdflatex is not installed: LaTeX tables are not compiled")
@pytest.mark.parametrize("details", [(), ("ci", "wtl")])
@pytest.mark.parametrize("fit", ["column", "page"])
def test_no_table_is_wider_than_its_place(fit: str, details: tuple[str, ...], tmp_path) -> None:
    draw = random.Random(8)
    style = Style(fit=fit, details=details, footer=False)  # type: ignore[arg-type]
    counts = [1, 2, 3, 4, 5, 6, 7, 9, 13, 13, 25]
    tables = [random_table(draw, count, style) for count in counts]
    # What spans the page is centred on it by a box of its own, which LaTeX never finds too wide.
    source = document(*tables, two_columns=True).replace(
        r"\makebox[\linewidth]{%", r"\hbox to \linewidth{%"
    )
    assert source.count(r"\begin{table") > len(tables)
    assert re.findall(r"Overfull \\hbox.*", compiled(source, tmp_path)) == []


@pytest.mark.skipif(NO_LATEX, reason="pdflatex is not installed: LaTeX tables are not compiled")
def test_six_columns_are_set_smaller_where_names_are_long(tmp_path) -> None:
    columns = tuple(Column(name) for name in ("nDCG@5", "AP", "R@20", "Judged@5", "Bpref", "RR"))
    short, long = (
        ResultTable(columns, (Row(name, (TableCell(0.5, 5),) * 6),))
        for name in ("BM25", "BM25+RM3 variant 0")
    )
    assert r"\footnotesize" not in render(short).split(r"\bottomrule")[0]
    assert r"\footnotesize" in render(long).split(r"\bottomrule")[0]
    assert "Overfull \\hbox" not in compiled(document(short, long), tmp_path)


@pytest.mark.skipif(NO_LATEX, reason="pdflatex is not installed: LaTeX tables are not compiled")
def test_any_name_of_latin_characters_compiles(tmp_path: Path) -> None:
    draw = random.Random(5)
    signs = [chr(code) for code in range(32, 127)] + list("äéßñøÅ–—…→≈±×αΩ−")
    names = {"".join(draw.choices(signs, k=12)) for _ in range(60)} | set(signs)
    rows = tuple(Row(name, (TableCell(0.5),), section=name[:3]) for name in sorted(names))
    half = len(rows) // 2
    tables = [
        ResultTable((Column("P@5"),), part, title="".join(signs), footer=tuple(sorted(names)))
        for part in (rows[:half], rows[half:])
    ]
    assert "Output written on paper.pdf" in compiled(document(*tables), tmp_path)
