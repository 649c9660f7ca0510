"""Tuned systems in an experiment file."""

import csv
import json

import numpy as np
import polars as pl
import pytest

from adducir.core.errors import InputError
from adducir.corpora.qrels import load_qrels
from adducir.corpora.sources import BUNDLED
from adducir.corpora.topics import load_topics
from adducir.evaluation.evaluator import evaluate
from adducir.experiments.experiment import plan_experiment, run_experiment
from adducir.experiments.tuning.folds import JudgedTopics, Pool, k_fold
from adducir.experiments.tuning.systems import LexicalSearch
from adducir.experiments.tuning.tune import tune
from adducir.indexes.lucene import LuceneIndex
from adducir.runs.metadata import read_metadata
from adducir.runs.read import read_run

NDCG = "nDCG(judged_only=True)@5"
HEAD = """\
corpora:
  arguments: {source: bundled:arguments}
indexes:
  arguments: {corpus: arguments, fields: [conclusion, premise]}
"""
ONE_SET = """\
topics:
  all: {source: bundled:topics, field: title, qrels: bundled:qrels}
"""
TWO_SETS = """\
topics:
  first: {source: first.xml, field: title, qrels: first.qrels}
  second: {source: second.xml, field: title, qrels: second.qrels}
"""
SYSTEMS = """\
systems:
  BM25: {index: arguments}
  BM25 tuned:
    index: arguments
    tune:
      grid: {k1: [0.5, 0.9, 2], b: {from: 0.2, to: 0.6, step: 0.4}}
      folds: FOLDS
  QLD+RM3 tuned:
    index: arguments
    model: qld
    mu: 300
    rm3: {fb_docs: 3}
    tune:
      grid: {fb_terms: [4, 8], original_query_weight: [0.3, 0.7]}
      folds: FOLDS
      objective: AP
  Fused:
    fuse: [BM25, QLD]
    tune:
      grid: {k: [1, 60], weights.BM25: [0.5, 2]}
      folds: FOLDS
  QLD: {index: arguments, model: qld}
  Sum: {fuse: [BM25 tuned, QLD]}
measures: [nDCG(judged_only=True)@5, AP]
depth: 100
comparison: {baseline: BM25}
"""


def write(folder, text):
    (folder / "experiments").mkdir(exist_ok=True)
    path = folder / "experiments" / "table.yaml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def one_set(tmp_path_factory):
    """The study, its plan and outcome with folds cut from one topic set."""
    folder = tmp_path_factory.mktemp("study")
    path = write(folder, HEAD + ONE_SET + SYSTEMS.replace("FOLDS", "{k: 4, seed: 3}"))
    plan = plan_experiment(path)
    return folder, path, run_experiment(plan)


def split(folder):
    """The bundled topics and qrels as two sets with qids of their own."""
    import re

    topics = re.findall(
        r"<topic>.*?</topic>", BUNDLED["bundled:topics"].read_text(encoding="utf-8"), re.DOTALL
    )
    lines = BUNDLED["bundled:qrels"].read_text(encoding="utf-8").splitlines()
    for name, part in (("first", topics[:10]), ("second", topics[10:])):
        (folder / f"{name}.xml").write_text(f"<topics>{''.join(part)}</topics>", encoding="utf-8")
        qids = {re.search(r"<number>\s*(\S+?)\s*</number>", topic)[1] for topic in part}
        own = [line for line in lines if line.split()[0] in qids]
        (folder / f"{name}.qrels").write_text("\n".join(own) + "\n")


