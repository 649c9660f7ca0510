"""A study of evidence sets: two data sets, two rounds, two seeds, on a tiny model."""

import csv
import json
from itertools import product

import numpy as np
import pytest
from some_questions import some_questions
from tiny import tiny_bert

from adducir.cli.app import main
from adducir.core.errors import InputError
from adducir.experiments.experiment import plan_experiment
from adducir.statistics.equivalence import two_level
from adducir.studies.complementary_evidence.questions import read_selected, write_questions
from adducir.training.data import same_number

FILE = """task: evidence-sets
description: A study.
data:
  A:
    - {train: a.jsonl, validation: v.jsonl, test: b.jsonl}
    - {train: b.jsonl, validation: v.jsonl, test: a.jsonl}
  B:
    - {train: c.jsonl, validation: v.jsonl, test: d.jsonl}
systems:
  ranker:
    recipe: rerankers/ours.yaml
    set: ["weights={diversity: 0, compactness: 0}", "selection={candidates: 2}"]
  ours: {recipe: {A: rerankers/ours.yaml, B: rerankers/ours.yaml}}
seeds: [3, 5]
comparison: {baseline: ranker}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    tiny_bert(folder / "tiny")
    (folder / "rerankers").mkdir()
    (folder / "experiments").mkdir()
    for seed, (name, count) in enumerate({"a": 8, "b": 7, "c": 5, "d": 4, "v": 3}.items()):
        write_questions(some_questions(count, seed=seed), folder / f"{name}.jsonl")
    (folder / "rerankers" / "ours.yaml").write_text(
        "kind: complementary\nbase: tiny\ndata: {train: none.jsonl}\ntraining: {epochs: 1}\n"
    )
    (folder / "experiments" / "sets.yaml").write_text(FILE)
    return folder


def test_the_table_is_of_all_questions_and_seeds(place, capsys, monkeypatch):
    monkeypatch.chdir(place)
    file = "experiments/sets.yaml"
    assert main(["experiment", file, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("train") for line in lines) == 12
    assert sum(line.startswith("select") for line in lines) == 12
    assert lines[0] == "train  rerankers/sets/A-1-ranker-3"
    assert not (place / "experiments" / "sets").exists()
    base = tiny_bert(place / "seen")
    asked = [
        [same_number(question.question) for question in some_questions(count, seed=seed)]
        for seed, count in enumerate((8, 7))
    ]
    np.save(base / "queries.npy", asked[0][:2])
    changes = ("systems.ours.set=[base=seen]",)
    count = sum(number in asked[0][:2] for numbers in asked for number in numbers)
    told = f"warn   seen was trained on {count} of the 15 queries of A: train it on others"
    assert told in "\n".join(plan_experiment(place / file, changes).lines())
    assert main(["experiment", file, "--threads", "1", "--format", "json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert [row["system"] for row in table["rows"]] == ["upper bound", "ranker", "ours"]
    a, b = some_questions(8, seed=0), some_questions(7, seed=1)
    hits = {"ours": np.zeros((2, 15)), "ranker": np.zeros((2, 15))}
    for system, run in product(hits, (0, 1)):
        hit = []
        for number, questions in ((1, b), (2, a)):
            name = f"A-{number}-{system}-{(3, 5)[run]}"
            found = list(read_selected(place / "runs" / "sets" / name / "chosen.jsonl"))
            assert [one.id for one in found] == [question.id for question in questions]
            pairs = zip(found, questions, strict=True)
            hit += [set(one.chosen) == question.gold_ids[0] for one, question in pairs]
        hits[system][run] = hit
    cell = table["rows"][2]["cells"][0]
    assert cell["mean"] == pytest.approx(hits["ours"].mean())
    # Tests are over questions and seeds; two are too few.
    by_hand = two_level(hits["ours"], hits["ranker"])
    test = table["tests"][0]
    assert (test["statistic"], test["method"]) == (by_hand.t, "refused")
    assert not {"p", "verdict"} & test.keys()
    text = (place / "experiments" / "sets" / "table.md").read_text()
    assert "EM of ours on A by seed" in text
    assert "Runs of a system: ranker 2, ours 2" in text
    with (place / "experiments/sets/per-question.csv").open() as handle:
        systems = {row["system"] for row in csv.DictReader(handle)}
    assert systems == {f"{name}.seed{seed}" for name in hits for seed in (3, 5)}
    assert json.loads((place / "rerankers/sets/A-2-ours-5/evidence.json").read_text())
    # What is there is not made again.
    models = sorted((place / "rerankers" / "sets").glob("*/manifest.json"))
    before = [path.stat().st_mtime_ns for path in models]
    assert main(["experiment", file, "--output", "again.md"]) == 0
    assert [path.stat().st_mtime_ns for path in models] == before
    capsys.readouterr()
    assert main(["experiment", file, "--dry-run"]) == 0
    verbs = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert verbs == {"keep", "test", "write"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("test: d.jsonl", "test: c.jsonl"),
        ("train: c.jsonl", "train: caps.jsonl"),
        ("test: a.jsonl", "test: b.jsonl"),
        ("recipe: {A: rerankers/ours.yaml, B: rerankers/ours.yaml}", "recipe: {A: x}"),
        ("{baseline: ranker}", "{baseline: ranker, test: sign}"),
        ("diversity: 0", "diversity: -1"),
        ("test: d.jsonl", "test: none.jsonl"),
        ("seeds:", "  BM25: {selector: bm25, set: []}\nseeds:"),
        ("seeds:", "  BM25: {selector: bm25, sise: 2}\nseeds:"),
    ],
)
def test_errors_are_found_before_anything_runs(place, old, new):
    assert old in FILE
    if "caps" in new:  # questions are the same whatever their capitals
        text = (place / "d.jsonl").read_text()
        question = json.loads(text.splitlines()[0])["question"]
        (place / "caps.jsonl").write_text(text.replace(question, question.upper()))
    file = place / "experiments" / "other.yaml"
    file.write_text(FILE.replace(old, new, 1))
    with pytest.raises(InputError):
        plan_experiment(file)
