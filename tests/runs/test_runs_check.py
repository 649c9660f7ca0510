"""What ``adducir check`` finds in runs."""

import csv
import gzip
import json

import ir_measures
import polars as pl
import pytest
from ir_measures import AP, RR, Bpref, Judged, P, R, nDCG

from adducir.cli.app import main
from adducir.corpora.qrels import Qrels, load_qrels
from adducir.corpora.topics import Topics
from adducir.runs.check import check
from adducir.runs.metadata import metadata_for
from adducir.runs.read import read_run
from adducir.runs.run import SCHEMA, Run
from adducir.runs.write import write_run


def run_of(rows, tag="sys"):
    return Run.ranked(pl.DataFrame(rows, schema=SCHEMA, orient="row"), tag)


def qrels_of(*rows):
    nested = {}
    for qid, docno, grade in rows:
        nested.setdefault(qid, {})[docno] = grade
    return Qrels.of(nested)


def ranking(qid, docnos, top=100.0):
    return [(qid, docno, top - place) for place, docno in enumerate(docnos)]


def codes(runs, **options):
    found = check(runs if isinstance(runs, list) else [runs], **options)
    return {finding.code: finding.severity for finding in found}


def message(run, code, **options):
    (found,) = [finding for finding in check([run], **options) if finding.code == code]
    return found.message


CLEAN = run_of(ranking("1", ["a", "b"]) + ranking("2", ["a", "c"]))
QRELS = qrels_of(("1", "a", 1), ("1", "b", 0), ("2", "a", 1), ("2", "c", -2))
TEN = [f"d{i}" for i in range(10)]


def test_nothing_is_said_of_a_clean_run():
    topics = Topics.of({"1": "x", "2": "y"})
    options = {"topics": topics, "docnos": ["a", "b", "c"], "measures": [AP, R @ 2]}
    assert check([CLEAN], qrels=QRELS, **options) == []


def test_findings_name_the_run_and_errors_come_first(tmp_path):
    path = tmp_path / "a"
    path.write_text("9 Q0 a 1 -1 t\n9 Q0 b 1 -1 t\n1 Q0 b x 1 t\n")
    found = check([read_run(path)], qrels=QRELS)
    assert {finding.run for finding in found} == {str(path)}
    severities = [finding.severity for finding in found]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    assert (severities[0], severities[-1]) == ("error", "info")


NAMES = [f"S7ba8db43-A{i:08x}-and-so-on" for i in range(40)]
CUT = run_of(ranking("1", [name[:20] for name in NAMES]))
JUDGED_NAMES = qrels_of(*(("1", name, int(name != NAMES[9])) for name in NAMES))
SAME = [("1", "a", 0.5), ("1", "b", 0.5)]
TIED = run_of([("1", "a", 2.0), ("1", "b", 2.0), ("1", "c", 1.0)])
SOME = run_of(ranking("1", ["d0", "d1", "x", "y", "z", "d2"]))
SOME_JUDGED = qrels_of(*(("1", f"d{i}", int(i != 7)) for i in range(8)))
TIED_AND_FLAT = {"constant-scores": "error", "ties": "warning"}
NUMBERED = [str(number) for number in range(1, 51)]


