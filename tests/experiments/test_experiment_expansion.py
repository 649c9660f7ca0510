"""An experiment file that trains a term weighter, expands a corpus and searches it."""

import json
import sys
from pathlib import Path

import pytest

from adducir.core.artifacts import read_manifest
from adducir.core.errors import InputError
from adducir.core.executors import Execution
from adducir.core.progress import Progress
from adducir.experiments.context import Context
from adducir.experiments.experiment import plan_experiment, run_experiment

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))

from tiny import tiny_bert


class Recorded(Progress):
    def __init__(self):
        self.works = []

    def start(self, what, total, unit):
        self.works.append(what)


EXPERIMENT = """
corpora:
  pets: {source: pets.jsonl}
  weighted: {expand: pets, model: deepct/tiny.yaml, scale: 10}
indexes:
  pets: {corpus: pets, engine: memory, fields: [premise]}
  weighted: {corpus: weighted, engine: memory, fields: [conclusion, weighted]}
  added: {corpus: weighted, engine: memory, fields: [premise, weighted]}
topics:
  t: {source: topics.tsv, qrels: q.qrels}
systems:
  BM25: {index: pets}
  DeepCT: {index: weighted, k1: 5}
  Added: {index: added}
measures: [nDCG@5]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A study that has been run once."""
    study = tmp_path_factory.mktemp("study")
    base = tiny_bert(study / "base")
    lines = [
        {"docno": f"d{n}", "conclusion": "cats run fast", "premise": f"the cat {n} ran, dogs ran"}
        for n in range(8)
    ]
    (study / "pets.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    (study / "topics.tsv").write_text("1\tcats\n2\tdogs 3\n")
    (study / "q.qrels").write_text("1 0 d1 1\n2 0 d3 1\n")
    for name in ("deepct", "experiments"):
        (study / name).mkdir()
    (study / "deepct" / "tiny.yaml").write_text(
        "kind: deepct\ncorpus: {source: pets.jsonl}\ntext: premise\nreference: conclusion\n"
        f"base: {base.name}\npassages: {{length: 20}}\nheld_out: {{share: 0}}\n"
        "training: {epochs: 1, batch_size: 4, patience: null}\n"
    )
    (study / "experiments" / "pets.yaml").write_text(EXPERIMENT)
    return study


def run(folder, *changes):
    progress = Recorded()
    plan = plan_experiment(folder / "experiments" / "pets.yaml", changes)
    with progress:
        return plan.lines(), run_experiment(plan), progress.works


def test_it_trains_weights_and_indexes_what_is_missing_and_nothing_else(folder):
    lines, outcome, works = run(folder)
    assert lines[:2] == [
        "train  deepct/tiny",
        "weight deepct/tiny.pets.weights by deepct/tiny",
    ]
    assert works.count("training") == works.count("weighting") == 1
    assert len(outcome.runs) == 3
    lines, outcome, works = run(folder)
    assert "training" not in works
    assert "weighting" not in works
    assert outcome.runs == []
    assert not any(line.startswith(("train", "weight", "build")) for line in lines)
    # Another rendering needs an index, but neither training nor weighing.
    lines, outcome, works = run(folder, "corpora.weighted.transform=sqrt")
    assert [line.split()[0] for line in lines if "index" in line] == ["keep", "build", "build"]
    assert "weighting" not in works
    facts = json.loads(outcome.files["json"].read_text())
    text = json.dumps(facts)
    assert '"transform": "sqrt"' in text
    assert str(folder) not in text
    # Another model needs all.
    lines, _, works = run(folder, "corpora.weighted.model=deepct/tiny")
    assert "training" not in works
    (folder / "deepct" / "tiny.yaml").write_text(
        (folder / "deepct" / "tiny.yaml").read_text().replace("epochs: 1", "epochs: 2")
    )
    lines, _, works = run(folder)
    assert [line.split()[0] for line in lines[:2]] == ["train", "weight"]
    assert works.count("training") == 1


@pytest.mark.slow
def test_several_workers_give_the_same_weights_and_vectors(folder):
    dense = "indexes.vectors={corpus: pets, engine: dense, encoder: base, fields: [premise]}"
    system = "systems.Dense={index: vectors}"
    plan = plan_experiment(folder / "experiments" / "pets.yaml", (dense, system))
    made = {}
    for workers in (1, 2):
        run_experiment(plan, rebuild=True, context=Context(execution=Execution(workers)))
        paths = [folder / "deepct" / "tiny.pets.weights", folder / "indexes" / "vectors"]
        made[workers] = [read_manifest(path).files for path in paths]
    assert made[1] == made[2]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (
            "corpora.weighted.expand=pet",
            "there is no corpus `pet` in this file; did you mean `pets`?",
        ),
        ("corpora.weighted.model=deepct/none.yaml", "no such file"),
        ("corpora.weighted.model=deepct/none", "there is no such model"),
        ("corpora.weighted.model=base", "this is not a term weighter"),
        ("corpora.weighted.source=x", "exactly one of `source` and `expand`"),
        ("corpora.pets.scale=3", "`scale` has no effect beside `source`"),
        ("corpora.pets.expand=pets", "exactly one of `source` and `expand`"),
        ("indexes.weighted.fields=[weighted, text]", "no document has a field 'text'"),
    ],
)
def test_errors_are_reported_before_anything_runs(folder, change, what):
    with pytest.raises(InputError) as caught:
        plan_experiment(folder / "experiments" / "pets.yaml", (change,))
    assert what in str(caught.value)


def test_an_expanded_corpus_is_not_expanded_again(folder):
    path = folder / "experiments" / "again.yaml"
    path.write_text(
        EXPERIMENT.replace(
            "indexes:\n",
            "  again: {expand: weighted, model: deepct/tiny.yaml}\nindexes:\n",
            1,
        )
    )
    with pytest.raises(InputError, match="`weighted` is itself expanded"):
        plan_experiment(path)
