"""Systems of an experiment file that rerank others: what is computed, reported and refused."""

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from adducir.core.config import load, validate
from adducir.core.progress import Progress
from adducir.experiments.context import Context
from adducir.experiments.experiment import plan_experiment, run_experiment
from adducir.experiments.retrieval.rerank import Rerank
from adducir.experiments.retrieval.study import Retrieval
from adducir.rerankers.registry import open_reranker, read_recipe

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
sys.path.insert(0, str(Path(__file__).parents[1] / "rerankers"))

from tiny import tiny_bert
from tiny_t5 import sharpened, tiny_t5

DOCUMENTS = [
    {"docno": f"d{n}", "title": title, "text": text}
    for n, (title, text) in enumerate(
        [
            ("cats", "cats run fast and dogs run slow"),
            ("power", "nuclear power is clean, cats not"),
            ("schools", "a school uniform for cats, cats, cats"),
            ("dogs", "the dogs ran because of the cats and the dogs"),
            ("more cats", "cats and dogs and a school"),
            ("fast", "cats should not run"),
        ]
    )
]
TOPICS = {"1": "cats", "2": "dogs run", "3": "school cats"}
EXPERIMENT = """
corpora:
  pets: {source: pets.jsonl}
indexes:
  pets: {corpus: pets, engine: memory, fields: [text]}
  titles: {corpus: pets, engine: memory, fields: [title]}
topics:
  t: {source: topics.tsv, qrels: q.qrels}
systems:
  Over: {rerank: CE, by: "maxsim:bert", depth: 2}
  BM25: {index: pets}
  CE: {rerank: BM25, by: rerankers/tiny.yaml, depth: 3}
  Fused: {fuse: [BM25, CE]}
measures: [nDCG@5]
comparison: {baseline: BM25}
"""