@pytest.mark.parametrize(
    ("run", "options", "expected"),
    [
        (run_of([]), {}, {"empty": "error"}),
        (
            run_of(ranking("1", ["a"]) + ranking("9", ["a"])),
            {"qrels": QRELS},
            {"missing-topics": "warning", "unknown-topics": "warning"},
        ),
        (CLEAN, {"topics": Topics.of({"1": "x"})}, {"unknown-topics": "warning"}),
        (run_of(ranking("8", ["a"])), {"qrels": QRELS}, {"no-common-topics": "error"}),
        (
            run_of(ranking("000", ["a"])),
            {"topics": Topics.of({"0": "x"})},
            {"padded-qids": "error", "no-common-topics": "error"},
        ),
        (CUT, {"docnos": NAMES}, {"truncated-docnos": "error"}),
        (CUT, {"qrels": JUDGED_NAMES}, {"truncated-docnos": "error", "foreign-qrels": "error"}),
        (run_of(ranking("1", NAMES)), {"qrels": JUDGED_NAMES, "docnos": NAMES}, {}),
        # Short docnos that begin longer ones are not taken for cut ones.
        (run_of(ranking("1", TEN[1:])), {"docnos": [f"d{i}" for i in range(1, 200)]}, {}),
        (CLEAN, {"docnos": {"a", "b"}}, {"unknown-docnos": "error"}),
        # Qrels of another version of the collection, of other numbers of topics, of other topics.
        (CLEAN, {"qrels": qrels_of(("1", "A", 1), ("2", "B", 0))}, {"foreign-qrels": "error"}),
        (CLEAN, {"qrels": qrels_of(("1", "c", 1), ("2", "b", 0))}, {"foreign-qrels": "error"}),
        (
            run_of(ranking("1", [*TEN, *NAMES])),
            {"qrels": qrels_of(*(("1", f"e{i}", i % 2) for i in range(99)), ("1", "d0", 1))},
            {"few-judged": "warning", "unjudged": "warning"},
        ),
        (CLEAN, {"qrels": QRELS, "measures": [R @ 3]}, {"shallow": "warning"}),
        (
            SOME,
            {
                "qrels": SOME_JUDGED,
                "measures": [nDCG(judged_only=True) @ 5, Judged @ 5, Bpref],
            },
            {"unjudged": "warning", "shallow-condensed": "warning"},
        ),
        (
            SOME,
            {"qrels": SOME_JUDGED, "measures": [nDCG(judged_only=True) @ 3]},
            {"unjudged": "warning"},
        ),
        (run_of(SAME), {}, TIED_AND_FLAT),
        (
            run_of(SAME + ranking("2", ["a", "b"])),
            {},
            {"constant-scores": "warning", "ties": "warning"},
        ),
        (run_of([("1", "a", 0.5), ("2", "a", 0.5)]), {}, {}),
        (TIED, {}, {"ties": "warning"}),
        # Ties matter where the documents are judged differently, and among the first ten.
        (TIED, {"qrels": qrels_of(("1", "a", 1), ("1", "b", 1), ("1", "c", 0))}, {"ties": "info"}),
        (
            TIED,
            {"qrels": qrels_of(("1", "a", 1), ("1", "b", 0), ("1", "c", 0))},
            {"ties": "warning"},
        ),
        (run_of([*ranking("1", TEN), ("1", "x", 1.0), ("1", "y", 1.0)]), {}, {"ties": "info"}),
        (
            Run(pl.DataFrame([("1", "a", 2.0), ("1", "a", 1.0)], SCHEMA, orient="row"), "t"),
            {},
            {"duplicate": "error"},
        ),
        (run_of(ranking("q1", ["q1", "b"])), {}, {"query-in-ranking": "warning"}),
        (
            run_of([row for q in NUMBERED for row in ranking(q, [q, str(int(q) * 9973)])]),
            {},
            {"query-in-ranking": "warning"},
        ),
    ],
)
def test_what_is_found(run, options, expected):
    assert codes(run, **options) == expected


def test_small_numbers_that_meet_by_chance_are_not_queries_in_the_ranking():
    ranked = [str(number) for number in range(1, 101)]
    assert codes(run_of([row for qid in NUMBERED for row in ranking(qid, ranked)])) == {}
    assert codes(run_of(ranking("1", ["1", "2"]))) == {}


def test_messages_hold_the_figures():
    assert message(CLEAN, "unknown-docnos", docnos=["a", "b"]).startswith("1 document of 3 ")
    assert NAMES[0] in message(CUT, "truncated-docnos", qrels=JUDGED_NAMES)
    assert message(TIED, "ties").startswith("2 documents of 1 topic ")
    spam = qrels_of(*(("1", docno, -2) for docno in TEN[:4]))  # counts as judged
    run = run_of(ranking("1", TEN))
    shares = message(run, "unjudged", qrels=spam)
    assert "20.0% of the first 5, 60.0% of the first 10" in shares
    assert codes(run_of(ranking("1", TEN[::-1])), qrels=spam) == {"unjudged": "warning"}
    assert codes(run, qrels=spam) == {"unjudged": "info"}


BAD = (
    "1 Q0 a 1 2.0 t\n1 Q0 b 2 nan t\n1 Q0 c 3 t\n1 Q0 a 4 1.0 t\n2 Q0 a 1 1.0 t\n2 Q0 d 2 high t\n"
)


def test_every_malformed_line_is_named_and_the_others_are_checked(tmp_path):
    path = tmp_path / "bad.trec"
    path.write_text(BAD)
    missing = qrels_of(("1", "a", 1), ("2", "a", 1), ("3", "a", 1))
    found = check([path], qrels=missing)
    assert [(one.line, one.code) for one in found if one.severity == "error"] == [
        (2, "score"),
        (3, "columns"),
        (4, "duplicate"),
        (6, "score"),
    ]
    assert "missing-topics" in {one.code for one in found}
    path.write_text("1 Q0 a 1\n" * 2 + "1 Q0 a\n" * 100 + "2 Q0 a 1 1.0 t\n")
    assert codes(path) == {"qrels": "error"}  # a file that begins as qrels is qrels
    path.write_text("1 Q0 a\n" * 100 + "2 Q0 a 1 1.0 t\n")
    found = check([path])
    assert [finding.code for finding in found] == ["columns"] * 20 + ["more"]
    assert "80 further lines" in found[-1].message


