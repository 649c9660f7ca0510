"""Texts made harmless for terminals and spreadsheets, and numbers of any length."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.csv_files import CsvWriter, csv_rows, guarded, unguarded
from adducir.core.errors import InputError
from adducir.core.texts import LARGEST, repeated, shortened, visible, whole_number

FORMULAS = ("=1+1", "+A1", "-A1", "@SUM(A1)", "\tx", "\r=1", "=cmd|' /C calc'!A0", "-2+3", "+", "-")
PLAIN = ("", "a=1", "-5", "+3.5", "-1e-3", ".5", "'tis", "’=1", " =1", "x\t", "1-2", "'5")


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_get_an_apostrophe(text):
    assert guarded(text) == f"'{text}"
    assert guarded(f"'{text}") == f"''{text}"
    assert unguarded(guarded(text)) == text


@pytest.mark.parametrize("text", PLAIN)
def test_numbers_and_other_texts_stay_as_they_are(text):
    assert guarded(text) == text
    assert unguarded(text) == text


@given(st.lists(st.lists(st.text("=+-@\t\r'\",\n a1.é\x00", max_size=6), min_size=1), min_size=1))
def test_what_is_written_as_csv_is_read_again(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as handle:
        CsvWriter(handle).rows(rows)
    found = [cells for _, cells in csv_rows(path)]
    # A line's end within a cell is \n, whatever it was: files are read by lines.
    assert found == [[cell.replace("\r\n", "\n") for cell in cells] for cells in rows]


def test_numbers_are_never_guarded():
    out = io.StringIO()
    CsvWriter(out).row(["=a", -0.5, -1, None, "-0.5"])
    assert out.getvalue() == "'=a,-0.5,-1,,-0.5\n"


def test_cells_of_any_length_are_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"a,{'x' * 200_000}\n", encoding="utf-8")
    assert csv.field_size_limit() >= 131_072
    ((line, cells),) = csv_rows(path)
    assert (line, len(cells[1])) == (1, 200_000)


def test_an_open_quotation_mark_is_named_with_its_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('a,b\n"c,d\ne,f\n', encoding="utf-8")
    with pytest.raises(InputError, match="not CSV") as caught:
        list(csv_rows(path))
    assert caught.value.line == 2


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


def test_whole_numbers():
    assert [whole_number(text) for text in ("0", "7", "007", str(LARGEST))] == [0, 7, 7, LARGEST]
    odd = ("", "-1", "+1", "1.0", "²", "٣", "1_0", " 1", "9" * 30, "9" * 5000, str(LARGEST + 1))
    assert [whole_number(text) for text in odd] == [None] * len(odd)
    assert whole_number("0" * 5000 + "8") == 8
    assert whole_number("9", 8) is None


def test_long_texts_are_cut_in_the_middle():
    assert shortened("x" * 60) == "x" * 60
    assert shortened("a" * 50 + "b" * 50) == "a" * 28 + "..." + "b" * 28


def test_what_comes_twice_is_found_in_one_pass():
    assert repeated("abcab") == ["a", "b"]
    assert repeated(str(number) for number in range(200_000)) == []
