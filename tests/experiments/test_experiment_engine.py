"""An experiment on either engine gives the same table."""

from pathlib import Path

from experiment_studies import Study

from adducir.experiments.planner import plan_experiment
from adducir.experiments.runner import run_experiment
from adducir.indexes import MemoryIndex
from adducir.indexes.models import BM25Plus, Okapi
from adducir.runs.read import read_run

DEMO = Path(__file__).parents[2] / "experiments" / "demo.yaml"


def test_the_demo_is_the_same_on_both_engines(tmp_path: Path) -> None:
    tables = {}
    for engine in ("lucene", "memory"):
        override = f"indexes.arguments.engine={engine}"
        plan = plan_experiment(DEMO, (override,), folder=tmp_path / engine)
        tables[engine] = run_experiment(plan).files["per-topic"].read_text()
        again = plan_experiment(DEMO, (override,), folder=tmp_path / engine)
        assert not again.needed(again.state)
    assert tables["lucene"] == tables["memory"]


def test_variants_and_all_documents(tmp_path: Path) -> None:
    study = Study(tmp_path)
    study.change("{corpus: pets, fields: [text]}", "{corpus: pets, engine: memory}")
    study.change("model: qld", "model: okapi, b: 0.5")
    study.change("  BM25: {index: pets}", "  BM25: {index: pets, model: bm25+}")
    study.run("depth=all", "measures=[nDCG@2000]")
    index = MemoryIndex(tmp_path / "indexes" / "pets")
    for system, model in (("QLD", Okapi(b=0.5)), ("BM25", BM25Plus())):
        run = read_run(study.path(system))
        topics = study.plan().study.topic_sets["t"].topics
        found = index.search(topics.queries, model, depth=None).frame(topics.qids)
        assert run.frame["docno"].to_list() == found["docno"].to_list()
        assert run.frame["score"].to_list() == found["score"].to_list()
