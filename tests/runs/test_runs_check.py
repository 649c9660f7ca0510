"""What ``adducir check`` finds in runs."""

import gzip

import pytest
from ir_measures import Bpref, Judged, R, nDCG

from adducir.corpora.qrels import Qrels, load_qrels
from adducir.corpora.topics import Topics
from adducir.runs.check import check
from adducir.runs.read import read_run
from adducir.runs.run import Run


def run_of(text, tag="sys"):
    """A run of ``1 a b=0.5, 2 c``: topics, each with its documents, whose scores fall from 100."""
    found = {}
    for qid, *documents in map(str.split, text.split(",")):
        pairs = [document.partition("=") for document in documents]
        found[qid] = {docno: float(s or 100 - n) for n, (docno, _, s) in enumerate(pairs)}
    return Run.of(found, tag)


def qrels_of(text):
    """Qrels of ``1 a b=0``: topics, each with its documents, whose grades are 1 if not given."""
    found = {}
    for qid, *documents in map(str.split, text.split(",")):
        pairs = [document.partition("=") for document in documents]
        found[qid] = {docno: int(grade or 1) for docno, _, grade in pairs}
    return Qrels.of(found)


def codes(*runs, **options):
    """The findings' codes, errors with ``!`` behind them, warnings with ``?``."""
    marks = {"error": "!", "warning": "?", "info": ""}
    return " ".join(sorted(one.code + marks[one.severity] for one in check(runs, **options)))


CLEAN = run_of("1 a b, 2 a c")
QRELS = qrels_of("1 a b=0, 2 a c=-2")
TEN = " ".join(f"d{i}" for i in range(10))
NAMES = [f"S7ba8db43-A{i:08x}-and-so-on" for i in range(40)]
CUT = run_of("1 " + " ".join(name[:20] for name in NAMES))
JUDGED_NAMES = qrels_of("1 x=0 " + " ".join(NAMES))
TIED = run_of("1 a=2 b=2 c=1")
SOME, SOME_JUDGED = run_of("1 d0 d1 x y z d2"), qrels_of("1 d0 d1 d2 d3 d4 d5 d6 d7=0")
NUMBERED = [str(number) for number in range(1, 51)]


@pytest.mark.parametrize(
    ("run", "options", "expected"),
    [
        (Run.of({}, "t"), {}, "empty!"),
        (run_of("1 a, 9 a"), {"qrels": QRELS}, "missing-topics? unknown-topics?"),
        (CLEAN, {"topics": Topics.of({"1": "x"})}, "unknown-topics?"),
        (run_of("8 a"), {"qrels": QRELS}, "no-common-topics!"),
        (run_of("01 a"), {"topics": Topics.of({"1": "x"})}, "no-common-topics! padded-qids!"),
        (CUT, {"docnos": NAMES}, "truncated-docnos!"),
        (CUT, {"qrels": JUDGED_NAMES}, "foreign-qrels! truncated-docnos!"),
        (run_of("1 " + " ".join(NAMES)), {"qrels": JUDGED_NAMES, "docnos": NAMES}, ""),
        # Short docnos that begin longer ones are not taken for cut ones.
        (run_of(f"1 {TEN}"), {"docnos": [f"d{i}" for i in range(200)]}, ""),
        (CLEAN, {"docnos": {"a", "b"}}, "unknown-docnos!"),
        # Qrels of another collection, and with other numbers of topics.
        (CLEAN, {"qrels": qrels_of("1 A, 2 B")}, "foreign-qrels!"),
        (CLEAN, {"qrels": qrels_of("1 c, 2 b")}, "foreign-qrels!"),
        # Qrels that match in part: spelt otherwise, or not in the index.
        (run_of("1 X-01 X-02 X-3"), {"qrels": qrels_of("1 X-1 X-2 X-3")}, "few-judged! unjudged?"),
        (run_of("1 X-1 x_2 X-3"), {"qrels": qrels_of("1 X-01 X-2 X-3")}, "few-judged! unjudged?"),
        (run_of("1 a"), {"qrels": qrels_of("1 a B=0"), "docnos": ["a", "b"]}, "few-judged!"),
        (run_of("1 a"), {"qrels": qrels_of("1 a c"), "docnos": ["a", "b"]}, "few-judged?"),
        (run_of("1 a"), {"qrels": qrels_of("1 a c=0"), "docnos": ["a", "b"]}, ""),
        (run_of("1 X-1 X-01"), {"qrels": qrels_of("1 X-1 X-01"), "docnos": ["X-1", "X-01"]}, ""),
        (run_of("1 X-1"), {"qrels": qrels_of("1 X-1 X-10 Z-1")}, ""),
        (CLEAN, {"qrels": QRELS, "measures": [R @ 3]}, "shallow?"),
        (
            SOME,
            {"qrels": SOME_JUDGED, "measures": [nDCG(judged_only=True) @ 5, Judged @ 5, Bpref]},
            "shallow-condensed? unjudged?",
        ),
        (SOME, {"qrels": SOME_JUDGED, "measures": [nDCG(judged_only=True) @ 3]}, "unjudged?"),
        (run_of("1 a=.5 b=.5"), {}, "constant-scores! ties?"),
        (run_of("1 a=.5 b=.5, 2 a b"), {}, "constant-scores? ties?"),
        (run_of("1 a=.5, 2 a=.5"), {}, ""),
        # Ties matter where the documents are judged differently, and among the first ten.
        (TIED, {}, "ties?"),
        (TIED, {"qrels": qrels_of("1 a b c=0")}, "ties"),
        (TIED, {"qrels": qrels_of("1 a b=0 c=0")}, "ties?"),
        (TIED, {"qrels": qrels_of("1 a=0 c=0")}, "ties? unjudged"),
        (run_of(f"1 {TEN} x=1 y=1"), {}, "ties"),
        (run_of("q1 q1 b"), {}, "query-in-ranking?"),
        # Small numbers meet by chance, but not for nearly every topic.
        (run_of("1 1 2"), {}, ""),
        (run_of(",".join(f"{q} {q} {int(q) * 9973}" for q in NUMBERED)), {}, "query-in-ranking?"),
    ],
)
def test_what_is_found(run, options, expected):
    assert codes(run, **options) == expected


