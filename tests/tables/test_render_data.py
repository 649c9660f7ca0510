"""CSV and JSON: exact figures, readable by the usual readers as pasted."""

import csv
import io
import json

import pandas as pd
import polars as pl
import pytest
from sample_tables import nasty, small, versus, wide

from adducir.core.errors import UsageError
from adducir.tables.formats.csv import HEADER, TOPIC_HEADER
from adducir.tables.formats.csv import render as render_csv
from adducir.tables.formats.json import SCHEMA_VERSION
from adducir.tables.formats.json import render as render_json
from adducir.tables.table import Column, ResultTable, Row, Style, TableCell


def records(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_a_line_a_cell_and_no_comments() -> None:
    text = render_csv(small())
    lines = records(text)
    assert text.splitlines()[0] == ",".join(HEADER)
    assert [(line["system"], line["measure"]) for line in lines] == [
        ("BM25", "nDCG(judged_only=True)@5"),
        ("BM25", "Bpref"),
        ("BM25+RM3", "nDCG(judged_only=True)@5"),
        ("BM25+RM3", "Bpref"),
        ("QLD", "nDCG(judged_only=True)@5"),
    ]
    assert lines[2]["mark"] == "better"
    assert lines[3]["mark"] == ""
    assert lines[3]["equivalent"] == "true"
    assert lines[4]["equivalent"] == "false"
    assert lines[0]["baseline"] == lines[0]["p"] == lines[0]["equivalent"] == ""
    assert "\r" not in text


def test_csv_figures_read_back_as_the_same_doubles() -> None:
    table = wide()
    means = [cell.mean for _, _, cell in table.cells() for _ in cell.versus or (None,)]
    assert [float(line["mean"]) for line in records(render_csv(table))] == means
    assert list(pd.read_csv(io.StringIO(render_csv(table)))["mean"]) == pytest.approx(means)
    assert list(pl.read_csv(io.StringIO(render_csv(table)))["mean"]) == means


def test_csv_has_a_line_a_baseline() -> None:
    lines = records(render_csv(wide()))
    assert len(lines) == 8 * (10 * 2 + 2)
    assert {line["baseline"] for line in lines} == {"DirichletLM", "BM25", ""}
    assert {line["section"] for line in lines} == {row.section for row in wide().rows}
    assert {line["group"] for line in lines} == {"Touché 2020", "Touché 2021"}


def test_csv_names_survive() -> None:
    assert [line["system"] for line in records(render_csv(nasty()))] == [
        row.system for row in nasty().rows
    ]


def test_csv_per_topic() -> None:
    text = render_csv(small(), per_topic=True)
    lines = records(text)
    assert text.splitlines()[0] == ",".join(TOPIC_HEADER)
    assert len(lines) == 4 * 6 + 6
    assert lines[5] == {
        "system": "BM25",
        "section": "",
        "group": "",
        "qid": "17",
        "measure": "nDCG(judged_only=True)@5",
        "value": "0.62494",
        "higher_is_better": "true",
    }


def test_csv_per_topic_without_values_says_so() -> None:
    table = ResultTable((Column("AP"),), (Row("a", (TableCell(0.5),)),))
    with pytest.raises(UsageError, match="no values per topic"):
        render_csv(table, per_topic=True)


def test_json_holds_everything_unrounded() -> None:
    table = wide(Style(2))
    data = json.loads(render_json(table, per_topic=True))
    assert data["schema_version"] == SCHEMA_VERSION
    assert data["baselines"] == ["DirichletLM", "BM25"]
    assert data["footer"] == list(table.footer)
    assert data["provenance"] == table.provenance
    assert data["facts"] == table.facts
    for row, message in zip(table.rows, data["rows"], strict=True):
        assert (message["system"], message["section"]) == (row.system, row.section)
        for cell, one in zip(row.cells, message["cells"], strict=True):
            assert (one["mean"], one["n"], one["best"]) == (cell.mean, cell.n, cell.best)
            assert tuple(one["values"]) == cell.values
            assert [versus["p"] for versus in one["versus"]] == [v.p for v in cell.versus]
            assert [tuple(versus["ci"]) for versus in one["versus"]] == [v.ci for v in cell.versus]
    assert data["columns"][0]["topics"] == list(table.columns[0].topics)


def test_json_leaves_out_topics_unless_asked() -> None:
    data = json.loads(render_json(small()))
    assert "topics" not in data["columns"][0]
    assert "values" not in data["rows"][0]["cells"][0]
    assert data["rows"][2]["cells"][1]["mean"] is None


def test_json_has_no_number_that_json_lacks() -> None:
    found = versus("a", 0.1, more={"test": {"statistic": float("inf")}, "names": {"b", "a"}})
    table = ResultTable(
        (Column("AP"),), (Row("x", (TableCell(0.5, versus=(found,)),)),), facts={"path": object}
    )
    data = json.loads(render_json(table), parse_constant=pytest.fail)
    assert data["rows"][0]["cells"][0]["versus"][0]["more"] == {
        "test": {"statistic": None},
        "names": ["a", "b"],
    }
    assert data["facts"]["path"] == str(object)


def test_no_text_of_a_csv_is_a_formula() -> None:
    cell = TableCell(0.5, 2, best=True, values=(0.25, -0.75))
    evil = "=HYPERLINK(1)"
    table = ResultTable(
        columns=(Column("P@1", group=evil, topics=(evil, "-7")),),
        rows=(Row(evil, cells=(cell,), section="@x"),),
    )
    for per_topic in (False, True):
        lines = list(csv.reader(io.StringIO(render_csv(table, per_topic=per_topic))))
        cells = [cell for line in lines for cell in line]
        assert f"'{evil}" in cells
        assert not any(cell.startswith(("=", "@", "+")) for cell in cells)
    assert [f"'{evil}", "'@x", f"'{evil}", "-7", "P@1", "-0.75", "true"] in lines  # numbers stay
