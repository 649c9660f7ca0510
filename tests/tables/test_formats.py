"""Every format shows each figure, mark and note of a table, whatever the names and the width."""

import csv
import io
import json
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from sample_tables import nasty, scores_of, small, wide

from adducir.evaluation.scores import Scores
from adducir.statistics.comparison import compare
from adducir.tables.build import build_table, figure_table
from adducir.tables.formats import latex, render
from adducir.tables.formats.data import SCHEMA_VERSION, escaped
from adducir.tables.formats.names import joints, one_line, shortened, wrap_title
from adducir.tables.style import Style
from adducir.tables.table import Column, Layout, ResultTable

FIGURE = re.compile(r"\d\.\d{3}")
UNESCAPED_PIPE = re.compile(r"(?<!\\)(?:\\\\)*\|")
DETAILS = Style(2, False, ("difference", "ci", "effect", "wins", "p_corrected", "equivalence_p"))


def records(table: ResultTable, **options: object) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render(table, "csv", **options))))


def of_names(*names: str) -> ResultTable:
    return figure_table([Column("AP")], {name: [0.5] for name in names})


def test_no_p_is_printed_as_zero() -> None:
    values = {"low": [n / 99 for n in range(60)], "high": [5 + n / 98 for n in range(60)]}
    style = Style(details=("p", "p_corrected"))
    comparison = compare(scores_of(values, "AP"), baseline="low")
    assert 0 < comparison.tests["p"][0] < 1e-20
    table = build_table(comparison, Layout(style=style))
    smallest = {"markdown": r"\<0.001", "html": "&lt;0.001", "latex": r"\textless{}0.001"}
    for name in ("terminal", "markdown", "html", "latex"):
        assert render(table, name).count(smallest.get(name, "<0.001")) == 2
    assert float(records(table)[1]["p"]) == comparison.tests["p"][0]


# CSV and JSON


def test_json_holds_everything_unrounded() -> None:
    table = wide(Style(2))
    data = json.loads(render(table, "json"), parse_constant=pytest.fail)
    assert data["schema_version"] == SCHEMA_VERSION
    assert data["footer"] == table.footer()
    assert data["provenance"] == table.provenance
    means = [cell.mean for _, _, cell in table.cells()]
    assert [cell["mean"] for row in data["rows"] for cell in row["cells"]] == means
    assert table.comparison is not None
    found = [(one["system"], one["p"]) for one in data["tests"]]
    assert found == table.comparison.tests.select("system", "p").rows()
    assert data["testing"]["baseline"] == ["DirichletLM", "BM25"]
    assert "values" not in data
    constant = compare(scores_of({"a": [0.1, 0.2], "b": [0.3, 0.4]}, "AP"), baseline="a")
    (test,) = json.loads(render(build_table(constant), "json"))["tests"]
    assert "statistic" not in test or test["statistic"] is None  # it is infinite


def test_no_text_of_a_csv_is_a_formula() -> None:
    evil = "=HYPERLINK(1)"
    scores = Scores.of(evil, [evil, "-7"], ["P@1"], [[0.25], [-0.75]], topic_set="+x")
    table = build_table(compare(scores), Layout(sections={evil: "@x"}))
    for per_topic in (False, True):
        text = render(table, "csv", per_topic=per_topic)
        lines = list(csv.reader(io.StringIO(text)))
        cells = [cell for line in lines for cell in line]
        assert f"'{evil}" in cells
        assert not any(cell.startswith(("=", "@", "+")) for cell in cells)
    assert [f"'{evil}", "'@x", "'+x", "-7", "P@1", "-0.75", "true"] in lines  # numbers stay


# Terminal


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_lines_of_the_terminal_fit_and_every_figure_is_there(width: int) -> None:
    table = wide()
    text = render(table, "terminal", width=width)
    body, notes = text[: text.index("• best")], " ".join(text.split())
    assert all(cell_len(line) <= width for line in body.splitlines())
    assert len(FIGURE.findall(body)) == len(table.rows) * len(table.columns)
    for row in table.rows:  # names that were cut are given in full below
        assert row.title in notes


