"""Systems that stand on networks: reranked, weighted, of vectors; trained first, with seeds."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from experiment_studies import Notes
from some_spans import some_spans
from tiny import sharpened, tiny_bert, tiny_t5

import adducir as ad
from adducir.cli.app import main
from adducir.core.errors import InputError, UsageError
from adducir.core.manifests import read_manifest
from adducir.corpora.qrels import load_qrels
from adducir.corpora.spans import write_spans
from adducir.evaluation.evaluator import Evaluator
from adducir.experiments.experiment import plan_experiment, run_experiment
from adducir.experiments.sharing import share, verify
from adducir.experiments.step import Context
from adducir.rerankers.recipe import open_reranker
from adducir.runs.read import read_run
from adducir.runs.write import read_metadata
from adducir.statistics.equivalence import two_level
from adducir.training.trainable import open_training

TEXTS = (
    ("cats", "cats run fast and dogs run slow"),
    ("power", "nuclear power is clean, cats not"),
    ("schools", "a school uniform for cats, cats, cats"),
    ("dogs", "the dogs ran because of the cats and the dogs"),
    ("more cats", "cats and dogs and a school"),
    ("fast", "cats should not run"),
)
TOPICS = {"1": "cats", "2": "dogs run", "3": "school cats"}
CORPORA = """\
corpora:
  pets: {source: pets.jsonl}
  weighted: {expand: pets, model: deepct/tiny.yaml, scale: 10}
indexes:
  pets: {corpus: pets, engine: memory, fields: [premise]}
  titles: {corpus: pets, engine: memory, fields: [conclusion]}
  weighted: {corpus: weighted, engine: memory, fields: [conclusion, weighted]}
  fine: {corpus: pets, engine: dense, encoder: encoders/fine.yaml}
topics:
  t: {source: topics.tsv, qrels: q.qrels}
"""
RERANKED = f"""\
{CORPORA}systems:
  Over: {{rerank: CE, by: "maxsim:bert", depth: 2}}
  BM25: {{index: pets}}
  CE: {{rerank: BM25, by: rerankers/tiny.yaml, depth: 3}}
  Fused: {{fuse: [BM25, CE]}}
measures: [nDCG@5]
comparison: {{baseline: BM25}}
"""
SEEDED = f"""\
{CORPORA}systems:
  DeepCT: {{index: weighted, k1: 5, seeds: 2, group: trained}}
  BM25: {{index: pets}}
  CE: {{rerank: BM25, by: rerankers/trained.yaml, depth: 3, seeds: [0, 1]}}
  Fused: {{fuse: [BM25, DeepCT], seeds: [1, 7]}}
measures: [nDCG@5, AP]
comparison: {{baseline: BM25}}
table: {{system_names: {{DeepCT: Deep CT}}}}
"""
VECTORS = f"""\
{CORPORA}systems:
  Fine: {{index: fine, seeds: [3]}}