def test_a_tuned_row_is_that_of_a_tuning(one_set):
    folder, _, outcome = one_set
    judged = JudgedTopics(
        "all", load_topics("bundled:topics", field="title"), load_qrels("bundled:qrels")
    )
    pool = Pool.of([judged])
    index = LuceneIndex(folder / "indexes" / "arguments")
    tuning = tune(
        LexicalSearch(index, depth=100),
        {"k1": [0.5, 0.9, 2], "b": [0.2, 0.6]},
        pool,
        k_fold(pool, 4, 3),
        NDCG,
    )
    (row,) = [row for row in outcome.table.rows if row.system == "BM25 tuned"]
    assert row.cells[0].mean == pytest.approx(tuning.result, abs=1e-12)
    assert row.cells[0].values == pytest.approx(tuning.held_out.tolist(), abs=1e-12)
    # The other measures are those of the same held-out rankings.
    values = evaluate(tuning.run, judged.qrels, "AP").of("AP")
    assert row.cells[1].values == pytest.approx(values.tolist(), abs=1e-12)
    assert row.cells[0].versus[0].baseline == "BM25"


def test_the_table_names_the_chosen_settings(one_set):
    folder, _, outcome = one_set
    facts = json.loads(
        (folder / "experiments" / "table" / "tuning" / "BM25_tuned" / "tuning.json").read_text()
    )
    settings = outcome.table.provenance["chosen settings, by fold"]
    assert set(settings) == {"BM25 tuned", "QLD+RM3 tuned", "Fused"}
    assert settings["BM25 tuned"] == {fold["fold"]: fold["chosen"] for fold in facts["folds"]}
    assert set(settings["Fused"]["1"]) == {"k", "weights.BM25"}
    (note,) = [note for note in outcome.table.footer if note.startswith("BM25 tuned")]
    assert "held-out figures, tuned on nDCG@5 (condensed) (4 folds over 20" in note
    message = json.dumps(
        read_metadata(folder / "runs" / "table" / "BM25_tuned.all.trec.gz")["method"]
    )
    assert "bundled:topics" in message
    assert str(folder) not in message


def test_a_tuning_leaves_its_files(one_set):
    folder, _, _ = one_set
    place = folder / "experiments" / "table" / "tuning"
    folders = [path.name for path in place.iterdir() if not path.name.startswith(".")]
    assert sorted(folders) == ["BM25_tuned", "Fused", "QLD+RM3_tuned"]
    names = sorted(path.name for path in (place / "Fused").iterdir())
    assert [name for name in names if name != "manifest.json"] == [
        *("folds.json", "grid.csv", "grid.svg", "held-out.csv", "tuning.json")
    ]
    with (place / "QLD+RM3_tuned" / "grid.csv").open() as handle:
        lines = list(csv.DictReader(handle))
    assert len(lines) == 4 * 4 * 2
    facts = json.loads((place / "QLD+RM3_tuned" / "tuning.json").read_text())
    assert facts["system"]["fixed"] == {"mu": 300, "fb_docs": 3}
    assert facts["objective"] == "AP"


def test_nothing_is_tuned_twice(one_set):
    _, path, _ = one_set
    plan = plan_experiment(path)
    assert not [line for line in plan.lines() if line.startswith(("tune", "search", "fuse"))]
    changed = plan_experiment(path, ("systems.BM25 tuned.tune.grid.k1=[0.5, 0.9]",))
    made = [line.split(".")[0] for line in changed.lines() if line.startswith(("tune", "fuse"))]
    # What is fused of the tuned system is made anew, too.
    assert made == ["tune   run runs/table/BM25_tuned", "fuse   run runs/table/Sum"]