class Recorded(Progress):
    def __init__(self):
        self.works, self.notes = [], []

    def start(self, what, total, unit):
        self.works.append(what)

    def note(self, message):
        self.notes.append(message)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Tiny models: an encoder, a classifier, a T5."""
    folder = tmp_path_factory.mktemp("models")
    tiny_bert(folder / "bert")
    sharpened(tiny_bert(folder / "classifier", kind="BertForSequenceClassification"))
    tiny_t5(folder / "lit5")
    return folder


@pytest.fixture
def study(tmp_path, models):
    """A study that has not been run."""
    for name in ("rerankers", "experiments"):
        (tmp_path / name).mkdir()
    for name in ("bert", "classifier", "lit5"):
        (tmp_path / name).symlink_to(models / name)
    (tmp_path / "pets.jsonl").write_text("\n".join(map(json.dumps, DOCUMENTS)) + "\n")
    (tmp_path / "topics.tsv").write_text("".join(f"{q}\t{text}\n" for q, text in TOPICS.items()))
    (tmp_path / "q.qrels").write_text("1 0 d0 1\n1 0 d5 0\n2 0 d3 1\n3 0 d2 2\n3 0 d1 0\n")
    (tmp_path / "given.run").write_text("1 Q0 d5 1 9 x\n1 Q0 d1 2 8 x\n2 Q0 d3 1 9 x\n")
    (tmp_path / "rerankers" / "tiny.yaml").write_text("model: cross-encoder\nbase: classifier\n")
    (tmp_path / "rerankers" / "lit5.yaml").write_text(
        "model: lit5\nbase: lit5\nwindow: 2\nstride: 1\n"
    )
    (tmp_path / "rerankers" / "trained.yaml").write_text(
        "kind: cross-encoder\nbase: bert\nfields: [title, text]\n"
        "examples: {topics: topics.tsv, qrels: q.qrels, corpus: {source: pets.jsonl}}\n"
        "held_out: {share: 0}\ntraining: {epochs: 1, batch_size: 2, patience: null}\n"
    )
    (tmp_path / "experiments" / "pets.yaml").write_text(EXPERIMENT)
    return tmp_path


def planned(study, *changes, **options):
    return plan_experiment(study / "experiments" / "pets.yaml", changes, **options)


def run(study, *changes, **options):
    progress = Recorded()
    plan = planned(study, *changes, **options)
    with progress:
        return (
            plan.lines(),
            run_experiment(plan, context=Context(threads=1)),
            progress,
        )


def ranking(study, system, topic_set="t"):
    """Docnos and scores of a run by qid."""
    path = study / "runs" / "pets" / f"{system}.{topic_set}.trec.gz"
    found = {}
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        qid, _, docno, _, score, _ = line.split()
        found.setdefault(qid, []).append((docno, float(score)))
    return found


def metadata(study, system):
    from adducir.runs.metadata import read_metadata

    return read_metadata(study / "runs" / "pets" / f"{system}.t.trec.gz")


def test_the_best_are_reordered_and_the_rest_stays_below(study):
    run(study)
    reranker = open_reranker("rerankers/tiny.yaml", study)
    texts = {one["docno"]: one["text"] for one in DOCUMENTS}
    before, after = ranking(study, "BM25"), ranking(study, "CE")
    changed = 0
    for qid, rows in before.items():
        docnos = [docno for docno, _ in rows]
        scores = reranker.score(TOPICS[qid], [texts[docno] for docno in docnos[:3]])
        best = [docnos[number] for number in np.argsort(-scores, kind="stable")]
        assert [docno for docno, _ in after[qid]] == best + docnos[3:]
        assert [score for _, score in after[qid]][:3] == pytest.approx(sorted(scores)[::-1])
        changed += best != docnos[:3]
    assert changed
    # A rerank can be reranked, fused, and listed before what it is made from.
    over = ranking(study, "Over")
    for qid, rows in after.items():
        docnos = [docno for docno, _ in rows]
        assert {docno for docno, _ in over[qid][:2]} == set(docnos[:2])
        assert [docno for docno, _ in over[qid]][2:] == docnos[2:]
    assert len(ranking(study, "Fused")["1"]) == len(before["1"])


def test_nothing_is_done_twice(study):
    lines, outcome, progress = run(study)
    assert [line.split(":")[0] for line in lines if " run " in line] == [
        "search run runs/pets/BM25.t.trec.gz",
        "rerank run runs/pets/CE.t.trec.gz",
        "rerank run runs/pets/Over.t.trec.gz",
        "fuse   run runs/pets/Fused.t.trec.gz",
    ]
    assert progress.works.count("reranking") == 2
    assert sum("9 computed, 0 known" in note for note in progress.notes) == 1
    lines, outcome, progress = run(study)
    assert outcome.runs == []
    assert "reranking" not in progress.works
    # What is made anew reads kept scores: a deeper rerank computes what is new.
    _, outcome, progress = run(study, "systems.CE.depth=4")
    assert [path.name.split(".")[0] for path in outcome.runs] == ["CE", "Over", "Fused"]
    assert any("the best 4 reranked" in note and "9 known" in note for note in progress.notes)
    _, _, progress = run(study, "systems.CE.depth=4", rebuild=True)
    assert all("(0 computed" in note for note in progress.notes if "reranked" in note)


@pytest.mark.parametrize(
    ("change", "is_made"),
    [
        ("systems.CE.fields=[title]", True),
        ("systems.CE.fields=[text]", False),  # the index's own
        ("systems.CE.texts=titles", True),
        ("systems.CE.by=bert-copy", True),
        ("systems.BM25.k1=2", True),
        ("systems.CE.group=neural", False),
        ("measures=[P@1]", False),
    ],
)
def test_what_determines_a_rerank_makes_it_anew(study, models, change, is_made):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    run(study)
    copy = study / "bert-copy"
    network = AutoModelForSequenceClassification.from_pretrained(models / "classifier")
    network.classifier.weight.data *= -1
    network.save_pretrained(copy)
    AutoTokenizer.from_pretrained(models / "classifier").save_pretrained(copy)
    _, outcome, _ = run(study, change)
    assert ("CE.t.trec.gz" in [path.name for path in outcome.runs]) == is_made


def test_passages_of_the_recipe_decide_too(study):
    run(study)
    path = study / "rerankers" / "tiny.yaml"
    path.write_text(path.read_text() + "passages: {take: best, length: 2}\n")
    _, outcome, _ = run(study)
    assert "CE.t.trec.gz" in [one.name for one in outcome.runs]


def test_a_reranker_is_trained_when_it_is_missing(study):
    change = "systems.CE.by=rerankers/trained.yaml"
    lines, outcome, progress = run(study, change)
    assert lines[0] == "train  rerankers/trained"
    assert progress.works.count("training") == 1
    assert len(outcome.runs) == 4
    lines, outcome, progress = run(study, change)
    assert outcome.runs == []
    assert "training" not in progress.works
    # By its folder it is the same model, read the same way.
    assert run(study, "systems.CE.by=rerankers/trained")[1].runs == []
    # Another training is another model.
    recipe = study / "rerankers" / "trained.yaml"
    recipe.write_text(recipe.read_text().replace("epochs: 1", "epochs: 2"))
    lines, outcome, progress = run(study, change)
    assert lines[0].startswith("train  rerankers/trained: out of date")
    assert any("CE.t.trec.gz: out of date" in one for one in lines)
    assert progress.works.count("training") == 1
    # A model that no run needs is not trained, even if it is gone.
    (study / "rerankers" / "trained" / "model.safetensors").unlink()
    lines, outcome, _ = run(study, change)
    assert not any(line.startswith("train") for line in lines)
    assert outcome.runs == []


def test_metadata_and_table_tell_model_scale_and_settings(study):
    _, outcome, _ = run(study)
    facts = metadata(study, "CE")
    (message,) = facts["method"]["reranking"]
    assert message["name"] == "rerankers/tiny.yaml"
    assert message["weights"].startswith("files:")
    assert message["depth"] == 3
    assert message["fields"] == ["text"]
    assert message["score scale"]
    assert message["candidates"]["system"] == "BM25"
    assert message["candidates"]["file"] == "runs/pets/BM25.t.trec.gz"
    assert facts["method"]["retrieval"]
    assert [one["name"] for one in metadata(study, "Over")["method"]["reranking"]] == [
        "rerankers/tiny.yaml",
        "maxsim:bert",
    ]
    table = json.loads(outcome.files["json"].read_text())
    text = json.dumps(table)
    assert '"score scale"' in text
    assert "CE: BM25, its best 3 documents reranked by rerankers/tiny.yaml." in text
    assert '"weights"' in text
    for path in (*outcome.files.values(), *(study / "runs" / "pets").glob("*.yml")):
        assert str(study) not in path.read_text(errors="replace"), path


def test_given_fused_and_tuned_runs_are_reranked(study):
    changes = [
        "systems.Given.run=given.run",
        "systems.G.rerank=Given",
        "systems.G.by=rerankers/lit5.yaml",
        "systems.G.texts=titles",
        "systems.G.fields=[text]",
        "systems.F.rerank=Fused",
        "systems.F.by=maxsim:bert",
        "systems.BM25.tune={grid: {k1: [0.5, 2]}, folds: {k: 3}}",
    ]
    run(study, *changes)
    given = ranking(study, "G")
    assert {qid: sorted(docno for docno, _ in rows) for qid, rows in given.items()} == {
        "1": ["d1", "d5"],
        "2": ["d3"],
    }
    assert [score for _, score in given["1"]] == [1.0, 0.5]
    assert {d for d, _ in ranking(study, "F")["1"]} == {d for d, _ in ranking(study, "BM25")["1"]}
    # The held-out rankings of the tuned search are the candidates.
    before, after = ranking(study, "BM25"), ranking(study, "CE")
    assert {docno for docno, _ in before["2"][:3]} == {docno for docno, _ in after["2"][:3]}


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["touche", "touche-small"])
def test_the_studies_name_rerankers_that_are_there(name):
    recipe = validate(load(ROOT / "experiments" / f"{name}.yaml"), Retrieval)
    for system in recipe.systems.values():
        if isinstance(system, Rerank) and system.by.endswith(".yaml"):
            read_recipe(ROOT / system.by)


def test_a_recipe_that_several_name_is_trained_once(study):
    trained = "rerankers/trained.yaml"
    changes = (
        f"systems.CE.by={trained}",
        f"systems.Deeper={{rerank: BM25, by: {trained}, depth: 4}}",
        "topics.u={source: topics.tsv, qrels: given.qrels}",
    )
    (study / "given.qrels").write_text("1 0 d5 1\n2 0 d3 1\n")
    lines = planned(study, *changes).lines()
    assert sum(line.startswith("train ") for line in lines) == 1