def test_files_that_cannot_be_read_are_findings(tmp_path):
    assert codes(tmp_path / "none") == {"unreadable": "error"}
    (tmp_path / "empty").write_text("")
    assert codes(tmp_path / "empty") == {"empty": "error"}
    (tmp_path / "latin").write_bytes("1 Q0 a 1 1.0 t\n1 Q0 café 2 0.5 t\n".encode("latin-1"))
    (found,) = check([tmp_path / "latin"])
    assert (found.code, found.line) == ("unreadable", 2)
    lines = "".join(f"{i % 7} Q0 d{i * 7919} 1 {-i}.5 t\n" for i in range(30_000))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(lines.encode())[:-5000])
    (found,) = check([tmp_path / "cut.gz"])
    assert found.code == "unreadable"
    assert found.line > 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 Q0 a 2 2.0 t\n1 Q0 b 1 1.0 t\n2 Q0 a 1 1.0 t\n", {"ranks": "warning"}),
        ("1 Q0 b 2 1.0 t\n1 Q0 a 1 2.0 t\n", {}),
        ("1 Q0 a first 2.0 t\n1 Q0 b second 1.0 t\n", {"ranks": "info"}),
        ("1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 u\n", {"tags": "warning"}),
        ("1 Q0 b 1 1.000000000001 t\n1 Q0 a 2 1.0 t\n", TIED_AND_FLAT),
    ],
)
def test_what_a_file_says_beyond_its_run(tmp_path, text, expected):
    (tmp_path / "a.trec").write_text(text)
    assert codes(tmp_path / "a.trec") == expected


def test_metadata_of_another_file_is_named(tmp_path):
    path = tmp_path / "a.trec"
    write_run(CLEAN, path)
    assert check([path]) == []
    path.write_text(path.read_text().replace("sys", "SYS"))
    assert codes(path) == {"metadata": "warning"}
    metadata_for(path).write_text("tag: [")
    assert codes(path) == {"metadata": "warning"}


def test_runs_that_cannot_be_compared_are_named():
    other = run_of(ranking("1", ["b", "a"]), "other")
    assert codes([CLEAN, run_of(ranking("1", ["b", "a"]) + ranking("2", ["c"]), "x")]) == {}
    assert codes([CLEAN, Run(CLEAN.frame, "again")]) == {"same-ranking": "warning"}
    found = codes([CLEAN, Run(other.frame, "sys")])
    assert found == {"same-tag": "warning", "topic-sets": "warning"}


def test_the_command_prints_a_matrix_or_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.trec").write_text(BAD)
    write_run(CLEAN, tmp_path / "clean.trec")
    assert main(["check", "bad.trec", "clean.trec"]) == 1
    head, bad, clean = capsys.readouterr().out.splitlines()[:3]
    assert head.split()[:2] == ["score", "columns"]
    assert bad.split()[:3] == ["bad.trec", "error", "error"]
    assert set(clean.split()[1:]) == {"-"}
    assert main(["check", "bad.trec", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found[0].keys() == {"run", "severity", "code", "line", "message"}
    assert main(["check", "bad.trec", "--format", "csv"]) == 1
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [row["code"] for row in rows] == [one["code"] for one in found]
    assert main(["check", "clean.trec"]) == 0


def test_real_runs_and_qrels(collections):
    touche, robust = collections / "touche", collections / "robust03"
    run = read_run(touche / "runs/2021/ElrondSimpleRun.txt.gz")
    name = "qrels/touche2020-task1-relevance-args-me-corpus-version-2020-04-01-corrected.qrels"
    assert codes(run, qrels=load_qrels(touche / name))["no-common-topics"] == "error"
    good = load_qrels(touche / "qrels/touche-task1-51-100-relevance.qrels")
    assert codes(run, qrels=good) == {"ties": "warning", "unjudged": "info"}
    assert message(run, "ties", qrels=good).startswith("15,018 documents of 50 topics")
    uic = codes(robust / "input.uic0301.gz", qrels=load_qrels(robust / "qrels.txt.gz"))
    assert uic == {"unjudged": "info"}
    trunc = check([collections / "trec_eval/results.trunc"])
    assert [one.code for one in trunc if one.severity == "error"] == ["columns"] * 5


def test_providers_agree_on_a_run_whose_ties_were_broken(tmp_path):
    run = run_of([("1", docno, 200.2) for docno in "cab"])
    write_run(run, tmp_path / "a.trec")
    measures = [P @ 1, RR, RR @ 10, Judged @ 1]
    judged = [ir_measures.Qrel("1", "a", 1)]
    written = list(ir_measures.read_trec_run(str(tmp_path / "a.trec")))
    assert set(ir_measures.calc_aggregate(measures, judged, written).values()) == {1.0}
    tied = [ir_measures.ScoredDoc("1", docno, 200.2) for docno in "cab"]
    values = ir_measures.calc_aggregate(measures, judged, tied)
    assert len(set(values.values())) > 1  # else this test shows nothing
