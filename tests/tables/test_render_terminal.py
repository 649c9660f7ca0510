"""The terminal's table: nothing lost at any width, digits whole, the same without colour."""

import re

import pytest
from rich.cells import cell_len
from sample_tables import nasty, small, wide

from adducir.tables.formats.terminal import render
from adducir.tables.table import Column, ResultTable, Row, Style, TableCell

FIGURE = re.compile(r"\d\.\d{3}")
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def test_small_table_at_80() -> None:
    assert render(small(), width=80).splitlines()[:8] == [
        "Made-up figures",
        "━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━",
        "System    nDCG@5 (condensed)   Bpref",
        "─────────────────────────────────────",
        "BM25            0.612         •0.400",
        "BM25+RM3       •0.700↑         0.390≈",
        "QLD             0.200↓             –",
        "━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_lines_fit_and_every_figure_is_there(width: int) -> None:
    table = wide()
    text = render(table, width=width)
    body = text[: text.index("•  best")]
    assert all(cell_len(line) <= width for line in text.splitlines())
    assert len(FIGURE.findall(body)) == len(table.rows) * len(table.columns)


@pytest.mark.parametrize("width", [40, 80])
def test_cut_names_are_given_in_full_below(width: int) -> None:
    text = " ".join(render(wide(), width=width).split())
    for row in wide().rows:
        assert row.title in text


def test_names_that_differ_in_the_middle_stay_apart() -> None:
    names = [f"bm25-original-{n}-with-a-very-long-name" for n in (1, 2, 3)]
    table = ResultTable((Column("AP"),), tuple(Row(n, (TableCell(0.5),)) for n in names))
    lines = [line for line in render(table, width=30).splitlines() if line.endswith("0.500")]
    assert len({line.split()[0] for line in lines}) == 3


def test_sections_groups_and_letters() -> None:
    lines = render(wide(), width=140).splitlines()
    assert lines[2].split() == ["Touché", "2020", "Touché", "2021"]
    assert "DeepCT, topic and conclusion" in lines
    assert any(line.startswith("BM25 (b)") for line in lines)


def test_a_group_name_longer_than_its_columns_is_shown_whole() -> None:
    column = Column("P@5", "A very long name of a topic set")
    text = render(ResultTable((column,), (Row("a", (TableCell(0.5),)),)), width=80)
    assert "A very long name of a topic set" in text


def test_no_escape_sequence_without_colour() -> None:
    assert "\x1b" not in render(wide(Style(details=("ci",))), width=100)


def test_colour_adds_only_escape_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    plain, coloured = render(wide(), width=100), render(wide(), width=100, color=True)
    assert "\x1b[32m" in coloured
    stripped = [line.rstrip() for line in ANSI.sub("", coloured).splitlines()]
    assert stripped == plain.splitlines()


def test_no_color_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = render(wide(), width=100, color=True)
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", coloured)


def test_ascii_only_prints_no_other_character() -> None:
    text = render(small(Style(details=("equivalence_p",))), width=80, ascii_only=True)
    assert text.isascii()
    assert "*0.700+" in text
    assert "0.390~" in text
    assert "0.200-" in text


def test_details_stand_under_the_mean() -> None:
    lines = render(small(Style(3, details=("ci", "wtl"))), width=80).splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith("BM25+RM3"))
    assert lines[place + 1].split("]")[0].strip() == "[+0.068, +0.108"
    assert lines[place + 2].split() == ["4/1/1", "4/1/1"]


def test_names_cannot_break_lines_or_colour() -> None:
    table = ResultTable(
        (Column("AP"),), (Row("a\x1b[31m\nb[bold]c[/bold]", (TableCell(0.5),)),), title="[red]t"
    )
    text = render(table, width=80)
    assert "\x1b" not in text
    assert "b[bold]c[/bold]" in text
    assert "[red]t" in text
    assert sum("0.500" in line for line in text.splitlines()) == 1


def test_nothing_to_show_still_renders() -> None:
    assert "System" in render(ResultTable((Column("AP"),), ()))
    assert "System" in render(ResultTable((), (Row("a", ()),)))


def test_nasty_names_are_whole() -> None:
    text = render(nasty(), width=120)
    assert r"50%_of{A&B}|~^\$#<script>alert('x')</script>" in text
