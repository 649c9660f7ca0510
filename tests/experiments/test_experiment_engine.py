"""An experiment on either engine gives the same table."""

from pathlib import Path

import pytest
from experiment_studies import Study

from adducir.indexes import MemoryIndex
from adducir.indexes.models import BM25Plus, Okapi
from adducir.runs.read import read_run

DEMO = Path(__file__).parents[2] / "experiments" / "demo.yaml"


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


@pytest.mark.parametrize("engine", ["lucene", "memory"])
def test_german_documents(tmp_path: Path, engine: str) -> None:
    study = Study(tmp_path)
    study.change("{corpus: pets, fields: [text]}", f"{{corpus: pets, engine: {engine}}}")
    study.write(
        "pets.jsonl", '{"docno": "d1", "text": "die Häuser"}', '{"docno": "d2", "text": ""}'
    )
    study.write("topics.tsv", "1\tein Haus")
    study.run("indexes.pets.language=de")
    assert read_run(study.path("BM25")).frame["docno"].to_list() == ["d1"]
    assert study.verbs("indexes.pets.language=de")["pets"] != "build"
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
    assert study.verbs()["pets"] == "keep"
    study.write("w.jsonl", '{"id": "d1", "vector": {"x": 1}}')
    assert study.verbs()["pets"] == "build"
    study.run()
    assert read_run(study.path("QLD")).frame["docno"].to_list() == ["d1"]