measures: [nDCG@5]
"""
TRAINED = """held_out: {share: 0}
training: {epochs: 1, patience: null, batch_size: 2, learning_rate: 1e-2}
"""
RECIPES = {
    "rerankers/tiny": "model: cross-encoder\nbase: classifier\n",
    "rerankers/lit5": "model: lit5\nbase: lit5\nwindow: 2\nstride: 1\n",
    "rerankers/trained": "kind: cross-encoder\nbase: bert\nfields: [premise]\n"
    "examples: {topics: topics.tsv, qrels: q.qrels, corpus: {source: pets.jsonl}}\n" + TRAINED,
    "deepct/tiny": "kind: deepct\ncorpus: {source: pets.jsonl}\ntext: premise\n"
    "reference: conclusion\nbase: bert\npassages: {length: 20}\n" + TRAINED,
    "encoders/coarse": "kind: dual-encoder\nbase: bert\ndata: {train: spans.jsonl}\n"
    "training: {epochs: 1, batch_size: 4, patience: null}\n",
    "encoders/fine": "kind: dual-encoder\nbase: encoders/coarse.yaml\n"
    "data: {train: spans.jsonl}\ntraining: {epochs: 1, batch_size: 4, patience: null}\n",
    "experiments/reranked": RERANKED,
    "experiments/seeded": SEEDED,
    "experiments/vectors": VECTORS,
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    tiny_bert(folder / "bert")
    sharpened(tiny_bert(folder / "classifier", kind="BertForSequenceClassification"))
    tiny_t5(folder / "lit5")
    lines = [
        json.dumps({"docno": f"d{n}", "conclusion": conclusion, "premise": premise})
        for n, (conclusion, premise) in enumerate(TEXTS)
    ]
    (folder / "pets.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "topics.tsv").write_text("".join(f"{qid}\t{q}\n" for qid, q in TOPICS.items()))
    (folder / "q.qrels").write_text("1 0 d0 1\n1 0 d5 0\n2 0 d3 1\n3 0 d2 2\n3 0 d1 0\n")
    (folder / "given.run").write_text("1 Q0 d5 1 9 x\n1 Q0 d1 2 8 x\n2 Q0 d3 1 9 x\n")
    write_spans(some_spans(12), folder / "spans.jsonl")
    for name, text in RECIPES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.yaml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def finished(bare, tmp_path_factory):
    folder = shutil.copytree(bare, tmp_path_factory.mktemp("finished") / "study")
    run(folder)
    return folder


@pytest.fixture
def study(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "study")


def planned(study, *changes, name="reranked", **options):
    return plan_experiment(study / "experiments" / f"{name}.yaml", changes, **options)


def run(study, *changes, name="reranked", **options):
    plan, notes = planned(study, *changes, name=name, **options), Notes()
    lines = plan.lines()
    with notes:
        outcome = run_experiment(plan, context=Context(threads=1))
    return lines, outcome, notes.lines


def made(outcome):
    return [path.name.split(".")[0] for path in outcome.runs]


def ranking(study, system):
    found = {}
    for qid, docno, score in read_run(study / f"runs/reranked/{system}.t.trec.gz").frame.rows():
        found.setdefault(qid, []).append((docno, score))
    return found


def test_the_best_are_reordered_and_the_rest_stays_below(finished):
    reranker = open_reranker("rerankers/tiny.yaml", finished)
    before, after = ranking(finished, "BM25"), ranking(finished, "CE")
    changed = 0
    for qid, rows in before.items():
        docnos = [docno for docno, _ in rows]
        scores = reranker.score(TOPICS[qid], [TEXTS[int(docno[1:])][1] for docno in docnos[:3]])
        best = [docnos[number] for number in np.argsort(-scores, kind="stable")]
        assert [docno for docno, _ in after[qid]] == best + docnos[3:]
        assert [score for _, score in after[qid]][:3] == pytest.approx(sorted(scores)[::-1])
        changed += best != docnos[:3]
    assert changed
    # A rerank can be reranked, fused, and listed before what it is made from.
    over = ranking(finished, "Over")
    for qid, rows in after.items():
        docnos = [docno for docno, _ in rows]
        assert {docno for docno, _ in over[qid][:2]} == set(docnos[:2])
        assert [docno for docno, _ in over[qid]][2:] == docnos[2:]
    assert len(ranking(finished, "Fused")["1"]) == len(before["1"])


def test_given_fused_and_tuned_runs_are_reranked(study, monkeypatch):
    run(
        study,
        "systems.Given.run=given.run",
        "systems.G={rerank: Given, by: rerankers/lit5.yaml, texts: titles, fields: [premise]}",
        "systems.F={rerank: Fused, by: 'maxsim:bert'}",
        "systems.BM25.tune={grid: {k1: [0.5, 2]}, folds: {k: 3}}",
    )
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
    # Metadata keep the stages, and so does the command.
    monkeypatch.chdir(study)
    given = ["-r", "runs/reranked/CE.t.trec.gz", "-t", "topics.tsv", "-i", "indexes/pets"]
    assert main(["rerank", *given, "-m", "maxsim:bert", "-o", "twice.trec"]) == 0
    for name, count in (("runs/reranked/CE.t.trec.gz", 1), ("twice.trec", 2)):
        method = read_metadata(study / name)["method"]
        assert ("tuning" in method, len(method["reranking"])) == (True, count)
        assert "file" in method["reranking"][-1]["candidates"]


def test_a_model_is_trained_where_a_run_needs_it(study):
    trained, recipe = "systems.CE.by=rerankers/trained.yaml", study / "rerankers" / "trained.yaml"
    lines, outcome, notes = run(study, trained)
    assert lines[0] == "train  rerankers/trained"
    assert sum(note.startswith("training for 1 epoch (") for note in notes) == 1
    assert made(outcome) == ["CE", "Over", "Fused"]
    # By its folder it is the same model, read the same way.
    assert run(study, "systems.CE.by=rerankers/trained")[1].runs == []
    # Another training is another model; two systems may stand on one.
    recipe.write_text(recipe.read_text().replace("epochs: 1", "epochs: 2"))
    deeper = "systems.Deeper={rerank: BM25, by: rerankers/trained.yaml, depth: 4}"
    lines = planned(study, trained, deeper).lines()
    assert sum(line.startswith("train") for line in lines) == 1
    assert lines[0].startswith("train  rerankers/trained: out of date")
    assert any("CE.t.trec.gz: out of date" in one for one in lines)
    # One that no run needs is not trained, even if it is gone.
    recipe.write_text(recipe.read_text().replace("epochs: 2", "epochs: 1"))
    (study / "rerankers" / "trained" / "model.safetensors").unlink()
    lines, outcome, _ = run(study, trained)
    assert not any(line.startswith("train") for line in lines)
    assert outcome.runs == []


def test_a_corpus_is_weighted_once_for_each_model(study):
    weighted = "systems.DeepCT={index: weighted, k1: 5}"
    lines, outcome, notes = run(study, weighted)
    assert lines[:2] == ["train  deepct/tiny", "weight deepct/tiny.pets.weights by deepct/tiny"]
    assert made(outcome) == ["DeepCT"]
    # Another rendering needs an index, but neither training nor weighing.
    lines, outcome, notes = run(study, weighted, "corpora.weighted.transform=sqrt")
    assert [line.split()[0] for line in lines if "weighted of" in line] == ["build"]
    assert not any(note.startswith(("training for ", "weighting (")) for note in notes)
    text = outcome.files["json"].read_text()
    assert '"transform": "sqrt"' in text
    assert str(study) not in text
    # Two renderings share their weights.
    both = (
        "corpora.roots={expand: pets, model: deepct/tiny.yaml, transform: sqrt}",
        "indexes.roots={corpus: roots, engine: memory}",
        "systems.Roots.index=roots",
    )
    weights = [line for line in planned(study, weighted, *both).lines() if "pets.weights" in line]
    assert [line.split()[0] for line in weights] == ["keep"]
    # Another model needs all.
    path = study / "deepct" / "tiny.yaml"
    path.write_text(path.read_text().replace("epochs: 1", "epochs: 2"))
    verbs = {line.split()[0] for line in planned(study, weighted).lines()}
    assert {"train", "weight"} <= verbs


def test_queries_are_encoded_for_an_index_of_token_weights_as_in_the_shell(study, monkeypatch):
    tiny_bert(study / "splade", kind="BertForMaskedLM")
    monkeypatch.chdir(study)
    encode = ["encode", "--sparse", "-m", "splade"]
    assert main([*encode, "-c", "pets.jsonl", "-o", "weights/documents"]) == 0
    assert main([*encode, "-t", "topics.tsv", "-o", "weights/topics"]) == 0
    sparse = "indexes.sparse={corpus: pets, weights: weights/documents}"
    system = "systems.SPLADE={index: sparse, encoder: splade}"
    assert made(run(study, sparse, system)[1]) == ["SPLADE"]
    search = ["search", "-i", "indexes/sparse", "--tag", "SPLADE", "-o", "shell.trec.gz", "--force"]
    path = study / "runs/reranked/SPLADE.t.trec.gz"
    for topics in (["-t", "weights/topics"], ["-t", "topics.tsv", "--encoder", "splade"]):
        assert main([*search, *topics]) == 0
        assert path.read_bytes() == Path("shell.trec.gz").read_bytes()
    assert main(["search", "indexes/sparse", "cats", "--encoder", "splade"]) == 0
    with pytest.raises(UsageError, match="encoder"):
        ad.search("indexes/sparse", "weights/topics", encoder="splade")
    assert read_metadata(path)["method"]["encoder"]["name"] == "splade"
    # Another model's queries are another run, and others' texts have no token weights.
    tiny_bert(study / "splade", kind="BertForMaskedLM", hidden=16)
    lines = planned(study, sparse, system).lines()
    assert any("SPLADE.t.trec.gz: out of date" in line for line in lines)
    for changes, message in (
        ([system, "systems.SPLADE.rm3=true"], r"SPLADE.rm3.*not an encoder's weights"),
        ([system.replace("sparse,", "pets,")], r"SPLADE.encoder.*an index of token weights"),
        ([system.replace("index:", "llm: x, query2doc:")], r"SPLADE.encoder.*with `query2doc`"),
        ([system.replace("splade", "classifier")], r"SPLADE.encoder.*not a learned sparse encoder"),
        ([system, "topics.t.source=weights/topics"], r"SPLADE.encoder.*topics of `t` have weights"),
    ):
        with pytest.raises(InputError, match=f"(?s){message}"):
            planned(study, sparse, *changes)


@pytest.fixture(scope="module")
def seeds(bare, tmp_path_factory):
    return shutil.copytree(bare, tmp_path_factory.mktemp("seeds") / "study")


@pytest.fixture(scope="module")
def seeded(seeds):
    return run_experiment(planned(seeds, name="seeded"))


def test_the_row_of_a_system_is_that_of_its_runs_by_hand(seeds, seeded, tmp_path):
    evaluator = Evaluator(load_qrels(str(seeds / "q.qrels")), ["nDCG@5", "AP"])
    rows = {row.system: row for row in seeded.table.rows}
    assert list(rows) == ["BM25", "CE", "Fused", "DeepCT"]  # its section is last
    share(seeds, archive := tmp_path / "study.zip", "", 10**6)
    assert dict(verify(archive))["ok"].endswith("evaluated again, byte for byte")
    found = {}
    for name in ("BM25", "DeepCT.seed0", "DeepCT.seed1", "CE.seed0", "CE.seed1"):
        one = read_run(seeds / "runs" / "seeded" / f"{name}.t.trec.gz")
        assert one.tag == name
        found[name] = evaluator.score(one, system=name)
    for system in ("DeepCT", "CE"):
        for number, measure in enumerate(("nDCG@5", "AP")):
            runs = np.array([found[f"{system}.seed{seed}"].values(measure) for seed in (0, 1)])
            shown = seeded.table.values(rows[system], seeded.table.columns[number])
            assert (shown == runs.mean(axis=0)).all()
            assert rows[system].cells[number].mean == pytest.approx(runs.mean(), abs=1e-15)
            by_hand = two_level(runs, found["BM25"].values(measure)[None])
            tests = seeded.table.comparison.tests.filter(system=system, measure=measure)
            assert tests["statistic"][0] == pytest.approx(by_hand.t, rel=1e-12)
            assert tests.select("p", "verdict").row(0) == (None, None)  # two runs
    # Models differ in their seed alone.
    recipes = [dict(read_manifest(seeds / "deepct" / f"tiny.seed{n}").recipe) for n in (0, 1, 7)]
    assert [one["training"].pop("seed") for one in recipes] == [0, 1, 7]
    assert recipes[0] == recipes[1] == recipes[2]
    assert not (seeds / "deepct" / "tiny").exists()


def test_each_training_waits_for_that_of_its_base(study, capsys, monkeypatch):
    monkeypatch.chdir(study)

    def trained(**options):
        lines = planned(study, name="vectors", **options).lines()
        return [line.split()[1].rstrip(":") for line in lines if line.startswith("train")]

    path = study / "encoders" / "coarse.yaml"
    before = path.read_text()
    for wrong in ("encoders/fine.yaml", "encoders/none.yaml"):
        path.write_text(before.replace("base: bert", f"base: {wrong}"))
        with pytest.raises(InputError):
            trained()
    path.write_text(before)
    both = ["encoders/coarse", "encoders/fine.seed3"]
    assert trained(dry_run=True) == both
    assert main(["train", "encoders/fine.yaml"]) == 3  # its base is not trained
    assert main(["experiment", "experiments/vectors.yaml", "--threads", "1"]) == 0
    inputs = json.loads((study / "encoders" / "fine.seed3" / "manifest.json").read_text())["inputs"]
    assert inputs["base"] == read_manifest(study / "encoders" / "coarse").fingerprint
    assert trained() == []
    # A base that is there needs neither its recipe nor its data.
    path.write_text(before.replace("spans.jsonl", "gone.jsonl"))
    base = open_training(study / "encoders" / "fine.yaml").inputs["base"]
    path.unlink()
    assert open_training(study / "encoders" / "fine.yaml").inputs["base"] == base
    # Another base makes another encoder of what goes on from it.
    path.write_text(before.replace("epochs: 1", "epochs: 2"))
    assert trained() == both


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ("corpora.weighted.expand=pet", "corpora.weighted"),
        ("corpora.weighted.model=deepct/none.yaml", "corpora.weighted.model"),
        ("corpora.weighted.model=bert", "corpora.weighted.model"),
        ("corpora.weighted.source=x", "corpora.weighted"),
        ("corpora.pets.scale=3", "corpora.pets"),
        ("corpora.again={expand: weighted, model: deepct/tiny.yaml}", "corpora.again"),
        ("indexes.weighted.fields=[weighted, text]", "indexes.weighted"),
        ("comparison.test=sign", "comparison.test"),  # of several runs
        ("comparison.interval=bootstrap", "comparison.interval"),
    ],
)
def test_errors_are_reported_before_anything_runs(bare, change, place):
    with pytest.raises(InputError) as caught:
        planned(bare, change, name="seeded")
    assert f"at `{place}" in str(caught.value)
