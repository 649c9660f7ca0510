"""The model of a table refuses what no renderer could print."""

import pytest
from sample_tables import small

from adducir.core.errors import UsageError
from adducir.tables.table import Column, ResultTable, Row, Style, TableCell
from adducir.tables.topics import topic_table


def test_a_row_must_have_a_cell_for_every_column() -> None:
    with pytest.raises(UsageError, match="row 'bm25' has 0 cells for 1 columns"):
        ResultTable((Column("AP"),), (Row("bm25", ()),))


def test_one_section_holds_a_system_once_another_may_hold_it_again() -> None:
    cells = (TableCell(0.5),)
    ResultTable((Column("AP"),), (Row("a", cells), Row("a", cells, section="other")))
    with pytest.raises(UsageError, match="'a' is twice"):
        ResultTable((Column("AP"),), (Row("a", cells), Row("a", cells)))


@pytest.mark.parametrize("decimals", [-1, 16])
def test_decimals_out_of_range(decimals: int) -> None:
    with pytest.raises(UsageError, match="decimals cannot be shown"):
        Style(decimals)


def test_unknown_detail_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'intervals'.*difference, ci"):
        Style(details=("intervals",))  # type: ignore[arg-type]


def test_names_to_print_fall_back_to_exact_names() -> None:
    table = small()
    assert table.title_of("QLD") == "QLD"
    assert table.title_of("nowhere") == "nowhere"
    assert Column("AP", label="MAP").title == "MAP"
    assert Row("x", (), "X").title == "X"


def test_topic_table_has_a_row_a_topic_and_the_means_last() -> None:
    table = small()
    topics = topic_table(table, table.columns[0])
    assert [row.title for row in topics.rows] == ["1", "2", "3", "4", "5", "17", "Mean"]
    assert [column.title for column in topics.columns] == ["BM25", "BM25+RM3", "QLD"]
    assert [cell.mean for cell in topics.rows[1].cells] == [0.6, 0.9, 0.4]
    assert [cell.mean for cell in topics.rows[-1].cells] == [0.61249, 0.7, 0.2]


def test_topic_table_leaves_out_systems_without_values() -> None:
    table = small()
    topics = topic_table(table, table.columns[1])
    assert [column.title for column in topics.columns] == ["BM25", "BM25+RM3"]


def test_topic_table_without_values_says_so() -> None:
    table = ResultTable((Column("AP"),), (Row("a", (TableCell(0.5),)),))
    with pytest.raises(UsageError, match="no values per topic for AP"):
        topic_table(table, table.columns[0])
