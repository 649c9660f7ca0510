"""Experiment files: what is planned aloud, what comes out, and what it shows of its making."""

import json
import math
import re
from pathlib import Path

import polars as pl
import pytest
import yaml
from experiment_studies import GIVEN, Notes, Study, notes_of, run_lines

from adducir.core.errors import InputError
from adducir.core.files import file_digest
from adducir.corpora.qrels import load_qrels
from adducir.evaluation.evaluator import evaluate
from adducir.experiments.experiment import Outcome
from adducir.runs.fusion import fuse
from adducir.runs.metadata import metadata_for
from adducir.runs.read import read_run

FILES = {
    "manifest.json",
    "table.txt",
    "table.md",
    "table.tex",
    "table.csv",
    "table.json",
    "report.html",
    "per-topic.csv",
}
RUNS = """\
  BM25: {index: pets, k1: 1.2, b: 0.3}
  LM with RM3: {index: pets, model: qld, rm3: {fb_docs: 2}}
  given: {run: data/a.run}
  all three: {fuse: [BM25, LM with RM3, given], k: 10, weights: [1, 1, 2]}
"""
COMPARISON = "{baseline: [BM25, given], test: sign, equivalence: 0.5, against: given}"


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path / "study")


@pytest.fixture
def given(tmp_path: Path) -> Study:
    return Study(tmp_path / "study", GIVEN)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Outcome, list[str], list[str]]:
    """A study with all kinds of systems, run; its plan's lines and its notes."""
    study = Study(tmp_path_factory.mktemp("full") / "study")
    study.change("  BM25: {index: pets}\n  QLD: {index: pets, model: qld}\n", RUNS)
    study.change("{baseline: BM25}", f"{COMPARISON}\ntable: {{show: [ci, equivalence_p]}}")
    lines = study.plan().lines()
    notes = Notes()
    with notes:
        return study, study.run(), lines, notes.lines


def test_the_plan_says_each_step(full) -> None:
    assert full[2] == [
        "build  index indexes/pets of data/pets.jsonl",
        "search run runs/pets/BM25.t.trec.gz",
        "search run runs/pets/LM_with_RM3.t.trec.gz",
        "read   run data/a.run",
        "fuse   run runs/pets/all_three.t.trec.gz",
        "evaluate 4 systems on t: nDCG@5 P@1 Judged@3",
        "test   differences, against BM25, given: sign, holm over each measure, alpha 0.05",
        "test   equivalence with given within 0.5: holm over each measure",
        "write  experiments/pets/",
    ]


def test_all_files_come_out_and_hold_the_figures(full) -> None:
    study, outcome = full[:2]
    folder = study.folder / "experiments" / "pets"
    assert {path.name for path in folder.iterdir()} == FILES
    assert set(outcome.files.values()) == {folder / name for name in FILES - {"manifest.json"}}
    qrels = load_qrels(study.folder / "data/qrels.txt")
    files = {
        "BM25": study.path("BM25"),
        "LM with RM3": study.path("LM_with_RM3"),
        "given": study.folder / "data" / "a.run",
        "all three": study.path("all_three"),
    }
    means = pl.read_csv(folder / "table.csv").group_by("system", "measure").agg(pl.first("mean"))
    found = {(system, measure): mean for system, measure, mean in means.iter_rows()}
    for system, path in files.items():
        scores = evaluate(read_run(path), qrels, "nDCG@5 P@1 Judged@3")
        for measure in scores.measures:
            assert found[system, str(measure)] == scores.mean(measure)
    assert len(pl.read_csv(folder / "per-topic.csv")) == 4 * 4 * 3
    assert "LM with RM3" in (folder / "table.tex").read_text()


def test_the_table_shows_how_it_was_made(full) -> None:
    study, outcome = full[:2]
    provenance = json.loads(outcome.files["json"].read_text())["provenance"]
    assert provenance["command"] == "adducir experiment experiments/pets.yaml"
    assert provenance["recipe"]["systems"]["all three"]["weights"] == [1, 1, 2]
    index = provenance["indexes"]["pets"]
    manifest = json.loads((study.folder / "indexes/pets/manifest.json").read_text())
    assert index["fingerprint"] == manifest["fingerprint"]
    assert index["corpus fingerprint"] == manifest["inputs"]["corpus"]
    assert index["counts"]["documents"] == 9
    assert index["analysis"] == {"stemmer": "porter", "stopwords": "lucene"}
    assert index["built with"]["anserini"] == manifest["versions"]["anserini"]
    topics = provenance["topics"]["t"]
    assert (topics["number of topics"], topics["number of judgements"]) == (4, 11)
    runs = provenance["runs"]["t"]
    assert list(runs) == ["BM25", "LM with RM3", "given", "all three"]
    for system, name in (("BM25", "BM25"), ("all three", "all_three")):
        facts = yaml.safe_load(metadata_for(study.path(name)).read_text())
        assert runs[system]["sha256"] == facts["run file"]["sha256"]
        assert runs[system]["fingerprint"] == facts["adducir"]["fingerprint"]
        assert runs[system]["file"] == f"runs/pets/{name}.t.trec.gz"
    assert runs["LM with RM3"]["settings"] == {
        "model": "qld",
        "mu": 1000.0,
        "feedback": {
            "method": "rm3",
            "fb_docs": 2,
            "fb_terms": 10,
            "original_query_weight": 0.5,
        },
        "depth": 1000,
    }
    fused = {"method": "rrf", "k": 10.0, "weights": [1, 1, 2], "depth": 1000}
    assert runs["all three"]["settings"] == fused
    assert runs["given"] == {
        "given": "data/a.run",
        "sha256": file_digest(study.folder / "data" / "a.run"),
    }
    assert set(provenance["software"]) >= {"adducir", "python", "ir_measures", "scipy"}
    for path in outcome.files.values():
        assert str(study.folder) not in path.read_text()


