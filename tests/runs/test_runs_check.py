"""What ``adducir check`` finds in runs."""

import gzip
import subprocess
import sys

import ir_measures
import polars as pl
from ir_measures import AP, RR, Bpref, Judged, P, R, nDCG

from adducir.corpora.qrels import Qrels, load_qrels
from adducir.corpora.topics import Topics
from adducir.runs.check import check, check_file, check_runs, scan
from adducir.runs.metadata import metadata_for
from adducir.runs.read import read_run
from adducir.runs.run import SCHEMA, Run
from adducir.runs.write import write_run

QRELS_SCHEMA = {"qid": pl.String, "docno": pl.String, "grade": pl.Int64}


def run_of(rows, tag="sys"):
    return Run.ranked(pl.DataFrame(rows, schema=SCHEMA, orient="row"), tag)


def qrels_of(rows):
    return Qrels(pl.DataFrame(rows, schema=QRELS_SCHEMA, orient="row"), "qrels")


def ranking(qid, docnos, top=100.0):
    return [(qid, docno, top - place) for place, docno in enumerate(docnos)]


def codes(findings):
    return {finding.code: finding.severity for finding in findings}


def message(findings, code):
    (found,) = [finding for finding in findings if finding.code == code]
    return found.message


CLEAN = run_of(ranking("1", ["a", "b"]) + ranking("2", ["a", "c"]))
QRELS = qrels_of([("1", "a", 1), ("1", "b", 0), ("2", "a", 1), ("2", "c", -2)])


def test_nothing_is_said_of_a_clean_run():
    found = check(
        CLEAN, QRELS, Topics(["1", "2"], ["x", "y"], "topics"), ["a", "b", "c"], [AP, R @ 2]
    )
    assert found == []


def test_an_empty_run_is_an_error():
    assert codes(check(run_of([]))) == {"empty": "error"}


def test_findings_say_where_and_errors_come_first(tmp_path):
    (tmp_path / "a").write_text("9 Q0 a 1 -1 t\n9 Q0 b 1 -1 t\n")
    found = check(read_run(tmp_path / "a"), QRELS)
    assert {finding.where for finding in found} == {str(tmp_path / "a")}
    severities = [finding.severity for finding in found]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    assert severities[0] == "error"
    assert severities[-1] == "info"


def test_topics_that_lack_or_exceed_are_named():
    run = run_of(ranking("1", ["a"]) + ranking("9", ["a"]))
    found = check(run, QRELS)
    assert codes(found) == {"missing-topics": "warning", "unknown-topics": "warning"}
    assert "2" in message(found, "missing-topics")
    assert "9" in message(found, "unknown-topics")
    assert codes(check(run, topics=["1"])) == {"unknown-topics": "warning"}


def test_a_run_of_other_topics_is_an_error():
    found = check(run_of(ranking("8", ["a"]) + ranking("9", ["b"])), QRELS)
    assert codes(found) == {"no-common-topics": "error"}


def test_leading_zeros_of_qids_are_named():
    run = run_of(ranking("001", ["a", "b"]) + ranking("002", ["a", "c"]))
    found = check(run, QRELS)
    assert codes(found)["padded-qids"] == "error"
    assert "001" in message(found, "padded-qids")
    assert codes(check(run_of(ranking("0", ["a"])), topics=["000"]))["padded-qids"] == "error"


def test_docnos_cut_at_20_characters_are_recognised_by_index_or_qrels():
    names = [f"S7ba8db43-A{i:08x}-and-so-on" for i in range(40)]
    cut = run_of(ranking("1", [name[:20] for name in names]))
    judged = qrels_of([("1", name, int(name != names[9])) for name in names])
    assert codes(check(cut, docnos=names)) == {"truncated-docnos": "error"}
    assert codes(check(cut, judged)) == {"truncated-docnos": "error", "foreign-qrels": "error"}
    assert names[0] in message(check(cut, judged), "truncated-docnos")
    whole = run_of(ranking("1", names))
    assert codes(check(whole, judged, docnos=names)) == {}


