"""Runs and qrels in every layout: the same rows, whatever file holds them."""

import gzip
import io
import json
import os
import threading
from contextlib import nullcontext

import polars as pl
import pytest

from adducir.core.errors import InputError
from adducir.corpora.qrels import load_qrels
from adducir.runs.check import check
from adducir.runs.read import read_run

PAIRS = [("q1", "d1"), ("q1", "d2"), ("q2", "d1")]
JUDGED = [(*pair, grade) for pair, grade in zip(PAIRS, (1, 0, -2), strict=True)]
RANKED = [(*pair, score) for pair, score in zip(PAIRS, (2.5, 1.5, 0.5), strict=True)]
READERS = {
    "qrels": (load_qrels, JUDGED, "{} 0 {} {}\n"),
    "run": (read_run, RANKED, "{} Q0 {} 1 {} sys\n"),
}
HEADERS = {
    "qrels": ["query-id corpus-id score", "qid docno label", "q_id doc_id relevance"],
    "run": ["query_id doc_id score", "qid docno score", "Q_ID docid Score"],
}


@pytest.fixture(params=READERS)
def kind(request):
    return request.param


def rows_of(kind, path, **options):
    return READERS[kind][0](path, **options).frame.rows()


SHAPES = {
    "blanks": lambda text: text,
    "tabs": lambda text: text.replace(" ", "\t"),
    "several": lambda text: text.replace(" ", "  \t"),
    "vertical": lambda text: text.replace(" ", "\v"),
    "windows": lambda text: text.replace("\n", "\r\n"),
    "old Mac": lambda text: text.replace("\n", "\r"),
    "mixed": lambda text: text.replace("\n", "\r", 1),
    "trailing": lambda text: " " + text.rstrip("\n").replace("\n", "  \n") + "   ",
    "empty lines": lambda text: text.replace("\n", "\n \n"),
    "mark": lambda text: "\ufeff" + text,
    "numbers": lambda text: text.replace(" 1\n", " +1.0\n").replace(" -2\n", " -2e0\n"),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_trecs_columns_in_any_shape(kind, write, shape, ending):
    _, rows, line = READERS[kind]
    text = SHAPES[shape]("".join(line.format(*row) for row in rows))
    assert rows_of(kind, write(text, f"file{ending}")) == rows


@pytest.mark.parametrize("header", range(3))
@pytest.mark.parametrize(
    "ending", ["tsv", "csv.gz", "parquet", "parquet.gz", "jsonl", "jsonl.gz", "json"]
)
def test_tables_and_objects(kind, write, tmp_path, header, ending):
    rows, names = READERS[kind][1], HEADERS[kind][header].split()
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(query=pl.lit("a, b"))
    if ending == "parquet":
        frame.write_parquet(path := tmp_path / "file.parquet")
    elif ending == "parquet.gz":
        frame.write_parquet(whole := io.BytesIO())
        (path := tmp_path / "file.parquet.gz").write_bytes(gzip.compress(whole.getvalue()))
    elif ending.startswith("json"):
        objects = frame.to_dicts()
        lines = "".join(json.dumps(one) + "\n" for one in objects)
        path = write(json.dumps(objects, indent=1) if ending == "json" else lines, f"f.{ending}")
    else:
        separator = "\t" if ending == "tsv" else ","
        path = write(frame.write_csv(separator=separator), f"file.{ending}")
    assert rows_of(kind, path) == rows


@pytest.mark.parametrize("layout", ["table", "objects", "named", "columns", "faulty"])
def test_a_pipe_can_be_read_once(kind, tmp_path, layout):
    rows, names = READERS[kind][1], HEADERS[kind][1].split()
    frame = pl.DataFrame(rows, schema=names, orient="row")
    text = frame.write_ndjson() if layout == "objects" else frame.write_csv()
    if layout in ("columns", "faulty"):
        added = [("q3", "d1", "nan")] * (layout == "faulty")
        text = "".join(READERS[kind][2].format(*row) for row in [*rows, *added])
    columns = ("qid", "docno", "score" if kind == "run" else "grade")
    os.mkfifo(pipe := tmp_path / "pipe")
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    with pytest.raises(InputError, match=":4: ") if layout == "faulty" else nullcontext():
        assert rows_of(kind, pipe, columns=columns if layout == "named" else ()) == rows
    writer.join()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_fault_is_named_by_its_line(kind, write, end):
    good, bad = (READERS[kind][2].format("q1", "d1", grade) for grade in (1, "nan"))
    text = f"\n{good}\n \n\n {bad}".replace("\n", end)
    with pytest.raises(InputError, match=":6: "):
        rows_of(kind, write(text, "file.txt"))


def test_a_repeated_column_is_named(kind, write):
    with pytest.raises(InputError, match="'docno' is repeated"):
        rows_of(kind, write("qid,docno,docno,score\n1,a,b,2\n", "file.csv"))


def test_nested_objects(kind, write):
    rows, nested = READERS[kind][1], {}
    for qid, docno, number in rows:
        nested.setdefault(qid, {})[docno] = number
    assert rows_of(kind, write(json.dumps(nested), "file.json")) == rows


@pytest.mark.parametrize("separator", [" ", "\t", ",", ";"])
@pytest.mark.parametrize(
    "header", ["", "system{0}query{0}url{0}value\n", "\n \nsystem{0}query{0}url{0}value\n"]
)
@pytest.mark.parametrize("quote", ["", '"'])
def test_columns_that_the_user_names(kind, write, separator, header, quote):
    rows, number = READERS[kind][1], "score" if kind == "run" else "grade"
    quote = "" if separator in " \t" else quote  # there they are text
    lines = [separator.join(("x", row[0], f"{quote}{row[1]}{quote}", str(row[2]))) for row in rows]
    path = write(header.format(separator) + "\n".join(lines) + "\n", "file.txt")
    names = ("-", "qid", "docno", number)
    options = {"columns": names}
    assert rows_of(kind, path, **options) == rows
    path.write_text(path.read_text() + separator.join(("x", "q9", "d", "high")) + "\n")
    with pytest.raises(InputError, match="'high' is not") as caught:
        rows_of(kind, path, **options)
    assert caught.value.line == len(rows) + header.count("\n") + 1


@pytest.mark.parametrize("qid", [1.0, None, ""])
@pytest.mark.parametrize("header", ["qid docno score", "system document value"])
def test_an_id_in_parquet_that_is_missing_or_a_fraction_is_a_fault(kind, tmp_path, header, qid):
    frame = pl.DataFrame([(qid, "d", 1)], schema=header.split(), orient="row")
    frame.write_parquet(path := tmp_path / "file.parquet")
    number = "score" if kind == "run" else "grade"
    options = {"columns": ("qid", "docno", number)} if "document" in header else {}
    with pytest.raises(InputError, match="a qid or docno is missing, or is neither text") as caught:
        rows_of(kind, path, **options)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('qid,docno,{0},,\nq,"a,b",1,,\n,,,,\n', ""),
        ('qid,docno,{0}\n,,\nq,"a,b",1\n', "qid,docno,{0}"),
    ],
)
def test_empty_columns_and_rows_of_spreadsheets_and_quoted_commas(kind, write, text, names):
    number = "score" if kind == "run" else "grade"
    options = {"columns": names.format(number).split(",")} if names else {}
    path = write(text.format(number), "file.csv")
    assert rows_of(kind, path, **options) == [("q", "a,b", 1)]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_every_fault_of_a_table_or_of_objects_has_its_line(write, ending):
    rows = [("1", "a", 1), ("1", "b", "x"), ("1", "a", 2), ("", "c", 1), ("2", "c", None)]
    text = "qid,docno,score\n" + "".join(f"{q},{d},{n}\n" for q, d, n in rows)
    if ending == "jsonl":
        objects = [{"qid": q, "docno": d, "score": n} for q, d, n in rows]
        text = "".join(json.dumps(one) + "\n" for one in objects)
    found = [one for one in check([write(text, f"r.{ending}")]) if one.line]
    first = 2 if ending == "csv" else 1
    assert [(one.code, one.line - first) for one in found] == [
        *(("score", 1), ("duplicate", 2), ("score", 3), ("score", 4))
    ]