def test_metadata_that_are_of_another_run(tmp_path):
    path, metadata = tmp_path / "a.run", tmp_path / "a.run.ir-metadata.yml"
    path.write_text("1 Q0 a 1 2.0 t\n")
    for text, told in ((f"run file: {{sha256: {'0' * 64}}}", "has changed"), ("- 1", "metadata")):
        metadata.write_text(text)
        (found,) = check([path])
        assert (found.code, told in found.message) == ("metadata", True)


BAD = (
    "1 Q0 a 1 2.0 t\n1 Q0 b 2 nan t\n1 Q0 c 3 t\n1 Q0 a 4 1.0 t\n2 Q0 a 1 1.0 t\n2 Q0 d 2 high t\n"
)


def test_every_malformed_line_is_named_and_the_others_are_checked(tmp_path):
    path = tmp_path / "bad.trec"
    path.write_text(BAD)
    found = check([path], qrels=qrels_of("1 a, 2 a, 3 a"))
    assert {one.run for one in found} == {str(path)}
    assert [(one.severity, one.line, one.code) for one in found] == [
        ("error", 2, "score"),
        ("error", 3, "columns"),
        ("error", 4, "duplicate"),
        ("error", 6, "score"),
        ("warning", 0, "missing-topics"),
    ]
    path.write_text("1 Q0 a 1\n" * 2 + "1 Q0 a\n" * 100 + "2 Q0 a 1 1.0 t\n")
    assert codes(path) == "qrels!"  # a file that begins as qrels is qrels
    path.write_text("1 Q0 a\n" * 100 + "2 Q0 a 1 1.0 t\n")
    found = check([path])
    assert [finding.code for finding in found] == ["columns"] * 20 + ["more"]
    assert "80 more lines are malformed" in found[-1].message


@pytest.mark.parametrize(
    ("data", "expected", "line"),
    [
        (None, "unreadable!", 0),
        (b"", "empty!", 0),
        ("1 Q0 a 1 1.0 t\n1 Q0 café 2 0.5 t\n".encode("latin-1"), "unreadable!", 2),
        (gzip.compress(b"1 Q0 a 1 1.0 t\n", mtime=0)[:-9], "unreadable!", 1),
        (b"1 Q0 a 2 2.0 t\n1 Q0 b 1 1.0 t\n2 Q0 a 1 1.0 t\n", "ranks?", 0),
        (b"1 Q0 b 2 1.0 t\n1 Q0 a 1 2.0 t\n", "", 0),
        (b"1 Q0 a first 2.0 t\n1 Q0 b second 1.0 t\n", "ranks", 0),
        (b"1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 u\n", "tags?", 0),
        (b"1 Q0 b 1 1.000000000001 t\n1 Q0 a 2 1.0 t\n", "constant-scores! ties?", 0),
    ],
)
def test_what_a_file_says_beyond_its_run(tmp_path, data, expected, line):
    path = tmp_path / "a.trec"
    if data is not None:
        path.write_bytes(data)
    assert codes(path) == expected
    assert all(one.line == line for one in check([path]))


def test_runs_that_cannot_be_compared_are_named():
    assert codes(CLEAN, run_of("1 b a, 2 c", "x")) == ""
    assert codes(CLEAN, run_of("1 a b, 2 a c", "again")) == "same-ranking? same-ranking?"
    assert codes(CLEAN, run_of("1 b a")) == "same-tag? same-tag? topic-sets?"


def test_real_runs_and_qrels(collections):
    touche, robust = collections / "touche", collections / "robust03"
    run = read_run(touche / "runs/2021/ElrondSimpleRun.txt.gz")
    name = "qrels/touche2020-task1-relevance-args-me-corpus-version-2020-04-01-corrected.qrels"
    assert "no-common-topics!" in codes(run, qrels=load_qrels(touche / name))
    good = load_qrels(touche / "qrels/touche-task1-51-100-relevance.qrels")
    assert codes(run, qrels=good) == "ties? unjudged"
    uic = codes(robust / "input.uic0301.gz", qrels=load_qrels(robust / "qrels.txt.gz"))
    assert uic == "unjudged"
    trunc = check([collections / "trec_eval/results.trunc"])
    assert [one.code for one in trunc if one.severity == "error"] == ["columns"] * 5
