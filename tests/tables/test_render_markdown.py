"""Markdown: a pipe table that GitHub renders and a person can read."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_tables import nasty, small, wide

from adducir.tables.formats.markdown import escaped, render
from adducir.tables.table import Style

UNESCAPED_PIPE = re.compile(r"(?<!\\)(?:\\\\)*\|")


def pipes(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")]


def test_small_table() -> None:
    assert render(small()).splitlines()[:6] == [
        "**Made-up figures**",
        "",
        "| System   | nDCG@5 (condensed) | Bpref     |",
        "| :------- | :----------------- | :-------- |",
        "| BM25     | 0.612              | **0.400** |",
        "| BM25+RM3 | **0.700**↑         | 0.390≈    |",
    ]


@pytest.mark.parametrize("table", [small(), wide(), nasty(), wide(Style(details=("ci", "wtl")))])
def test_every_line_has_the_same_pipes_at_the_same_places(table) -> None:
    lines = pipes(render(table))
    rows = len(table.rows) + len({row.section for row in table.rows} - {""})
    assert len(lines) == 2 + rows
    for line in lines:
        assert len(UNESCAPED_PIPE.findall(line)) == len(table.columns) + 2
    assert len({len(line) for line in lines}) == 1


def test_nothing_in_a_name_is_markup() -> None:
    text = render(nasty())
    assert r"50%\_of{A\&B}\|\~^\\\$#\<script\>alert('x')\</script\>" in text
    assert r"\*star\* \`code\` --rm3" in text
    assert "line break" in text


@settings(deadline=None)
@given(st.text(max_size=30))
def test_escaping_can_be_undone_and_leaves_no_pipe_or_tag(text: str) -> None:
    found = escaped(text)
    assert not re.search(r"(?<!\\)(?:\\\\)*[|<>`*_]", found)
    assert "\n" not in found
    visible = "".join(char if char.isprintable() else " " for char in text)
    assert re.sub(r"\\([\\`*_\[\]<>|~$&])", r"\1", found) == visible


def test_details_groups_sections_and_letters() -> None:
    text = render(wide(Style(details=("wtl",))))
    assert "Touché 2020<br>nDCG@5 (condensed)" in text
    assert "| *DeepCT, topic and conclusion* " in text
    assert "<br>a: 4/1/1<br>b: 4/1/1" in text
    assert "| BM25 (b) " in text


def test_legend_and_footer_follow_the_table() -> None:
    tail = render(small()).splitlines()[8:]
    assert tail[0].startswith("**Bold**: best value of the column. ↑ ↓: significantly better")
    assert tail[2].startswith("Means over 6 topics. Paired t-test")
