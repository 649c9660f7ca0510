"""``adducir evaluate``: from runs and qrels to a table."""

import csv
import io
import json

import pytest

from adducir.cli.app import main
from adducir.corpora.qrels import load_qrels
from adducir.evaluation.evaluator import evaluate
from adducir.runs.read import read_run

QRELS = """1 0 d1 1
1 0 d2 0
1 0 d3 -2
2 0 d1 1
2 0 d4 1
3 0 d5 1
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two runs and qrels of three topics, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(QRELS)
    write(tmp_path / "a.trec", {"1": ["d1", "d2"], "2": ["d1", "d4"], "3": ["d5"]})
    write(tmp_path / "b.trec", {"1": ["d3", "d1"], "2": ["d9", "d1"]})
    return tmp_path


def write(path, ranking):
    lines = [
        f"{qid} Q0 {docno} {rank + 1} {10 - rank} {path.stem}\n"
        for qid, docnos in ranking.items()
        for rank, docno in enumerate(docnos)
    ]
    path.write_text("".join(lines))


def evaluated(capsys, *arguments, code=0):
    """Run ``adducir evaluate`` and return stdout and stderr."""
    assert main(["evaluate", *arguments]) == code
    return capsys.readouterr()


def as_json(capsys, *arguments):
    return json.loads(evaluated(capsys, *arguments, "--format", "json").out)


def means(table):
    return {
        (row["system"], column["measure"]): cell["mean"]
        for row in table["rows"]
        for column, cell in zip(table["columns"], row["cells"], strict=True)
    }


def test_the_figures_are_those_of_the_package(folder, capsys):
    table = as_json(capsys, "a.trec", "b.trec", "--qrels", "qrels.txt", "--measures", "AP,P@1 RR")
    found = means(table)
    for system in "ab":
        run, qrels = read_run(folder / f"{system}.trec"), load_qrels(folder / "qrels.txt")
        scores = evaluate(run, qrels, "AP P@1 RR")
        for measure in scores.measures:
            assert found[system, str(measure)] == scores.mean(measure)
    assert found["b", "P@1"] == 0
    assert found["a", "P@1"] == 1


def test_the_default_measures(folder, capsys):
    out, err = evaluated(capsys, "a.trec", "--qrels", "qrels.txt")
    assert "Bpref" in out
    assert "Judged@5" in out
    assert "\x1b" not in out
    assert err == ""


def test_measures_can_be_repeated(folder, capsys):
    table = as_json(capsys, "a.trec", "-q", "qrels.txt", "-m", "AP", "-m", "P@1,P@2")
    assert [column["measure"] for column in table["columns"]] == ["AP", "P@1", "P@2"]


def test_qrels_can_be_repeated(folder, capsys):
    (folder / "more.txt").write_text("4 0 d1 1\n")
    table = as_json(capsys, "a.trec", "-q", "qrels.txt", "-q", "more.txt", "-m", "P@1")
    assert means(table)["a", "P@1"] == 0.75


@pytest.mark.parametrize("baseline", ["a", "a.trec", "./a.trec"])
def test_the_baseline_by_name_and_by_path(folder, capsys, baseline):
    table = as_json(capsys, "a.trec", "b.trec", "-q", "qrels.txt", "--baseline", baseline)
    assert table["baselines"] == ["a"]


def test_a_baseline_beside_the_runs_becomes_the_first_row(folder, capsys):
    table = as_json(capsys, "b.trec", "-q", "qrels.txt", "--baseline", "a.trec")
    assert [row["system"] for row in table["rows"]] == ["a", "b"]
    assert table["baselines"] == ["a"]


def test_two_baselines(folder, capsys):
    write(folder / "c.trec", {"1": ["d2"], "2": ["d4"], "3": ["d9"]})
    table = as_json(capsys, "c.trec", "-q", "qrels.txt", "-b", "a.trec", "-b", "b.trec")
    assert table["baselines"] == ["a", "b"]


def test_an_unknown_baseline_names_the_systems(folder, capsys):
    arguments = ["a.trec", "b.trec", "-q", "qrels.txt", "--baseline", "bm25"]
    err = evaluated(capsys, *arguments, code=2).err
    assert "'bm25'" in err


def test_equal_names_are_reported_apart(folder, capsys):
    (folder / "old").mkdir()
    write(folder / "old" / "a.trec", {"1": ["d2"]})
    table = as_json(capsys, "a.trec", "old/a.trec", "-q", "qrels.txt")
    assert [row["system"] for row in table["rows"]] == [f"{folder.name}/a", "old/a"]


def test_everything_said_reaches_the_tests(folder, capsys):
    table = as_json(
        capsys,
        *["a.trec", "b.trec", "-q", "qrels.txt", "-m", "AP P@1", "--baseline", "a"],
        *["--test", "randomisation", "--correction", "bh", "--family", "table"],
        *["--alpha", "0.1", "--equivalence", "0.2", "--set", "against=b.trec"],
        *["--set", "permutations=500", "--set", "seed=7", "--set", "confidence=0.9"],
        *["--set", "decimals=2", "--show", "ci,effect", "--show", "wins"],
    )
    settings = table["facts"]["topic_sets"][0]["settings"]
    expected = {
        "test": "randomisation",
        "correction": "bh",
        "family": "table",
        "alpha": 0.1,
        "equivalence": 0.2,
        "against": "b",
        "permutations": 500,
        "seed": 7,
        "confidence": 0.9,
    }
    assert {name: settings[name] for name in expected} == expected
    assert table["style"]["decimals"] == 2
    assert table["style"]["details"] == ["ci", "effect", "wtl"]


def test_the_set_of_the_best_presets_and_non_inferiority_reach_the_tests(folder, capsys):
    runs = ["a.trec", "b.trec", "-q", "qrels.txt", "-m", "AP"]
    table = as_json(
        capsys,
        *[
            *runs,
            "--baseline",
            "a",
            "--set",
            "preset=wilcoxon-bh",
            "--set",
            "best=set",
            "--set",
            "seed=3",
        ],
        *["--equivalence", "0.2", "--set", "equivalence_test=t", "--set", "non_inferiority=true"],
    )
    settings = table["facts"]["topic_sets"][0]["settings"]
    expected = {
        "test": "wilcoxon",
        "correction": "bh",
        "best": "set",
        "seed": 3,
        "equivalence_test": "t",
        "non_inferiority": True,
    }
    assert {name: settings[name] for name in expected} == expected
    assert any("Not worse than" in sentence for sentence in table["footer"])
    alone = as_json(capsys, *runs, "--set", "best=set", "--alpha", "0.1")
    assert any("level 90%" in sentence for sentence in alone["footer"])
    for wrong in (["no"], ["wilcoxon-bh", "--test", "t"], ["t-maxt", "--correction", "holm"]):
        wrong = ["--set", f"preset={wrong[0]}", *wrong[1:]]
        evaluated(capsys, *runs, "--baseline", "a", *wrong, code=2)
    evaluated(capsys, *runs, "--set", "non_inferiority=true", code=2)
    evaluated(capsys, *runs, "-b", "a", "--test", "wilcoxon", "--correction", "maxt", code=2)


def test_all_pairs_need_no_baseline(folder, capsys):
    table = as_json(capsys, "a.trec", "b.trec", "-q", "qrels.txt", "--family", "pairs")
    assert table["pairs"] is True


def test_negative_grades(folder, capsys):
    arguments = ["b.trec", "-q", "qrels.txt", "-m", "nDCG(judged_only=True)@1"]
    zero = means(as_json(capsys, *arguments))
    left = means(as_json(capsys, *arguments, "--set", "negative_grades=trec_eval"))
    (before,), (after,) = zero.values(), left.values()
    assert before < after


_UNTESTED = "without --baseline or --family pairs"


@pytest.mark.parametrize(
    ("option", "needs"),
    [
        (["--test", "t"], f"--test means nothing {_UNTESTED}."),
        (["--set", "confidence=.9"], f"--set confidence means nothing {_UNTESTED}."),
        (["--show", "ci"], f"--show means nothing {_UNTESTED}."),
        (["--set", "preset=t-maxt"], f"--set preset means nothing {_UNTESTED}."),
        (
            ["--alpha", ".1"],
            "--alpha means nothing without --baseline, --family pairs, --equivalence or --set",
        ),
        (
            ["--correction", "holm"],
            "--correction means nothing without --baseline, --family pairs or --equivalence.",
        ),
        (
            ["--family", "table"],
            "--family means nothing without --baseline, --family pairs or --equivalence.",
        ),
        (["--set", "against=a"], "--set against means nothing without --equivalence."),
        (
            ["--baseline", "a", "--set", "best=mean", "--set", "seed=1"],
            "--set seed means nothing where --set best, --test and --correction draw nothing.",
        ),
        (
            ["--baseline", "a", "--test", "sign", "--set", "permutations=9"],
            "--set permutations means nothing without --test randomisation, --correction maxt or "
            "tukey-randomised.",
        ),
        (
            ["--baseline", "a", "--show", "equivalence_p"],
            "--show equivalence_p means nothing without --equivalence.",
        ),
        (
            ["--set", "critical_difference=tests"],
            "--set critical_difference means nothing in a format other than HTML.",
        ),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(folder, capsys, option, needs):
    arguments = ["a.trec", "b.trec", "-q", "qrels.txt", *option]
    err = evaluated(capsys, *arguments, code=2).err
    assert needs in " ".join(err.split())


def test_unknown_details_are_named(folder, capsys):
    arguments = ["a.trec", "-q", "qrels.txt", "--show", "magic"]
    err = evaluated(capsys, *arguments, code=2).err
    assert "'magic'" in err
    assert "effect" in err


def test_an_unknown_measure_names_the_nearest(folder, capsys):
    err = evaluated(capsys, "a.trec", "-q", "qrels.txt", "-m", "nDGC@5", code=2).err
    assert "nDCG@5" in err


def test_a_run_given_as_qrels_and_qrels_given_as_a_run(folder, capsys):
    err = evaluated(capsys, "a.trec", "-q", "b.trec", code=3).err
    assert "looks like a run" in err
    err = evaluated(capsys, "qrels.txt", "-q", "qrels.txt", code=3).err
    assert "looks like qrels" in err


def test_a_missing_run(folder, capsys):
    assert "nothing.trec" in evaluated(capsys, "nothing.trec", "-q", "qrels.txt", code=3).err


def test_the_place_of_an_error(folder, capsys):
    with (folder / "a.trec").open("a") as handle:
        handle.write("3 Q0 d7 2 nan a\n")
    err = evaluated(capsys, "a.trec", "-q", "qrels.txt", code=3).err
    assert "a.trec:6: " in err


@pytest.mark.parametrize(
    ("file", "sign"),
    [
        ("t.tex", "\\toprule"),
        ("t.md", "| System"),
        ("t.csv", "system,"),
        ("t.json", '"columns"'),
        ("t.html", "<!doctype html>"),
        ("t.txt", "━━"),
        ("t", "━━"),
    ],
)
def test_the_format_follows_the_ending(folder, capsys, file, sign):
    out, err = evaluated(capsys, "a.trec", "-q", "qrels.txt", "--output", f"out/{file}")
    assert out == ""
    assert err == f"wrote out/{file}\n"
    assert sign in (folder / "out" / file).read_text()


def test_critical_difference_diagrams_of_a_report(folder, capsys):
    arguments = ["a.trec", "b.trec", "-q", "qrels.txt", "-o", "t.html"]
    evaluated(capsys, *arguments, "--set", "critical_difference=tests")
    page = (folder / "t.html").read_text()
    assert 'id="critical-difference-0"' in page
    evaluated(capsys, *arguments)
    assert "critical-difference" not in (folder / "t.html").read_text()


def test_the_format_that_is_said_wins(folder, capsys):
    evaluated(capsys, "a.trec", "-q", "qrels.txt", "--output", "t.txt", "--format", "latex")
    assert "\\toprule" in (folder / "t.txt").read_text()


def test_per_topic(folder, capsys):
    arguments = ["a.trec", "b.trec", "-q", "qrels.txt", "-m", "P@1", "--per-topic"]
    out = evaluated(capsys, *arguments).out
    assert "P@1, per topic" in out
    rows = list(csv.DictReader(io.StringIO(evaluated(capsys, *arguments, "--format", "csv").out)))
    assert len(rows) == 6
    cells = as_json(capsys, *arguments)["rows"][0]["cells"]
    assert cells[0]["values"] == [1, 1, 1]
    assert "per topic" in evaluated(capsys, *arguments, "--format", "markdown").out


def test_a_run_that_lacks_topics_is_reported_of(folder, capsys):
    out = evaluated(capsys, "a.trec", "b.trec", "-q", "qrels.txt").out
    assert "b lacks 1 of the topics" in out


def test_where_the_table_comes_from_is_in_the_json(folder, capsys):
    made = as_json(capsys, "a.trec", "-q", "qrels.txt")["provenance"]
    assert made["runs"]["a"]["path"] == "a.trec"
    assert len(made["runs"]["a"]["sha256"]) == 64


def test_robust03_as_published(collections, capsys):
    """MAP .2396 of uic0301 as the collection's provenance has it."""
    folder = collections / "robust03"
    runs = sorted(map(str, folder.glob("input.*.gz")))
    table = as_json(
        capsys, *runs, "-q", str(folder / "qrels.txt.gz"), "-m", "AP", "-b", "input.uic0301"
    )
    assert round(means(table)["input.uic0301", "AP"], 4) == 0.2396
    assert len(table["rows"]) == 4


