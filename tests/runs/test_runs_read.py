"""Reading runs: the good, the odd but allowed, and the refused."""

import gzip
import json
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adducir.core.errors import InputError, UsageError
from adducir.runs.check import check
from adducir.runs.read import read_run
from adducir.runs.run import Run

GOOD = "q1 Q0 d1 1 2.5 sys\nq1 Q0 d2 2 1.5 sys\nq2 Q0 d1 1 0.5 sys\n"


NAME = "some.run"


def refusal(path, **options):
    with pytest.raises(InputError) as caught:
        read_run(path, **options)
    return caught.value


def test_ties_stand_as_in_trec_eval_or_on_request_as_in_anserini(write):
    path = write("1 0 a 1 3.0 t\n1 0 b 2 3.00 t\n1 0 c 3 3 t\n")
    assert read_run(path).frame["docno"].to_list() == ["c", "b", "a"]
    assert read_run(path, ties="anserini").frame["docno"].to_list() == ["a", "b", "c"]
    with pytest.raises(UsageError, match="file"):
        read_run(path, ties="file")


def test_scores_make_the_order_and_ranks_do_not(write):
    path = write("2 0 a 1 0.1 t\n1 0 a 1 0.1 t\n2 0 b 2 0.2 t\n1 0 b x -1e-3 t\n")
    expected = [("2", "b", 0.2), ("2", "a", 0.1), ("1", "a", 0.1), ("1", "b", -1e-3)]
    assert read_run(path).frame.rows() == expected


LONG = "S7ba8db43-A1c02dd1dd-longer-than-20-characters"
ODD = [
    LONG,
    'quo"ted',
    '"quoted"',
    "#comment",
    "a#b",
    "it's",
    "null",
    "NA",
    "é-ü-漢",
    "a,b;c",
    "\\N",
]


@pytest.mark.parametrize("docno", [*ODD, "007", "1e5", "no\u00a0break", "soft\u2028line", "\x01"])
def test_docnos_are_kept_whole(write, docno):
    path = write(f"#1 Q0 {docno} 1 1.5 t#\n#1 Q0 other 2 0.5 t#\n")
    run = read_run(path)
    assert run.frame.rows() == [("#1", docno, 1.5), ("#1", "other", 0.5)]
    assert run.tag == "t#"


NUMBER = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]+)?")


@given(
    st.one_of(
        st.floats().map(repr),
        st.text("0123456789+-.eE_xinfaNty,", min_size=1, max_size=9),
        st.sampled_from(["+1.5", ".5", "5.", "-0", "1E-05", "1e-400", "0.1" + "0" * 40, "1e400"]),
        st.sampled_from(["nan", "-inf", "Infinity", "1_0", "0x1p3", "1,5", "-", "١", "1e", "1f"]),
    )
)
def test_a_score_is_read_to_the_last_bit_or_refused_with_its_line(tmp_path_factory, score):
    path = tmp_path_factory.mktemp("run") / "x.run"
    for lines, line in ((GOOD, 4), (GOOD.replace("\n", "\r\n"), 4), ("\n" + GOOD, 5)):
        path.write_text(f"{lines}q3 Q0 d1 1 {score} sys\n", newline="")
        if NUMBER.fullmatch(score) and np.isfinite(float(score)):
            assert read_run(path).frame["score"].to_list()[-1] == float(score)
        else:
            error = refusal(path)
            assert error.line == line
            assert repr(score) in error.what


