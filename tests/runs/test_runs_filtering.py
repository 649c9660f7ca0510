"""Filtered runs: residual collections, queries from the collection, topics, depth, repeats."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir import Qrels, Run
from adducir.cli.app import main
from adducir.core.errors import UsageError
from adducir.runs.filtering import filter_run
from adducir.runs.read import read_run
from adducir.runs.write import read_metadata

IDS = st.sampled_from(["1", "2", "3", "a", "b"])
RANKED = st.dictionaries(IDS, st.dictionaries(IDS, st.floats(0, 1), min_size=1), min_size=1)


@given(RANKED, st.dictionaries(IDS, st.dictionaries(IDS, st.integers(0, 2))), st.integers(1, 3))
def test_what_is_left_is_the_rest_in_its_order(ranked, grades, depth):
    run, qrels = Run.of(ranked, "t"), Qrels.of(grades)
    for options, holds in (
        ({"judged": qrels}, lambda q, d: d not in grades.get(q, {})),
        ({"own": True}, lambda q, d: q != d),
        ({"topics": qrels}, lambda q, d: bool(grades.get(q))),
        ({"judged": qrels, "own": True}, lambda q, d: d not in grades.get(q, {}) and q != d),
    ):
        rows = [row for row in run.frame.rows() if holds(row[0], row[1])]
        found = filter_run(run, **options)
        assert found.run.frame.rows() == rows
        assert sum(found.dropped.values()) == len(run) - len(rows)
        cut = filter_run(run, **options, depth=depth).run
        assert cut.frame.rows() == found.run.top(depth).frame.rows()
    with pytest.raises(UsageError):
        filter_run(run)


def test_the_command_writes_what_it_dropped(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = ["1 Q0 1 1 5.5 t", "1 Q0 a 2 5 t", "1 Q0 b 3 4 t", "1 Q0 a 4 3 t", "2 Q0 c 1 1 t"]
    Path("r.trec").write_text("\n".join(lines))
    Path("q.txt").write_text("1 0 b 1\n")
    command = "filter r.trec --drop-own --drop-duplicates --keep-topics q.txt --drop-judged q.txt"
    assert main([*command.split(), "-o", "rest.trec"]) == 0
    assert "own 1" in capsys.readouterr().err
    assert Path("rest.trec").read_text() == "1 Q0 a 1 5.0 t\n"
    (stage,) = read_metadata("rest.trec")["method"]["filtering"]
    assert stage["dropped"] == {"topics": 1, "own": 1, "judged": 1}
    assert main(["filter", "rest.trec", "--depth", "1", "-o", "again.trec"]) == 0
    assert len(read_metadata("again.trec")["method"]["filtering"]) == 2
    assert main(["filter", "rest.trec", "-o", "again.trec"]) == 2  # no filter
    assert main(["check", "r.trec"]) == 1
    assert "adducir filter" in capsys.readouterr().out


def test_the_first_of_repeated_documents_has_the_best_rank(tmp_path):
    for name, text in (
        ("a.trec", "1 Q0 a 1 1 t\n1 Q0 b 2 2 t\n1 Q0 a 3 3 t\n"),
        ("a.tsv", "1\ta\t1\n1\tb\t2.5\n1\ta\t3\n"),
        ("a.csv", "qid,docno,score\n1,a,1\n1,b,2\n1,a,3\n"),
    ):
        (tmp_path / name).write_text(text)
        run = read_run(tmp_path / name, duplicates="first")
        assert run.frame["docno"].to_list() == ["a", "b"]
