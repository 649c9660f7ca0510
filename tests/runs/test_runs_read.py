"""Reading runs: the good, the odd but allowed, and the refused."""

import gzip
import os
import threading

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import InputError, UsageError
from adducir.core.files import read_bytes
from adducir.runs import read
from adducir.runs.read import read_run
from adducir.runs.run import Run

GOOD = "q1 Q0 d1 1 2.5 sys\nq1 Q0 d2 2 1.5 sys\nq2 Q0 d1 1 0.5 sys\n"
ROWS = [("q1", "d1", 2.5), ("q1", "d2", 1.5), ("q2", "d1", 0.5)]


@pytest.fixture
def run_file(tmp_path):
    def write(content, name="some.run"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def refusal(path, **options):
    with pytest.raises(InputError) as caught:
        read_run(path, **options)
    return caught.value


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        GOOD.rstrip("\n"),
        GOOD.replace(" ", "\t"),
        GOOD.replace(" ", "  \t"),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", " \n "),
        "  " + GOOD + "\n \n\n",
        "\ufeff" + GOOD,
        GOOD.replace(" Q0 ", "\v0\f"),
    ],
)
def test_blanks_tabs_and_line_ends_of_any_kind_part_the_same_columns(run_file, content):
    run = read_run(run_file(content))
    assert run.frame.rows() == ROWS
    assert run.tag == "sys"
    assert run.qids == ["q1", "q2"]
    assert run.depth == 2


def test_gzip_is_read(run_file):
    path = run_file(gzip.compress(GOOD.encode()), "some.run.gz")
    assert read_run(path).frame.rows() == ROWS


def test_ties_stand_as_in_trec_eval_or_on_request_as_in_anserini(run_file):
    path = run_file("1 0 a 1 3.0 t\n1 0 b 2 3.00 t\n1 0 c 3 3 t\n")
    assert read_run(path).frame["docno"].to_list() == ["c", "b", "a"]
    assert read_run(path, ties="anserini").frame["docno"].to_list() == ["a", "b", "c"]
    with pytest.raises(UsageError, match="file"):
        read_run(path, ties="file")


def test_scores_make_the_order_and_ranks_do_not(run_file):
    path = run_file("2 0 a 1 0.1 t\n1 0 a 1 0.1 t\n2 0 b 2 0.2 t\n1 0 b x -1e-3 t\n")
    expected = [("2", "b", 0.2), ("2", "a", 0.1), ("1", "a", 0.1), ("1", "b", -1e-3)]
    assert read_run(path).frame.rows() == expected


@pytest.mark.parametrize(
    "docno",
    [
        "S7ba8db43-A1c02dd1dd-longer-than-20-characters",
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
        "007",
        "1e5",
        "no\u00a0break",
        "soft\u2028line",
        "\x01",
    ],
)
def test_docnos_are_kept_whole(run_file, docno):
    path = run_file(f"#1 Q0 {docno} 1 1.5 t#\n#1 Q0 other 2 0.5 t#\n")
    run = read_run(path)
    assert run.frame.rows() == [("#1", docno, 1.5), ("#1", "other", 0.5)]
    assert run.tag == "t#"


@pytest.mark.parametrize(
    "score", ["1", "+1.5", ".5", "5.", "-0", "1e5", "1E-05", "1e-400", "4.9e-324", "0.1" + "0" * 40]
)
def test_every_notation_of_a_number_is_read_as_c_does(run_file, score):
    (found,) = read_run(run_file(f"1 0 a 1 {score} t\n")).frame["score"]
    assert found == float(score)


@pytest.mark.parametrize(
    "score",
    ["nan", "NaN", "-nan", "inf", "-Infinity", "1e400", "abc", "1_0", "0x1p3", "1,5", "-", "١"],
)
def test_a_score_that_is_no_finite_number_is_refused_with_its_line(run_file, score):
    error = refusal(run_file(GOOD + f"q3 Q0 d1 1 {score} sys\n"))
    assert error.line == 4
    assert repr(score) in error.what


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        ("q3 Q0 d1 1 sys", 5),
        ("q3 Q0 d1  1.5 sys", 5),
        ("q3 Q0 d1 1 1.5 ", 5),
        (" Q0 d1 1 1.5 sys", 5),
        ("q3 Q0 d1 1 1.5 sys more", 7),
        ("q3 Q0 d 1 1 1.5 sys", 7),
        ("q3", 1),
    ],
)
def test_another_number_of_columns_is_refused_with_its_line(run_file, line, columns):
    error = refusal(run_file(GOOD + line + "\n" + GOOD.replace("q", "r")))
    assert error.line == 4
    assert f"this one has {columns}" in error.what


def test_a_line_too_long_does_not_make_up_for_one_too_short(run_file):
    error = refusal(run_file(GOOD + "q3 Q0 d1 1 2.5 sys x\nq3 Q0 d2 2 sys\n"))
    assert (error.line, "this one has 7" in error.what) == (4, True)
    error = refusal(run_file(GOOD + "q3 Q0 d2 2 1.5\nq3 Q0 d1 1 2.5 sys x\n"))
    assert (error.line, "this one has 5" in error.what) == (4, True)


def test_what_follows_the_tag_is_ignored_on_request(run_file):
    path = run_file(GOOD + "q2 Q0 d2 1 0.2 sys more of it\n")
    assert refusal(path).line == 4
    assert read_run(path, extra_columns=True).frame.rows() == [*ROWS, ("q2", "d2", 0.2)]


def test_a_blank_line_between_others_is_refused(run_file):
    assert refusal(run_file(GOOD + "\n" + GOOD.replace("q", "r"))).line == 4