@pytest.mark.parametrize(
    ("content", "line", "word"),
    [
        (GOOD + "q3 Q0 d1 1 sys\n", 4, "has 5,"),
        (GOOD + " Q0 d1 1 1.5 sys\nq4 Q0 d1 1 2.5 sys\n", 4, "has 5,"),
        (GOOD + "q3 Q0 d1 1 1.5 sys more\n", 4, "has 7,"),
        (GOOD + "q3 Q0 d1 1 2.5 sys x\nq3 Q0 d2 2 sys\n", 4, "has 7,"),  # too long, too short
        (GOOD + "q3 Q0 d2 2 1.5\nq3 Q0 d1 1 2.5 sys x\n", 4, "has 5,"),
        (GOOD + "q1 Q0 d2 9 0.1 sys\n", 4, "line 2"),
        ("\n\n" + GOOD + "q1\tQ0 d2 9 0.1 sys\n", 6, "line 4"),
        ("q1 0 d1 1\nq1 0 d2 0\n", 1, "qrels"),
        (GOOD.encode() + b"q3 Q0 caf\xe9 1 1.5 sys\n", 4, "0xe9"),
        (gzip.compress(GOOD.encode() * 9, mtime=0)[:-4], 27, "truncated"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(write, content, line, word):
    error = refusal(write(content))
    assert error.line == line
    assert word in error.what


@pytest.mark.parametrize("content", ["", "\n", " \n\n"])
def test_an_empty_run_is_refused_unless_allowed(write, content):
    path = write(content, "bm25.trec")
    assert "empty" in refusal(path).what
    run = read_run(path, allow_empty=True)
    assert (len(run), run.qids, run.depth, run.tag) == (0, [], 0, "bm25")
    assert len(run.to_pandas()) == 0


CELL = st.sampled_from(["1", "Q0", "", "a", '#"', "é", "2.5", "-1e3", "nan", "t", "a\x1cb"])
BLANK = st.sampled_from([" ", "\t", "  ", " \t", "\v"])
END = st.sampled_from(["\n", "\n", "\r\n", "\r", "\n\n", " \n"])
TEXT = st.lists(st.tuples(st.lists(CELL, min_size=4, max_size=7), BLANK, END), max_size=4).map(
    lambda lines: "".join(blank.join(cells) + end for cells, blank, end in lines)
)


@given(TEXT)
def test_a_file_is_read_as_a_plain_split_of_its_lines_would(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("run") / "x.run"
    path.write_bytes(text.encode())
    rows = [re.findall(r"[^ \t\r\v\f]+", line) for line in re.split("[\r\n]", text)]
    rows = [row for row in rows if row]
    assume(not rows or len(rows[0]) not in (3, 4))  # ranks as MS MARCO or ColBERT has them
    pairs = {(row[0], row[2]) for row in rows if len(row) == 6}
    numbers = ("1", "2.5", "-1e3")
    if not rows or any(len(row) != 6 or row[4] not in numbers for row in rows):
        refusal(path)
    elif len(pairs) < len(rows):
        assert "repeated" in refusal(path).what
    else:
        run = read_run(path)
        expected = {(row[0], row[2], float(row[4])) for row in rows}
        assert (set(run.frame.rows()), run.tag) == (expected, rows[0][5])


def test_a_run_is_made_of_rows_in_any_order_and_goes_to_pandas_and_back():
    rows = pl.DataFrame(
        {"docno": ["a", "b", "c"], "qid": [1, 1, 2], "score": [1, 2, 3], "x": [0, 0, 0]}
    )
    run = Run.ranked(rows, "t")
    assert run.frame.rows() == [("1", "b", 2.0), ("1", "a", 1.0), ("2", "c", 3.0)]
    results = run.to_pandas()
    assert results["rank"].tolist() == [0, 1, 0]
    assert Run.of(results.iloc[::-1], "t").frame.sort("qid").equals(run.frame.sort("qid"))
    assert run.top(1).frame.rows() == [("1", "b", 2.0), ("2", "c", 3.0)]
    for column, value in (("score", [1, None, 2]), ("score", ["high"] * 3), ("docno", ["a"] * 3)):
        with pytest.raises(UsageError):
            Run.ranked(rows.with_columns(pl.Series(column, value)), "t")


RANKED = {"q2": {"d1": 0.25, "d3": 0.75}, "q1": {"d2": 1.5, "d1": -2, "d4": 1.5}}
MTEB = {
    "mteb_model_meta": {"model_name": "sentence-transformers/all-MiniLM-L6-v2", "revision": "8b3"},
    "default": {"test": RANKED},
}
LINES = ""
for _qid, _ranked in RANKED.items():
    _results = [{"corpus_id": docno, "score": score} for docno, score in _ranked.items()]
    LINES += json.dumps({"query_id": _qid, "query": "a text", "results": _results}) + "\n"
FILES = {
    "Touche2020Retrieval.v3_predictions.json": json.dumps(MTEB),
    "Information-Retrieval_evaluation_predictions_cosine.jsonl": LINES,
    "ranx.json": json.dumps(RANKED, indent=4),
}


@pytest.mark.parametrize("name", FILES)
def test_predictions_are_the_run_that_trec_eval_would_read(write, name) -> None:
    path = write(FILES[name], name)
    plain = write(
        "".join(f"{q} Q0 {d} 0 {s} x\n" for q, ranked in RANKED.items() for d, s in ranked.items())
    )
    for ties in ("trec_eval", "anserini"):
        assert read_run(path, ties=ties).frame.equals(read_run(plain, ties=ties).frame)
    model = "sentence-transformers/all-MiniLM-L6-v2"
    assert read_run(path).tag == (model if "Touche" in name else name.split(".")[0])


RESULTS = '{"query_id": "q", "results": [%s]}\n'


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.json", '{"q": {"d": "x"}}', None),
        ("a.json", '{"q": {"d": NaN}}', 1),
        ("a.json", '{"q": {}}', None),
        ("a.json", '{"q": {"d": 1}', 1),
        ("a.json", json.dumps(MTEB | {"de": {"dev": RANKED}}), None),
        ("a.jsonl", LINES + LINES, 3),
        ("a.jsonl", LINES + '{"query_id": "q3"}\n', 3),
        ("a.jsonl", RESULTS % '{"corpus_id": 1, "score": 1}, {"corpus_id": "1", "score": 2}', 1),
        ("a.jsonl", RESULTS % '{"corpus_id": "d", "score": null}', 1),
    ],
)
def test_json_that_is_not_a_ranking_is_refused(write, name, text, line) -> None:
    path = write(text, name)
    assert refusal(path).line == line
    finding = check([path])[0]
    assert (finding.severity, finding.line) == ("error", line or 0)