def test_changed_labels_tune_anew(tmp_path):
    split(tmp_path)
    systems = SYSTEMS.split("  QLD+RM3 tuned")[0].replace("FOLDS", "topics")
    path = write(tmp_path, HEAD + TWO_SETS + systems)
    outcome = run_experiment(plan_experiment(path))
    settings = outcome.table.provenance["chosen settings, by fold"]["BM25 tuned"]
    assert set(settings) == {"first", "second"}
    held_out = {
        name: read_run(tmp_path / "runs" / "table" / f"BM25_tuned.{name}.trec.gz")
        for name in ("first", "second")
    }
    for name, run in held_out.items():
        assert set(run.qids) <= set(load_topics(tmp_path / f"{name}.xml").qids)

    # The labels of the first set decide on the second, and on nothing else.
    qrels = load_qrels(tmp_path / "first.qrels").frame
    flipped = qrels.with_columns(grade=(2 - pl.col("grade")).clip(0, 2))
    lines = [f"{qid} 0 {docno} {grade}" for qid, docno, grade in flipped.rows()]
    (tmp_path / "first.qrels").write_text("\n".join(lines) + "\n")
    plan = plan_experiment(path)
    assert sum(line.startswith("tune") for line in plan.lines()) == 2
    run_experiment(plan)
    again = read_run(tmp_path / "runs" / "table" / "BM25_tuned.first.trec.gz")
    assert again.frame.equals(held_out["first"].frame)
    other = read_metadata(tmp_path / "runs" / "table" / "BM25_tuned.first.trec.gz")
    chosen = {fold["fold"]: fold["chosen"] for fold in other["method"]["tuning"]["folds"]}
    assert chosen["first"] == settings["first"]
    np.testing.assert_array_equal(again.lengths, held_out["first"].lengths)


@pytest.mark.parametrize(
    ("systems", "message"),
    [
        ("A: {index: arguments, k1: 1, tune: {grid: {k1: 1}, folds: {k: 2}}}",
         "systems.A.tune.grid.k1`: is fixed"),
        ("A: {index: arguments, rm3: {fb_docs: 1}, tune: {grid: {fb_docs: 1}, folds: {k: 2}}}",
         "systems.A.tune.grid.fb_docs`: is fixed"),
        ("A: {index: arguments, tune: {grid: {mu: 1}, folds: {k: 2}}}", "no parameter `mu`"),
        ("A: {index: arguments, tune: {grid: {fb_docs: 1}, folds: {k: 2}}}", "`fb_docs`"),
        ("A: {index: arguments, tune: {grid: {k1: -1}, folds: {k: 2}}}", "from 0 up, not -1"),
        ("A: {index: arguments, tune: {grid: {k1: 1}, folds: topics}}", "two topic sets or more"),
        ("A: {index: arguments, tune: {grid: {k1: 1}, folds: {k: 21}}}", "2 to 20 folds"),
        ("A: {index: arguments, tune: {grid: {k1: 1}, folds: {file: none.json}}}", "none.json"),
        ("A: {index: arguments, tune: {grid: {k1: 1}, folds: {k: 2}, objective: nDGC@5}}",
         "systems.A.tune.objective"),
        ("A: {index: arguments, tune: {grid: {k1: 1}, folds: {k: 2}, objective: P@2000}}",
         "P@2000 needs 2000 documents"),
        ("A: {run: x.trec, tune: {grid: {k1: 1}, folds: {k: 2}}}", "`tune` has no effect beside"),
        ("A: {index: arguments, tune: }", "is empty; name a `grid`"),
        ("A: {index: arguments, tune: {grid: {k1: 1}, folds: {k: 2}}}\n  B: {index: arguments}\n"
         "  C: {fuse: [A, B], tune: {grid: {k: 1}, folds: {k: 2}}}", "`A` is tuned itself"),
        ("A: {index: arguments}\n  B: {index: arguments, model: qld}\n"
         "  C: {fuse: [A, B], weights: [1, 2], tune: {grid: {weights.A: 1}, folds: {k: 2}}}",
         'systems.C.tune.grid."weights.A"`: is fixed'),
    ],
)  # fmt: skip
def test_slips_are_refused_before_anything_runs(tmp_path, systems, message):
    path = write(tmp_path, f"{HEAD}{ONE_SET}systems:\n  {systems}\n")
    with pytest.raises(InputError) as caught:
        plan_experiment(path)
    assert message in str(caught.value)
    assert not (tmp_path / "indexes").exists()
