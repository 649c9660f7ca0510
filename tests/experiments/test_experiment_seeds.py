"""Systems of an experiment file with several runs, one for each seed of their trainings."""

import csv
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from adducir.cli.app import main
from adducir.core.artifacts import read_manifest
from adducir.core.errors import InputError
from adducir.corpora.qrels import load_qrels
from adducir.corpora.spans import write_spans
from adducir.evaluation.evaluator import Evaluator
from adducir.experiments.experiment import plan_experiment, run_experiment
from adducir.indexes.documents import DocumentStore
from adducir.runs.read import read_run
from adducir.statistics.two_level import two_level
from adducir.tables.report.quoted import WORD

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
sys.path.insert(0, str(Path(__file__).parents[1] / "encoders"))

from some_spans import some_spans
from tiny import tiny_bert

TEXTS = (
    ("cats", "cats run fast and dogs run slow"),
    ("power", "nuclear power is clean, cats not"),
    ("schools", "a school uniform for cats, cats, cats"),
    ("dogs", "the dogs ran because of the cats and the dogs"),
    ("more cats", "cats and dogs and a school"),
    ("fast", "cats should not run"),
)
EXPERIMENT = """\
corpora:
  pets: {source: pets.jsonl}
  weighted: {expand: pets, model: deepct/tiny.yaml, scale: 10}
indexes:
  pets: {corpus: pets, engine: memory, fields: [premise]}
  weighted: {corpus: weighted, engine: memory, fields: [conclusion, weighted]}
  vectors: {corpus: pets, engine: dense, encoder: encoders/tiny.yaml}
topics:
  t: {source: topics.tsv, qrels: q.qrels}
systems:
  BM25: {index: pets}
  DeepCT: {index: weighted, k1: 5, seeds: 2, group: trained}
  CE: {rerank: BM25, by: rerankers/tiny.yaml, depth: 3, seeds: [0, 1]}
  Fused: {fuse: [BM25, DeepCT], seeds: [1, 7]}
measures: [nDCG@5, AP]
comparison: {baseline: BM25}
table: {system_names: {DeepCT: Deep CT}}
"""
TRAINED = """held_out: {share: 0}
training: {epochs: 2, patience: null, batch_size: 2, learning_rate: 1e-2}
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study that has not been run."""
    folder = tmp_path_factory.mktemp("study")
    tiny_bert(folder / "base")
    lines = [
        json.dumps({"docno": f"d{n}", "conclusion": conclusion, "premise": premise})
        for n, (conclusion, premise) in enumerate(TEXTS)
    ]
    (folder / "pets.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "topics.tsv").write_text("1\tcats\n2\tdogs run\n3\tschool cats\n")
    (folder / "q.qrels").write_text("1 0 d0 1\n1 0 d5 0\n2 0 d3 1\n3 0 d2 2\n3 0 d1 0\n")
    for name in ("deepct", "rerankers", "encoders", "experiments"):
        (folder / name).mkdir()
    (folder / "deepct" / "tiny.yaml").write_text(
        "kind: deepct\ncorpus: {source: pets.jsonl}\ntext: premise\nreference: conclusion\n"
        f"base: base\npassages: {{length: 20}}\n{TRAINED}"
    )
    (folder / "rerankers" / "tiny.yaml").write_text(
        "kind: cross-encoder\nbase: base\nfields: [premise]\n"
        "examples: {topics: topics.tsv, qrels: q.qrels, corpus: {source: pets.jsonl}}\n" + TRAINED
    )
    (folder / "experiments" / "pets.yaml").write_text(EXPERIMENT)
    return folder


def planned(study, *changes, **options):
    return plan_experiment(study / "experiments" / "pets.yaml", changes, **options)


@pytest.fixture(scope="module")
def outcome(study):
    """What a run of the whole study gave."""
    return run_experiment(planned(study))


def test_the_row_of_a_system_is_that_of_its_runs_by_hand(study, outcome):
    evaluator = Evaluator(load_qrels(str(study / "q.qrels")), ["nDCG@5", "AP"])
    rows = {row.system: row for row in outcome.table.rows}
    assert list(rows) == ["BM25", "CE", "Fused", "DeepCT"]  # which has a section of its own
    found = {}
    for name in ("BM25", "DeepCT.seed0", "DeepCT.seed1", "CE.seed0", "CE.seed1"):
        run = read_run(study / "runs" / "pets" / f"{name}.t.trec.gz")
        assert run.tag == name
        found[name] = evaluator.score(run, system=name)
    for system in ("DeepCT", "CE"):
        for number, measure in enumerate(("nDCG@5", "AP")):
            runs = np.array([found[f"{system}.seed{seed}"].values(measure) for seed in (0, 1)])
            shown = outcome.table.values(rows[system], outcome.table.columns[number])
            assert (shown == runs).all()
            assert rows[system].cells[number].mean == pytest.approx(runs.mean(), abs=1e-15)
            by_hand = two_level(runs, found["BM25"].values(measure)[None])
            tests = outcome.table.comparison.tests.filter(system=system, measure=measure)
            assert tests["statistic"][0] == pytest.approx(by_hand.t, rel=1e-12)
            assert tests.select("p", "verdict").row(0) == (None, None)  # two runs


def test_models_differ_in_their_seed_alone(study, outcome):
    manifests = [read_manifest(study / "deepct" / f"tiny.seed{seed}") for seed in (0, 1, 7)]
    recipes = [dict(one.recipe) for one in manifests]
    assert [one["training"].pop("seed") for one in recipes] == [0, 1, 7]
    assert recipes[0] == recipes[1] == recipes[2]
    assert len({one.fingerprint for one in manifests}) == 3
    assert not (study / "deepct" / "tiny").exists()


def test_the_footer_and_the_files_say_what_runs_there_are(study, outcome, capsys):
    footer = " ".join(outcome.table.footer)
    assert "Runs of a system: Deep CT 2, CE 2, Fused 2." in footer
    assert "Seeds of the trainings of Deep CT, CE: 0, 1." in footer
    assert "Seeds of the trainings of Fused: 1, 7." in footer
    assert "CE: BM25, its best 3 documents reranked by rerankers/tiny.yaml." in footer
    facts = json.loads(outcome.files["json"].read_text())
    assert facts["provenance"]["recipe"]["systems"]["Fused"]["seeds"] == [1, 7]
    assert facts["provenance"]["runs"]["t"]["Fused.seed7"]["file"].endswith("Fused.seed7.t.trec.gz")
    with outcome.files["per-topic"].open() as handle:
        systems = list(dict.fromkeys(row["system"] for row in csv.DictReader(handle)))
    assert set(systems) == {
        "BM25",
        *(f"{name}.seed{seed}" for name in ("DeepCT", "CE") for seed in (0, 1)),
        *("Fused.seed1", "Fused.seed7"),
    }
    # The values per topic give the same table.
    arguments = ["--set", "pool_seeds=true", "-b", "BM25", "--format", "json"]
    assert main(["compare", str(outcome.files["per-topic"]), *arguments]) == 0
    again = json.loads(capsys.readouterr().out)
    figures = {row["system"]: [cell["mean"] for cell in row["cells"]] for row in again["rows"]}
    assert figures == {row.system: [cell.mean for cell in row.cells] for row in outcome.table.rows}
    statistics = outcome.table.comparison.tests["statistic"].to_list()
    assert sorted(one["statistic"] for one in again["tests"]) == sorted(statistics)
    report = (study / "experiments" / "pets" / "report.html").read_text()
    assert "Deep CT" in report


def test_snippets_of_weighted_documents_have_the_weights_of_their_index(study, outcome):
    shown = run_experiment(planned(study, "table.snippets=all")).table.material
    # Hits are those of the first run, and so are the weights.
    store = DocumentStore(study / "indexes" / "weighted.seed0")
    assert shown.weights.keys() == {"DeepCT"}
    assert shown.weights["DeepCT"].keys() == shown.snippets.keys()
    for docno, weights in shown.weights["DeepCT"].items():
        counts = Counter(store.get(docno).fields["weighted"].split())
        words = WORD.findall(shown.snippets[docno].lower())
        assert weights == [10 * counts[word] for word in words]
        assert any(weights)
    # An experiment that has the weighted index alone quotes the words that were weighted.
    alone = "systems={DeepCT: {index: weighted, k1: 5, seeds: [0]}}"
    changes = (alone, "comparison=null", "table={snippets: all}")
    (text,) = {run_experiment(planned(study, *changes)).table.material.snippets["d0"]}
    assert text == "cats cats run fast and dogs run slow"


def test_each_seed_trains_an_encoder_and_builds_its_vectors(study):
    write_spans(some_spans(12), study / "spans.jsonl")
    (study / "encoders" / "tiny.yaml").write_text(
        "kind: dual-encoder\nbase: base\n"
        "data: {train: spans.jsonl, shares: {train: 0.5, validation: 0.5}}\n"
        "training: {epochs: 1, batch_size: 3}\n"
    )
    systems = "systems={V: {index: vectors, seeds: [3, 4]}}"
    outcome = run_experiment(planned(study, systems, "comparison=null", "table={}"))
    assert [path.name for path in outcome.made] == [
        *("tiny.seed3.prepared", "tiny.seed3", "vectors.seed3", "tiny.seed4", "vectors.seed4"),
        *("V.seed3.t.trec.gz", "V.seed4.t.trec.gz"),
    ]
    models = [read_manifest(study / "encoders" / f"tiny.seed{seed}") for seed in (3, 4)]
    assert len({one.fingerprint for one in models}) == 2
    assert "Runs of a system: V 2." in " ".join(outcome.table.footer)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ("comparison.test=sign", "test"),
        ("comparison.correction=maxt", "correction"),
        ("comparison.interval=bootstrap", "interval"),
    ],
)
def test_what_cannot_be_tested_of_several_runs_is_refused_before_anything_runs(
    study, change, place
):
    with pytest.raises(InputError, match="for systems with several runs") as caught:
        planned(study, change)
    assert f"at `comparison.{place}" in str(caught.value)


def test_a_recipe_whose_model_would_have_the_folder_of_a_seed_is_refused(study):
    other = study / "deepct" / "tiny.seed1.yaml"
    other.write_text((study / "deepct" / "tiny.yaml").read_text())
    try:
        with pytest.raises(
            InputError, match=r"the folder of the model of tiny.seed1.yaml"
        ) as caught:
            planned(study)
        assert "at `corpora.weighted.model`" in str(caught.value)
    finally:
        other.unlink()