def test_a_document_ranked_twice_is_refused_with_both_lines(run_file):
    error = refusal(run_file(GOOD + "q1 Q0 d2 9 0.1 sys\n"))
    assert error.line == 4
    assert "line 2" in error.what


def test_qrels_in_place_of_a_run_are_named(run_file):
    error = refusal(run_file("q1 0 d1 1\nq1 0 d2 0\n"))
    assert error.line == 1
    assert "qrels" in error.what


def test_bytes_that_are_not_utf_8_are_refused_with_their_line(run_file):
    assert refusal(run_file(GOOD.encode() + b"q3 Q0 caf\xe9 1 1.5 sys\n")).line == 4


def test_nul_is_refused(run_file):
    assert refusal(run_file(GOOD + "q3 Q0 d\0 1 1.5 sys\n")).line == 4


def test_a_truncated_gzip_is_refused(run_file):
    lines = "".join(f"q1 Q0 d{i} {i} {1 / (i + 1)} sys\n" for i in range(20_000))
    packed = gzip.compress(lines.encode())
    error = refusal(run_file(packed[: len(packed) // 2], "some.run.gz"))
    assert error.line is not None
    assert error.line > 1


def test_a_pipe_is_read_and_its_errors_are_located(tmp_path):
    for content, line in ((GOOD, None), (GOOD + "q3 Q0 d1 1 nan sys\n", 4)):
        pipe = tmp_path / f"pipe{line}"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_text, args=(content,))
        writer.start()
        if line is None:
            assert read_run(pipe).frame.rows() == ROWS
        else:
            assert refusal(pipe).line == line
        writer.join()


@pytest.mark.parametrize("content", ["", "\n", " \n\n"])
def test_an_empty_run_is_refused_unless_allowed(run_file, content):
    path = run_file(content, "bm25.trec")
    assert "empty" in refusal(path).what
    run = read_run(path, allow_empty=True)
    assert (len(run), run.qids, run.depth, run.tag) == (0, [], 0, "bm25")
    assert len(run.to_pandas()) == 0


def test_no_file_and_a_folder_are_refused(tmp_path):
    refusal(tmp_path / "none.run")
    refusal(tmp_path)


LINE = st.tuples(
    st.sampled_from(["1", "2"]),
    st.sampled_from(["Q0", ""]),
    st.text("ab#\"'é", max_size=2),
    st.sampled_from(["1", "x"]),
    st.sampled_from(["1", "2.5", "-1e3", "nan", ""]),
    st.sampled_from(["t", "t u"]),
)


@given(
    st.lists(LINE, max_size=4),
    st.sampled_from([" ", "\t", "  ", " \t", "\r"]),
    st.sampled_from(["\n", "\r\n", "\n\n", " \n"]),
)
def test_the_fast_way_accepts_nothing_that_the_exact_way_refuses(
    tmp_path_factory, lines, blank, end
):
    path = tmp_path_factory.mktemp("run") / "x.run"
    path.write_bytes("".join(blank.join(line) + end for line in lines).encode())
    data = path.read_bytes()
    fast = None if not data.strip() else read._fast(data)
    if fast is not None:
        exact, tag = read._exact(path, data, False)
        assert fast[0].rows() == exact.rows()
        assert fast[1] == tag


def test_the_fast_way_is_the_one_that_regular_files_take():
    for text in (GOOD, GOOD.replace(" ", "\t"), GOOD.replace(" ", "   ")):
        assert read._fast(text.encode()) is not None


def test_real_runs_are_read_as_they_are(collections):
    for name, rows, topics in [
        ("robust03/input.uic0301.gz", 99_969, 100),
        ("robust03/input.pircRBa1.gz", 100_000, 100),
        ("touche/runs/2021/ElrondSimpleRun.txt.gz", 50_000, 50),
        ("trec_eval/results.test", 1500, 3),
    ]:
        run = read_run(collections / name)
        assert (len(run), len(run.qids)) == (rows, topics)
        exact, tag = read._exact(collections / name, read_bytes(collections / name), False)
        assert tag == run.tag
        assert run.frame.sort("qid", "docno").equals(exact.sort("qid", "docno"))


def test_trec_evals_junk_after_the_tag_needs_to_be_allowed(collections):
    path = collections / "trec_eval/results.trunc"
    assert refusal(path).line == 1
    assert len(read_run(path, extra_columns=True)) == 584


def test_a_run_is_made_of_rows_in_any_order_and_goes_to_pandas_and_back():
    rows = pl.DataFrame(
        {"docno": ["a", "b", "c"], "qid": [1, 1, 2], "score": [1, 2, 3], "x": [0, 0, 0]}
    )
    run = Run.ranked(rows, "t")
    assert run.frame.rows() == [("1", "b", 2.0), ("1", "a", 1.0), ("2", "c", 3.0)]
    results = run.to_pandas()
    assert results["rank"].tolist() == [0, 1, 0]
    assert list(results.columns) == ["qid", "docno", "score", "rank"]
    assert Run.of(results.iloc[::-1], "t").frame.sort("qid").equals(run.frame.sort("qid"))
    assert run.top(1).frame.rows() == [("1", "b", 2.0), ("2", "c", 3.0)]


@pytest.mark.parametrize(
    "rows",
    [
        {"qid": ["1"], "docno": ["a"], "score": [np.nan]},
        {"qid": ["1"], "docno": ["a"], "score": [None]},
        {"qid": ["1"], "docno": [None], "score": [1.0]},
        {"qid": ["1"], "docno": ["a"], "score": ["high"]},
        {"qid": ["1"], "docno": ["a"]},
        {"qid": ["1", "1"], "docno": ["a", "a"], "score": [1.0, 2.0]},
    ],
)
def test_rows_that_are_no_run_are_refused(rows):
    with pytest.raises(UsageError):
        Run.ranked(pl.DataFrame(rows), "t")
