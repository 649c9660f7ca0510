"""``adducir tune`` on the bundled collection."""

import json
import re
from pathlib import Path

import pytest

from adducir.cli.app import main
from adducir.cli.tune import set_names
from adducir.corpora.qrels import load_qrels
from adducir.corpora.sources import resolve
from adducir.evaluation.evaluator import evaluate
from adducir.experiments.tuning.tune import DEFAULT_OBJECTIVE
from adducir.runs.read import read_run

BUNDLED = ["--topics", "bundled:topics", "--qrels", "bundled:qrels"]
SEED = ["--set", "system.tune.folds.seed=7"]
BM25 = ["--grid", "k1=0.5:2.5:1", "--grid", "b=0.2,0.4"]


def tuned(folder):
    return json.loads((folder / "tuning.json").read_text(encoding="utf-8"))


def shown(out):
    """The pooled figure that was printed, and its topics."""
    figure, topics = re.search(r"held out: (\S+) over (\d+) topics", out).groups()
    return float(figure), int(topics)


def test_bm25_by_folds_of_topics(arguments_index, tmp_path, capsys):
    folder = tmp_path / "tuning" / "bm25"
    arguments = ["--index", str(arguments_index), *BUNDLED, *BM25, "--output", str(folder)]
    assert main(["tune", *arguments, "--folds", "4", *SEED, "--measure", "AP"]) == 0
    out, err = capsys.readouterr()
    facts = tuned(folder)
    assert [len(facts["folds"]), facts["settings"], facts["objective"]] == [4, 6, "AP"]
    assert "4 folds over 20 topics, seed 7; 6 settings" in out
    values = evaluate(read_run(folder / "held-out.trec.gz"), load_qrels("bundled:qrels"), "AP")
    assert shown(out) == (pytest.approx(values.mean("AP"), abs=5e-5), 20)
    assert f"{folder}: grid.csv, held-out.csv, tuning.json, folds.json, grid.svg" in err
    for fold in facts["folds"]:
        assert re.search(rf"^{fold['fold']} +5 .* {fold['training mean']:.4f} ", out, re.MULTILINE)
    assert read_run(folder / "held-out.trec.gz").tag == "bm25"

    # The folds of one tuning serve another, and the same question has the same answer.
    again = ["--folds", str(folder / "folds.json"), "--measure", "AP"]
    arguments[-1] = str(tmp_path / "again")
    assert main(["tune", *arguments, *again]) == 0
    assert [fold["chosen"] for fold in tuned(tmp_path / "again")["folds"]] == [
        fold["chosen"] for fold in facts["folds"]
    ]


def test_rm3_and_edges(arguments_index, tmp_path, capsys):
    folder = tmp_path / "rm3"
    grid = ["--grid", "fb_terms=4:8:4", "--grid", "original_query_weight=0.2:0.6:0.4"]
    arguments = ["-i", str(arguments_index), *BUNDLED, "--feedback", "rm3", "--model", "qld", *grid]
    assert main(["tune", *arguments, "-o", str(folder), "--folds", "2", "--depth", "50"]) == 0
    _, err = capsys.readouterr()
    facts = tuned(folder)
    assert facts["system"]["model"] == "qld"
    assert facts["grid"] == {"fb_terms": [4, 8], "original_query_weight": [0.2, 0.6]}
    # Two values each: whatever was chosen is an edge, unless settings tie.
    assert "value tried, was chosen in" in err
    assert read_run(folder / "held-out.trec.gz").depth == 50


@pytest.fixture
def two_sets(tmp_path):
    """The bundled topics as two files, and the one file of their judgements."""
    paths = []
    text = Path(resolve("bundled:topics")).read_text(encoding="utf-8")
    topics = re.findall(r"<topic>.*?</topic>", text, re.DOTALL)
    assert len(topics) == 20
    for name, part in (("first", topics[:10]), ("second", topics[10:])):
        paths.append(tmp_path / f"{name}.xml")
        paths[-1].write_text(f"<topics>{''.join(part)}</topics>", encoding="utf-8")
    return paths


def test_folds_by_topic_set(arguments_index, two_sets, tmp_path, capsys):
    pairs = [item for path in two_sets for item in ("--topics", str(path))]
    arguments = ["tune", "-i", str(arguments_index), *pairs, *BM25, "-o", str(tmp_path / "out")]
    assert main([*arguments, "--qrels", str(resolve("bundled:qrels"))]) == 0
    facts = tuned(tmp_path / "out")
    assert [fold["fold"] for fold in facts["folds"]] == ["first", "second"]
    assert facts["rule of folds"] == "each topic set is a fold"
    assert facts["objective"] == DEFAULT_OBJECTIVE
    capsys.readouterr()
    qrels = ["-q", str(resolve("bundled:qrels"))] * 3
    assert main([*arguments, *qrels]) == 2
    assert "2 --topics go with as many --qrels" in capsys.readouterr().err


def test_fusion_weights(two_runs, tmp_path, capsys):
    runs = [item for path in two_runs for item in ("--fuse", str(path))]
    grid = ["--grid", "weights.bm25=0:2:1", "--grid", "k=10,60"]
    assert main(["tune", *runs, *BUNDLED, *grid, "-o", str(tmp_path / "out")]) == 0
    facts = tuned(tmp_path / "out")
    assert facts["system"]["fuse"] == ["bm25", "qld"]
    assert facts["grid"] == {"weights.bm25": [0, 1, 2], "k": [10, 60]}
    capsys.readouterr()
    assert main(["tune", *runs, *BUNDLED, "--grid", "weights.bm52=1", "-o", "x"]) == 2
    assert "did you mean `weights.bm25`" in capsys.readouterr().err