def test_short_docnos_that_begin_longer_ones_are_not_taken_for_cut():
    run = run_of(ranking("1", [f"d{i}" for i in range(1, 10)]))
    known = [f"d{i}" for i in range(1, 200)]
    assert codes(check(run, docnos=known)) == {}
    assert codes(check(run, docnos=[*known[1:], "d1x"])) == {"unknown-docnos": "error"}


def test_documents_that_the_index_lacks_are_counted():
    found = check(CLEAN, docnos={"a", "b"})
    assert codes(found) == {"unknown-docnos": "error"}
    assert message(found, "unknown-docnos") == "1 document of 3 are not in the index, such as c."


def test_qrels_of_another_version_are_recognised():
    other = qrels_of([("1", "A-1", 1), ("2", "A-2", 0)])
    assert codes(check(CLEAN, other)) == {"foreign-qrels": "error"}
    shifted = qrels_of([("1", "c", 1), ("2", "b", 0)])
    assert codes(check(CLEAN, shifted)) == {"foreign-topics": "error"}


def test_hardly_a_judged_document_is_a_warning():
    docnos = [f"d{i}" for i in range(20)]
    judged = qrels_of([("1", f"e{i}", 1) for i in range(99)] + [("1", "d0", 1)])
    assert codes(check(run_of(ranking("1", docnos)), judged))["few-judged"] == "warning"


def test_the_share_of_unjudged_documents_is_reported_and_spam_counts_as_judged():
    docnos = [f"d{i}" for i in range(10)]
    judged = [("1", docno, -2) for docno in docnos[:4]]
    found = check(run_of(ranking("1", docnos)), qrels_of(judged))
    assert codes(found) == {"unjudged": "info"}
    assert "20.0% of the first 5, 60.0% of the first 10" in message(found, "unjudged")
    found = check(run_of(ranking("1", docnos[::-1])), qrels_of(judged))
    assert codes(found) == {"unjudged": "warning"}


def test_rankings_shorter_than_a_measure_looks_are_named():
    assert codes(check(CLEAN, QRELS, measures=[R @ 3])) == {"shallow": "warning"}
    judged = qrels_of([("1", f"d{i}", int(i != 7)) for i in range(8)])
    run = run_of(ranking("1", ["d0", "d1", "x", "y", "z", "d2"]))
    found = check(run, judged, measures=[nDCG(judged_only=True) @ 5, Judged @ 5, Bpref])
    assert codes(found) == {"unjudged": "warning", "shallow-condensed": "warning"}
    assert codes(check(run, judged, measures=[nDCG(judged_only=True) @ 3])) == {
        "unjudged": "warning"
    }


def test_one_score_for_all_documents_is_an_error():
    same = [("1", "a", 0.5), ("1", "b", 0.5)]
    assert codes(check(run_of(same)))["constant-scores"] == "error"
    found = check(run_of(same + ranking("2", ["a", "b"])))
    assert codes(found)["constant-scores"] == "warning"
    assert "constant-scores" not in codes(check(run_of([("1", "a", 0.5), ("2", "a", 0.5)])))


def test_ties_matter_where_the_documents_are_judged_differently():
    run = run_of([("1", "a", 2.0), ("1", "b", 2.0), ("1", "c", 1.0)])
    assert codes(check(run)) == {"ties": "warning"}
    alike = qrels_of([("1", "a", 1), ("1", "b", 1), ("1", "c", 0)])
    assert codes(check(run, alike)) == {"ties": "info"}
    differ = qrels_of([("1", "a", 1), ("1", "b", 0), ("1", "c", 0)])
    found = check(run, differ)
    assert codes(found) == {"ties": "warning"}
    assert message(found, "ties").startswith("2 documents of 1 topic share their score")
    unjudged = qrels_of([("1", "a", 0), ("1", "c", 0)])
    assert codes(check(run, unjudged))["ties"] == "warning"


def test_ties_below_the_first_10_are_reported_only():
    rows = [*ranking("1", [f"d{i}" for i in range(10)]), ("1", "x", 1.0), ("1", "y", 1.0)]
    assert codes(check(run_of(rows))) == {"ties": "info"}


