"""Numbers, marks, legend and names: what all formats share."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from sample_tables import small, versus, wide

from adducir.core.errors import UsageError
from adducir.tables.formats import TABLES, render
from adducir.tables.formats.layout import (
    detail_lines,
    figure,
    legend,
    letter,
    marks,
    number,
    p_value,
)
from adducir.tables.formats.names import joints, one_line, shortened, wrap_title
from adducir.tables.table import (
    Column,
    Equivalence,
    ResultTable,
    Row,
    Style,
    TableCell,
    printed_name,
)

HOUSE = Style(leading_zero=False)


@pytest.mark.parametrize(
    ("value", "style", "expected"),
    [
        (0.8425, Style(), "0.843"),  # the double is 0.84250000000000003
        (0.0625, Style(3), "0.062"),  # an exact half: to even
        (0.1875, Style(3), "0.188"),  # an exact half: to even
        (0.842, HOUSE, ".842"),
        (1.0, HOUSE, "1.000"),
        (10.5, HOUSE, "10.500"),
        (-0.05, HOUSE, "-.050"),
        (-0.0001, Style(), "0.000"),
        (0.4, Style(0), "0"),
        (100.0, Style(0), "100"),
        (None, Style(), "–"),
    ],
)
def test_number(value: float | None, style: Style, expected: str) -> None:
    assert number(value, style) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(0.01, "+0.010"), (-0.01, "-0.010"), (0.00001, "0.000")]
)
def test_signed_number(value: float, expected: str) -> None:
    assert number(value, Style(), signed=True) == expected


@pytest.mark.parametrize(
    ("value", "style", "expected"),
    [
        (0.0123, Style(), "=0.012"),
        (0.0123, Style(1), "=0.012"),
        (0.00099, HOUSE, "<.001"),
        (0.0, Style(), "<0.001"),
        (0.00099, Style(4), "=0.0010"),
        (1.0, Style(), "=1.000"),
    ],
)
def test_p_value_is_never_zero(value: float, style: Style, expected: str) -> None:
    assert p_value(value, style) == expected


def test_counts_have_no_decimals() -> None:
    column = Column("NumRet", summed=True)
    table = ResultTable((column,), (Row("a", (TableCell(49000.0),)),))
    assert figure(table, column, table.rows[0].cells[0]) == "49000"


def test_marks_name_the_baselines_only_if_there_are_several() -> None:
    cell = TableCell(
        0.5,
        versus=(versus("a", 0.1, "better"), versus("b", -0.1, "worse"), versus("c", 0.2, "better")),
        equivalence=Equivalence("c", True),
    )
    column = Column("AP")
    one = ResultTable((column,), (), ("a",))
    many = ResultTable((column,), (), ("a", "b", "c"))
    alone = replace(cell, versus=cell.versus[:1])
    assert marks(one, column, alone) == (("better", ""), ("equivalent", ""))
    assert marks(many, column, cell) == (("better", "ac"), ("worse", "b"), ("equivalent", ""))
    assert marks(many, replace(column, descriptive=True), cell) == ()


def test_more_baselines_than_letters() -> None:
    names = tuple(f"s{n}" for n in range(30))
    table = ResultTable((), (), names)
    found = [letter(table, name) for name in names]
    assert found[25:28] == ["z", "(27)", "(28)"]
    assert len(set(found)) == 30


def test_legend_explains_only_what_can_be_marked() -> None:
    assert [kinds for kinds, _ in legend(small())] == [
        ("best",),
        ("better", "worse"),
        ("equivalent",),
    ]
    bare = ResultTable((Column("AP"),), (Row("a", (TableCell(0.5),)),))
    assert legend(bare) == []
    descriptive = ResultTable(
        (Column("Judged@5", descriptive=True),), (Row("a", (TableCell(0.5, best=True),)),)
    )
    assert legend(descriptive) == []


def test_legend_explains_no_mark_that_no_cell_bears() -> None:
    table = small()

    def without(cell: TableCell, gone: set[str]) -> TableCell:
        versus = tuple(
            replace(one, verdict="none") if one.verdict in gone else one for one in cell.versus
        )
        equal = cell.equivalence and replace(cell.equivalence, equivalent=False)
        return replace(cell, versus=versus, equivalence=equal)

    def bearing(gone: set[str]) -> list[str]:
        rows = tuple(
            replace(row, cells=tuple(without(cell, gone) for cell in row.cells))
            for row in table.rows
        )
        return [text for _, text in legend(replace(table, rows=rows))][1:]

    none = "No system was shown to be statistically equivalent to the best system of the column."
    assert bearing({"worse"}) == ["significantly better than the baseline BM25.", none]
    assert bearing({"better", "worse"}) == ["No difference is significant.", none]


def test_legend_names_baselines_and_comparator() -> None:
    text = dict(legend(small()))
    assert "the baseline BM25" in text["better", "worse"]
    assert "the best system of the column" in text[("equivalent",)]
    named = replace(small(), equivalence_against="QLD")
    assert "equivalent to QLD" in dict(legend(named))[("equivalent",)]
    assert "(a: DirichletLM, b: BM25)" in dict(legend(wide()))["better", "worse"]
    assert "systems whose letters" in dict(legend(replace(wide(), pairs=True)))["better", "worse"]


def test_details_come_in_the_order_asked_for() -> None:
    table = small(Style(3, details=("wtl", "ci", "effect", "p", "p_corrected", "difference")))
    lines = detail_lines(table, table.columns[0], table.rows[1].cells[0])
    assert lines == (
        "4/1/1",
        "[+0.068, +0.108]",
        "d=+0.88",
        "p=0.012",
        "p'=0.037",
        "+0.088",
    )
    assert detail_lines(table, table.columns[0], table.rows[0].cells[0]) == ()


def test_details_of_several_baselines_bear_their_letters() -> None:
    table = wide(Style(details=("difference",)))
    lines = detail_lines(table, table.columns[0], table.rows[5].cells[0])
    assert [line[:3] for line in lines] == ["a: ", "b: "]


def test_unknown_details_leave_no_line() -> None:
    bare = replace(versus("BM25", 0.1), p=None, p_corrected=None, ci=None, effect=None, wins=None)
    table = small(Style(details=("ci", "effect", "wtl", "p", "p_corrected")))
    assert detail_lines(table, table.columns[0], TableCell(0.5, versus=(bare,))) == ()


def test_legend_shows_the_level_of_the_intervals() -> None:
    table = small(Style(details=("ci",)))
    assert "Below each mean: confidence interval" in legend(table)[-1][1]
    cells = (TableCell(0.5, versus=(versus("BM25", 0.1, level=0.9),)),)
    table = ResultTable((Column("AP"),), (Row("x", cells),), ("BM25",), style=table.style)
    assert "Below each mean: 90% confidence interval" in legend(table)[-1][1]


def test_every_format_renders_and_an_unknown_one_names_them() -> None:
    for name in TABLES:
        assert render(wide(), name).endswith("\n")
    with pytest.raises(UsageError, match=r"no table format 'xlsx'.*terminal, markdown"):
        render(wide(), "xlsx")


@settings(deadline=None)
@given(st.text(min_size=1, max_size=40), st.integers(1, 30))
def test_wrapped_titles_lose_nothing_but_blanks(title: str, width: int) -> None:
    lines = wrap_title(one_line(title), width)
    assert "".join(lines).replace(" ", "") == one_line(title).replace(" ", "")
    assert all(len(line) <= width for line in lines)


def test_titles_break_at_joints() -> None:
    assert wrap_title("nDCG(judged_only=True)@5", 8) == ["nDCG(", "judged_", "only=", "True)@5"]
    assert wrap_title("nDCG(judged_only=True)@5", 24) == ["nDCG(judged_only=True)@5"]
    assert "".join(joints("nDCG(judged_only=True)@5")) == "nDCG(judged_only=True)@5"


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


def test_long_names_are_cut_in_the_middle() -> None:
    name = "bm25-deepct-all-topic-and-conclusion-rm3"
    assert shortened([name], 16) == {name: "bm25-dee…ion-rm3"}


@pytest.mark.parametrize(
    ("measure", "name"),
    [
        ("nDCG(judged_only=True)@5", "nDCG@5 (condensed)"),
        ("nDCG(dcg='exp-log2',judged_only=True)@10", "nDCG(dcg='exp-log2')@10 (condensed)"),
        ("nDCG(gains={0:1,1:0},judged_only=True)", "nDCG(gains={0:1,1:0}) (condensed)"),
        ("RR(judged_only=True,rel=2)@10", "RR(rel=2)@10 (condensed)"),
        ("SetP(judged_only=True)", "SetP (condensed)"),
        ("nDCG@5", "nDCG@5"),
        ("nDCG(judged_only=False)@5", "nDCG(judged_only=False)@5"),
    ],
)
def test_measures_of_condensed_lists_have_one_name(measure: str, name: str) -> None:
    assert printed_name(measure) == name