def test_a_wrong_choice_is_named_without_the_parser_s_prefix(folder, capsys):
    err = evaluated(capsys, "a.trec", "-q", "qrels.txt", "--set", "best=nope", code=2).err
    assert "invalid value for '--set best': 'nope' is not one of 'mean', 'set'." in err


def test_a_run_of_another_collection_is_warned_of(folder, capsys):
    write(folder / "other.trec", {"1": ["x1", "x2"], "2": ["x1"]})
    table, err = evaluated(capsys, "a.trec", "other.trec", "-q", "qrels.txt", "--format", "json")
    warnings = [one for one in json.loads(table)["footer"] if "other" in one and "arning" in one]
    assert len(warnings) == 1
    assert "other" in err
    assert "arning" in err
    out, err = evaluated(capsys, "a.trec", "b.trec", "-q", "qrels.txt")
    assert "arning" not in out + err
    (folder / "docs.jsonl").write_text('{"docno": "d1", "text": "one"}\n')
    (folder / "t.tsv").write_text("1\tone\n2\ttwo\n3\tthree\n")
    (folder / "e.yaml").write_text(
        "corpora: {c: {source: docs.jsonl}}\nindexes: {i: {corpus: c, engine: memory}}\n"
        "topics: {t: {source: t.tsv, qrels: qrels.txt}}\nmeasures: [AP]\n"
        "systems: {Own: {index: i, model: bm25}, Other: {run: other.trec}}\n"
    )
    assert main(["experiment", "e.yaml"]) == 0
    out, err = capsys.readouterr()
    assert "arning: no document of Other" in " ".join(out.split())
    assert "Other" in err
    assert "no document of Own" not in " ".join(out.split())