def test_ties_of_single_precision_are_reported(tmp_path):
    path = tmp_path / "run.trec"
    path.write_text("1 Q0 b 1 1.000000000001 t\n1 Q0 a 2 1.0 t\n")
    assert "ties" in codes(check_file(path))


def test_negative_scores_are_reported():
    assert codes(check(run_of([("1", "a", 1.0), ("1", "b", -1.0)]))) == {"negative-scores": "info"}


def test_repeated_documents_of_a_run_made_in_python_are_an_error():
    rows = [("1", "a", 2.0), ("1", "a", 1.0)]
    run = Run(pl.DataFrame(rows, schema=SCHEMA, orient="row"), "t")
    assert codes(check(run)) == {"duplicate": "error"}


def test_docnos_that_python_would_part_are_named():
    assert codes(check(run_of([("1", "a\u00a0b", 1.0)]))) == {"odd-docnos": "warning"}


def test_a_topic_that_ranks_itself_is_named():
    assert codes(check(run_of(ranking("q1", ["q1", "b"])))) == {"query-in-ranking": "warning"}


BAD = (
    "1 Q0 a 1 2.0 t\n1 Q0 b 2 nan t\n1 Q0 c 3 t\n1 Q0 a 4 1.0 t\n2 Q0 a 1 1.0 t\n2 Q0 d 2 high t\n"
)


def test_every_malformed_line_is_named_and_the_others_are_checked(tmp_path):
    path = tmp_path / "bad.trec"
    path.write_text(BAD)
    found = check_file(path, QRELS)
    places = [(finding.code, finding.where) for finding in found if finding.severity == "error"]
    assert places == [
        ("score", f"{path}:2"),
        ("columns", f"{path}:3"),
        ("duplicate", f"{path}:4"),
        ("score", f"{path}:6"),
    ]
    assert [(problem.line, problem.code) for problem in scan(path)] == [
        (2, "score"),
        (3, "columns"),
        (4, "duplicate"),
        (6, "score"),
    ]
    missing = qrels_of([("1", "a", 1), ("2", "a", 1), ("3", "a", 1)])
    assert codes(check_file(path, missing))["missing-topics"] == "warning"


def test_many_malformed_lines_are_counted(tmp_path):
    path = tmp_path / "bad.trec"
    path.write_text("1 Q0 a 1\n" * 2 + "1 Q0 a\n" * 100 + "2 Q0 a 1 1.0 t\n")
    assert codes(check_file(path)) == {"qrels": "error"}  # a file that begins as qrels is qrels
    path.write_text("1 Q0 a\n" * 100 + "2 Q0 a 1 1.0 t\n")
    found = check_file(path, limit=5)
    assert [finding.code for finding in found] == ["columns"] * 5 + ["more"]
    assert "95 further lines" in found[-1].message


def test_a_truncated_file_is_checked_as_far_as_it_goes(tmp_path):
    path = tmp_path / "cut.trec.gz"
    text = "".join(f"{i % 7} Q0 d{i * 7919} 1 {-i}.5 t\n" for i in range(30_000))
    path.write_bytes(gzip.compress(text.encode())[:-5000])
    found = check_file(path)
    assert codes(found)["unreadable"] == "error"
    assert codes(found)["negative-scores"] == "info"
    assert [problem.code for problem in scan(path)] == ["unreadable"]


def test_files_that_are_missing_empty_or_not_utf_8_are_findings(tmp_path):
    assert codes(check_file(tmp_path / "none")) == {"unreadable": "error"}
    (tmp_path / "empty").write_text("")
    assert codes(check_file(tmp_path / "empty")) == {"empty": "error"}
    (tmp_path / "latin").write_bytes("1 Q0 a 1 1.0 t\n1 Q0 café 2 0.5 t\n".encode("latin-1"))
    found = check_file(tmp_path / "latin")
    assert [(finding.code, finding.where) for finding in found] == [
        ("unreadable", f"{tmp_path / 'latin'}:2")
    ]