def test_runs_of_one_name_are_called_by_their_folders(two_runs, tmp_path):
    runs = []
    for folder, path in zip(("2020", "2021"), two_runs, strict=True):
        (tmp_path / folder).mkdir()
        runs += ["--fuse", str(tmp_path / folder / "x.trec")]
        (tmp_path / folder / "x.trec").write_bytes(path.read_bytes())
    grid = ["--grid", "weights.2021-x=0,1", "--folds", "2"]
    assert main(["tune", *runs, *BUNDLED, *grid, "-o", str(tmp_path / "out")]) == 0
    assert tuned(tmp_path / "out")["system"]["fuse"] == ["2020-x", "2021-x"]


def test_rerank_depth(two_runs, tmp_path):
    first, second = map(str, two_runs)
    assert main(["fuse", first, second, "-o", str(tmp_path / "all.trec")]) == 0
    grid = ["--grid", "rerank_depth=1,5,20"]
    pair = ["--rerank", str(tmp_path / "all.trec"), first]
    assert main(["tune", *pair, *BUNDLED, *grid, "-o", str(tmp_path / "out")]) == 0
    assert tuned(tmp_path / "out")["grid"] == {"rerank_depth": [1, 5, 20]}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "exactly one of --index, --fuse and --rerank"),
        (["--index", "x", "--fuse", "y"], "exactly one of"),
        (["--index", "x", "--set", "system.method=rrf"], "`system.method`"),
        (["--index", "x", "--set", "system.index=y"], "has no effect here"),
        (["--index", "x", "--set", "system.tune={}"], "`system.tune.grid`"),
        (["--index", "x", "--set", "system.tune="], "is empty"),
        (["--index", "x", "--set", "systm.k1=1"], "did you mean `system`"),
        (["--index", "x", "--set", "system.b=0.3"], "fixed"),
        (
            ["--fuse", "x", "--fuse", "y", "--feedback", "rm3"],
            "--feedback means nothing without --index",
        ),
        (["--index", "x", "--folds", "topics", *SEED], "which has no keys"),
        (["--index", "x", "--folds", "f.json", *SEED], "`seed` means nothing beside `file`"),
        (["--index", "x", "--folds", "1"], "at least 2"),
        (["--index", "x", "--measure", "nDGC@5"], "nDCG"),
        (["--index", "x", "--measure", "P@50", "--depth", "10"], "P@50 needs more documents"),
        (["--index", "x", "--grid", "k1"], "NAME=VALUES"),
        (["--index", "x", "--grid", "b=1"], "names b twice"),
        (["--index", "x", "--grid", "k1=1:2:0.3"], "do not end on 2"),
    ],
)
def test_slips_of_the_command_line(more, message, tmp_path, capsys):
    arguments = ["tune", *BUNDLED, "--grid", "b=0.4", "-o", str(tmp_path / "out"), *more]
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--grid", "k2=1"], 2, "did you mean `k1`"),
        (["--grid", "fb_terms=5"], 2, "no parameter `fb_terms`"),
        (["--grid", "b=1.5"], 2, "from 0 to 1, not 1.5"),
        (["--grid", "k1=1", "--folds", "21"], 2, "2 to 20 folds"),
        (["--grid", "k1=1", "--folds", "topics"], 2, "two topic sets"),
        (["--grid", "k1=1", "--folds", "none.json"], 3, "none.json"),
    ],
)
def test_errors_that_need_the_index(arguments_index, more, code, message, tmp_path, capsys):
    arguments = ["tune", "-i", str(arguments_index), *BUNDLED, "-o", str(tmp_path / "out"), *more]
    assert main(arguments) == code
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_no_such_index(tmp_path, capsys):
    arguments = ["tune", "-i", str(tmp_path / "none"), *BUNDLED, *BM25, "-o", str(tmp_path / "out")]
    assert main(arguments) == 5
    assert "no such index" in capsys.readouterr().err


def test_set_takes_the_keys_of_an_experiment_file(arguments_index, two_runs, tmp_path):
    def facts(name, *options):
        folder = tmp_path / name
        assert main(["tune", *BUNDLED, "--folds", "2", "-o", str(folder), *options]) == 0
        return tuned(folder)

    search = ["-i", str(arguments_index), "--feedback", "rm3", "-g", "b=0.2,0.4"]
    fixed = ["--set", "system.k1=1.5", "--set", "system.rm3.fb_docs=3"]
    found = facts("search", *search, *fixed, "--set", "negative_grades=trec_eval")
    assert found["system"]["fixed"] == {"k1": 1.5, "fb_docs": 3}
    assert found["negative grades"] == "trec_eval"
    runs = [item for path in two_runs for item in ("--fuse", str(path))]
    method = ["--set", "system.method=combsum", "--set", "system.normalise=z-score"]
    found = facts("fusion", *runs, "-g", "weights.bm25=1,2", *method)
    assert (found["system"]["method"], found["system"]["normalise"]) == ("combsum", "z-score")


@pytest.mark.parametrize(
    ("sources", "names"),
    [
        (
            ["argsme/2020-04-01/touche-2020-task-1", "x/touche-2021-task-1"],
            ["touche-2020-task-1", "touche-2021-task-1"],
        ),
        (["a/topics.xml", "b/topics.xml"], ["a-topics", "b-topics"]),
        (["one.tsv.gz"], ["one"]),
    ],
)
def test_topic_sets_are_called_by_their_sources(sources, names):
    assert set_names(sources) == names