def test_the_terminal_spells_what_it_must() -> None:
    style = Style(details=("equivalence_p", "ci"))
    lines = render(small(style), "terminal", width=80).splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith("BM25+RM3"))
    assert small(style).rows[1].cells[1].lines[0] in lines[place + 1]
    text = render(of_names("a\x1b[31m\nb[bold]c[/bold]"), "terminal", width=80)
    assert "\x1b" not in text
    assert "b[bold]c[/bold]" in text
    assert sum("0.500" in line for line in text.splitlines()) == 1
    for nothing in (figure_table([Column("AP")], {}), figure_table([], {"a": []})):
        assert "System" in render(nothing, "terminal")


@settings(deadline=None)
@given(st.text(min_size=1, max_size=40), st.integers(1, 30))
def test_wrapped_titles_lose_nothing_but_blanks(title: str, width: int) -> None:
    lines = wrap_title(one_line(title), width)
    assert "".join(lines).replace(" ", "") == one_line(title).replace(" ", "")
    assert all(len(line) <= width for line in lines)
    assert "".join(joints(title)) == title


@settings(deadline=None)
@given(
    st.lists(st.text(alphabet="ab日x-", min_size=1, max_size=30), max_size=12), st.integers(6, 20)
)
def test_shortened_names_fit_and_stay_different(names: list[str], width: int) -> None:
    found = shortened(names, width)
    assert set(found) == set(names)
    assert all(cell_len(short) <= width for short in found.values())
    assert len(set(found.values())) == len(found)
    assert all(found[name] == name for name in names if cell_len(name) <= width)


# Markdown


@pytest.mark.parametrize("table", [small(), wide(), nasty(), wide(Style(details=("ci", "wins")))])
def test_every_line_of_markdown_has_the_same_pipes(table: ResultTable) -> None:
    lines = [line for line in render(table, "markdown").splitlines() if line.startswith("|")]
    assert len(lines) == 2 + len(table.rows) + len({row.section for row in table.rows} - {""})
    assert {len(UNESCAPED_PIPE.findall(line)) for line in lines} == {len(table.columns) + 2}
    assert len({len(line) for line in lines}) == 1


@settings(deadline=None)
@given(st.text(max_size=30))
def test_escaping_can_be_undone_and_leaves_no_pipe_or_tag(text: str) -> None:
    found = escaped(text)
    assert not re.search(r"(?<!\\)(?:\\\\)*[|<>`*_]", found)
    assert "\n" not in found
    assert re.sub(r"\\([\\`*_\[\]<>|~$&])", r"\1", found) == one_line(text)


# LaTeX


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
def test_escaping_of_latex(text: str, expected: str) -> None:
    assert latex.escaped(text) == expected


def compiled(folder: Path, *tables: ResultTable, options: str = "") -> str:
    body = "\n\\clearpage\n".join(render(table, "latex") for table in tables)
    head = f"\\documentclass{options}{{article}}\n\\usepackage{{booktabs,graphicx}}\n"
    source = f"{head}\\begin{{document}}\n{body}\n\\end{{document}}\n"
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
    assert "Output written on paper.pdf" in log
    return log


needs_latex = pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")


@needs_latex
@pytest.mark.parametrize("options", ["", "[twocolumn]"])
def test_tables_compile_and_fit_their_place(options: str, tmp_path: Path) -> None:
    each = [make(Style(fit=fit)) for make in (small, wide) for fit in ("auto", "column", "page")]  # type: ignore[arg-type]
    each += [small(DETAILS), wide(DETAILS), nasty()]
    assert "Overfull \\hbox" not in compiled(tmp_path, *each, options=options)


@needs_latex
def test_any_name_of_latin_characters_compiles(tmp_path: Path) -> None:
    draw = random.Random(5)
    signs = [chr(code) for code in range(32, 127)] + list("äéßñøÅ–—…→≈±×αΩ−")
    names = sorted({"".join(draw.choices(signs, k=12)) for _ in range(60)} | set(signs))
    for part in (names[: len(names) // 2], names[len(names) // 2 :]):
        layout = Layout(title="".join(signs), notes=part, sections={n: n[:3] for n in part})
        compiled(tmp_path, figure_table([Column("P@5")], {name: [0.5] for name in part}, layout))