def test_ranks_that_contradict_scores_are_named(tmp_path):
    path = tmp_path / "a.trec"
    path.write_text("1 Q0 a 2 2.0 t\n1 Q0 b 1 1.0 t\n2 Q0 a 1 1.0 t\n")
    assert codes(check_file(path)) == {"ranks": "warning"}
    path.write_text("1 Q0 b 2 1.0 t\n1 Q0 a 1 2.0 t\n")
    assert codes(check_file(path)) == {"order": "info"}
    path.write_text("1 Q0 a first 2.0 t\n1 Q0 b second 1.0 t\n")
    assert codes(check_file(path)) == {"ranks": "info"}


def test_several_tags_in_a_file_are_named(tmp_path):
    path = tmp_path / "a.trec"
    path.write_text("1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 u\n")
    assert codes(check_file(path)) == {"tags": "warning"}


def test_metadata_of_another_file_is_named(tmp_path):
    path = tmp_path / "a.trec"
    write_run(CLEAN, path)
    assert check_file(path) == []
    path.write_text(path.read_text().replace("sys", "SYS"))
    assert codes(check_file(path)) == {"metadata": "warning"}
    metadata_for(path).write_text("tag: [")
    assert codes(check_file(path)) == {"metadata": "warning"}


def test_runs_that_cannot_be_compared_are_named():
    other = run_of(ranking("1", ["b", "a"]), "other")
    assert check_runs([CLEAN, run_of(ranking("1", ["b", "a"]) + ranking("2", ["c"]), "x")]) == []
    same = Run(CLEAN.frame, "again")
    assert codes(check_runs([CLEAN, same])) == {"same-ranking": "warning"}
    found = check_runs([CLEAN, Run(other.frame, "sys")])
    assert codes(found) == {"same-tag": "warning", "topic-sets": "warning"}


def test_real_runs_and_qrels(collections):
    touche = collections / "touche"
    run = read_run(touche / "runs/2021/ElrondSimpleRun.txt.gz")
    name = "qrels/touche2020-task1-relevance-args-me-corpus-version-2020-04-01-corrected.qrels"
    assert codes(check(run, load_qrels(touche / name)))["no-common-topics"] == "error"
    good = check(run, load_qrels(touche / "qrels/touche-task1-51-100-relevance.qrels"))
    assert codes(good) == {"ties": "warning", "unjudged": "info"}
    assert message(good, "ties").startswith("15,018 documents of 50 topics")
    robust = collections / "robust03"
    found = check_file(robust / "input.uic0301.gz", load_qrels(robust / "qrels.txt.gz"))
    assert codes(found) == {"unjudged": "info"}
    trunc = check_file(collections / "trec_eval/results.trunc")
    assert [finding.code for finding in trunc if finding.severity == "error"] == ["columns"] * 5


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


def test_the_package_loads_nothing_heavy_until_it_is_used():
    code = (
        "import sys, adducir.runs as r; assert not {'polars', 'numpy'} & set(sys.modules);"
        "from importlib import import_module; from pkgutil import iter_modules;"
        "[import_module(f'adducir.runs.{one.name}') for one in iter_modules(r.__path__)];"
        "assert not {'torch', 'pandas', 'scipy', 'pyterrier', 'jnius'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_small_numbers_that_meet_by_chance_are_no_query_in_the_ranking():
    topics = [str(number) for number in range(1, 51)]
    ranked = [str(number) for number in range(1, 101)]
    run = run_of([row for qid in topics for row in ranking(qid, ranked)])
    assert "query-in-ranking" not in codes(check(run))
    assert "query-in-ranking" not in codes(check(run_of(ranking("1", ["1", "2"]))))


def test_small_numbers_that_meet_for_nearly_every_topic_are_named():
    topics = [str(number) for number in range(1, 51)]
    rows = [row for qid in topics for row in ranking(qid, [qid, f"{int(qid) * 9973}"])]
    found = check(run_of(rows))
    assert codes(found)["query-in-ranking"] == "warning"
    assert message(found, "query-in-ranking").startswith("50 topics")
    large = [row for qid in ("12345678", "87654321") for row in ranking(qid, [qid, "1"])]
    assert codes(check(run_of(large)))["query-in-ranking"] == "warning"