def test_a_fusion_is_as_the_file_says(full) -> None:
    study = full[0]
    paths = study.path("BM25"), study.path("LM_with_RM3"), study.folder / "data" / "a.run"
    expected = fuse([read_run(path) for path in paths], k=10, weights=[1, 1, 2])
    found = read_run(study.path("all_three"))
    assert found.frame.select("qid", "docno").equals(expected.frame.select("qid", "docno"))
    assert found.frame["score"].to_list() == pytest.approx(expected.frame["score"].to_list())


def test_a_search_that_finds_nothing_counts_zero(study: Study) -> None:
    study.write("topics.tsv", "1\tzebra", "2\tthe", "3\t", "4\tyak")
    notes = Notes()
    with notes:
        outcome = study.run()
    for row in outcome.table.rows:
        assert [cell.mean for cell in row.cells] == [0, 0, 0]
    assert read_run(study.path("BM25"), allow_empty=True).qids == []
    message = next(line for line in notes.lines if line.startswith("run runs/pets/BM25"))
    assert "0 documents for 0 of 4 topics" in message
    assert message.index("topics 2, 3") < message.index("topics 1, 4")
    facts = yaml.safe_load(metadata_for(study.path("BM25")).read_text())
    assert facts["run file"]["topics without documents"] == ["1", "2", "3", "4"]
    assert "BM25, QLD lack 4 of the topics" in outcome.files["terminal"].read_text()
    assert study.run().runs == []


def test_a_given_run_gets_trec_evals_order_of_ties(given: Study) -> None:
    given.write("a.run", "1 Q0 d1 1 5 x", "1 Q0 d9 2 5 x", "2 Q0 d4 1 1 x")
    outcome = given.run("measures=[nDCG@3]", "depth=3")
    expected = evaluate(
        read_run(given.folder / "data/a.run"), load_qrels(given.folder / "data/qrels.txt"), "nDCG@3"
    )
    assert outcome.table.rows[0].cells[0].mean == expected.mean("nDCG@3")
    # d9 (grade 1) before d1 (grade 2), as trec_eval orders equal scores
    dcg = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    values = outcome.table.values(outcome.table.rows[0], outcome.table.columns[0])
    assert values[0, 0] == pytest.approx(dcg)


def test_negative_grades_as_the_file_says(given: Study) -> None:
    given.write("b.run", *run_lines({"1": "d1", "3": "d7 d5"}))
    means = {
        rule: given.run("measures=[Bpref]", f"negative_grades={rule}").table.rows[1].cells[0].mean
        for rule in ("zero", "trec_eval")
    }
    qrels = load_qrels(given.folder / "data/qrels.txt")
    run = read_run(given.folder / "data/b.run")
    assert means["zero"] < means["trec_eval"]
    for rule, mean in means.items():
        assert mean == evaluate(run, qrels, "Bpref", negative=rule).mean("Bpref")  # type: ignore[arg-type]


def test_a_file_outside_a_studys_experiments_folder(given: Study) -> None:
    given.file = given.file.rename(given.folder / "pets.yaml")
    outcome = given.run()
    assert outcome.files["json"] == given.folder / "experiments" / "pets" / "table.json"
    assert '"adducir experiment pets.yaml"' in outcome.files["json"].read_text()


def test_a_dry_run_warns_of_given_runs_that_lack_judged_topics(tmp_path: Path) -> None:
    study = Study(tmp_path, GIVEN)
    study.write("b.run", "1 Q0 d1 1 1.0 t", "5 Q0 d1 1 1.0 t")
    lines = study.plan().lines()
    warned = [line for line in lines if line.startswith("warn")]
    assert warned == [
        "warn   the run of B lacks 3 of the 4 judged topics of t, which count 0: 2, 3, 4"
    ]


