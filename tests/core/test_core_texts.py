"""Texts made harmless for terminals and spreadsheets, and numbers of any length."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.csv_files import CsvWriter, guarded, unguarded
from adducir.core.files import read_lines
from adducir.core.texts import visible
from adducir.corpora.tables import cells_of


@given(st.lists(st.lists(st.text("=+-@\t\r'\",\n a1é\u2028", max_size=6), min_size=1), min_size=1))
def test_what_is_written_as_csv_is_read_again(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as handle:
        CsvWriter(handle).rows(rows)
    read = cells_of(read_lines(path), path, ",", None)
    found = [[unguarded(cell) for cell in cells] for _, cells in read]
    ends = re.compile("\r\n?")  # within a cell too: files are read by lines
    filled = [cells for cells in rows if len(cells) > 1 or guarded(cells[0]).strip()]
    assert found == [[ends.sub("\n", cell) for cell in cells] for cells in filled]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Ja", r"\x1b[2Ja"),
        ("a\rb\x07", r"a\rb\x07"),
        ("\x9b2J\x85", r"\x9b2J\x85"),
        ("\u202eabc\u2066", r"\u202eabc\u2066"),
        ("a\u2028b", r"a\u2028b"),
        ("a\tb\nc", "a\tb\nc"),
        ("é שלום \u200f \U0001f468\u200d\U0001f469", "é שלום \u200f \U0001f468\u200d\U0001f469"),
    ],
)
def test_control_characters_are_written_out(text, shown):
    assert visible(text) == shown