def test_settings_of_the_table(given: Study) -> None:
    outcome = given.run(
        "table={decimals: 2, leading_zero: false, caption: Pets, label: 'tab:x', "
        "measure_names: {ndcg_cut_3: gain}, system_names: {A: first}}",
        "systems.B.group=others",
        "comparison={comparisons: all-pairs, test: randomisation, permutations: 99}",
    )
    table = outcome.table
    assert (table.title, table.label, table.style.leading_zero) == ("Pets", "tab:x", False)
    assert [column.title for column in table.columns] == ["gain", "P@1"]
    assert [(row.title, row.section) for row in table.rows] == [
        *(("first", ""), ("A+B", ""), ("B", "others"))
    ]
    assert table.pairs
    command = json.loads(outcome.files["json"].read_text())["provenance"]["command"]
    assert command.startswith("adducir experiment experiments/pets.yaml --set 'table={decimals")


def test_what_the_footer_says_of_runs_and_topics(study: Study) -> None:
    study.change("measures: [nDCG@5", "  given: {run: data/a.run}\nmeasures: [nDCG@5")
    study.write("topics.tsv", "1\tcats", "2\tdogs", "77\tfrogs")
    outcome = study.run()
    text = " ".join(outcome.files["terminal"].read_text().split())
    assert re.search(r"run of given has at most 3 .* cutoff 5", text)
    assert "BM25, QLD lack 2 of the topics, which count 0: 3, 4." in text
    assert "1 topic of BM25, QLD (77)" in text
    outcome = study.run("depth=2", "measures=[P@1]", "table.system_names={given: ours}")
    text = " ".join(outcome.files["terminal"].read_text().split())
    assert "run of ours has at most 3 documents per topic, the searches 2." in text


def test_judgements_of_a_model_bounds_and_topics_needed(given: Study) -> None:
    """What the file asks its footer to say; `evaluate` says the same of the same runs."""
    qids = range(10)
    for name, order in (("a", "xyz"), ("b", "yzx")):
        ranking = {f"q{qid}": " ".join(order) for qid in qids}
        given.write(f"{name}.run", *run_lines(ranking))
    relevant = [f"q{qid} 0 {'xyz'[qid % 3]} 1" for qid in qids]
    given.write("qrels.txt", *relevant[:4])
    given.write("model.txt", *relevant)
    given.write("topics.tsv", *(f"q{qid}\ta query" for qid in qids))
    asked = (
        "topics.t.model_qrels=data/model.txt",
        "topics.t.judge=Judge 1",
        "unjudged=true",
        "comparison.topics_for=0.2",
        "measures=[AP, nDCG@2]",
    )
    footer = notes_of(given.run(*asked).table)
    for words in ("Topics needed", "Bounds of", "Prediction-powered", "difference to A on AP"):
        assert words in footer
    for wrong, key in (
        ("topics.t.judge=", "topics.t"),
        ("topics.t.qrels=data/model.txt", "topics.t.model_qrels"),
        ("measures=[AP]", "unjudged"),
    ):
        with pytest.raises(InputError, match=f"`{key}"):
            given.plan(*asked, wrong)


@pytest.mark.parametrize("engine", ["lucene", "memory"])
def test_german_documents_on_either_engine(tmp_path: Path, engine: str) -> None:
    study = Study(tmp_path)
    study.change("{corpus: pets, fields: [text]}", f"{{corpus: pets, engine: {engine}}}")
    study.write(
        "pets.jsonl", '{"docno": "d1", "text": "die Häuser"}', '{"docno": "d2", "text": ""}'
    )
    study.write("topics.tsv", "1\tein Haus")
    study.run("indexes.pets.language=de")
    assert read_run(study.path("BM25")).frame["docno"].to_list() == ["d1"]
    assert study.verbs("indexes.pets.language=de")["pets"] == "keep"
    assert study.verbs("indexes.pets.language=nl")["pets"] == "build"


def test_token_weights(tmp_path: Path) -> None:
    study = Study(tmp_path)
    study.change("fields: [text]}", "weights: data/w.jsonl, engine: memory}")
    study.change("model: qld", "model: impact")
    study.change("  BM25: {index: pets}", "  BM25: {run: data/a.run}")
    study.write("w.jsonl", *(f'{{"id": "d{n}", "vector": {{"x": {n}}}}}' for n in (1, 2, 3)))
    study.write("topics.tsv", "1\tx x")
    study.run()
    frame = read_run(study.path("QLD")).frame
    assert frame["docno"].to_list() == ["d3", "d2", "d1"]
    assert frame["score"].to_list() == [6, 4, 2]
    study.write("w.jsonl", '{"id": "d1", "vector": {"x": 1}}')
    assert study.verbs()["pets"] == "build"
