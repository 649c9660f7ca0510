"""Commands and experiment files compute in one precision, and all that is made says which."""

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "models"))

from tiny import tiny_bert

from adducir.cli.app import main
from adducir.core.artifacts import read_manifest
from adducir.runs.metadata import read_metadata

EXPERIMENT = """
corpora:
  pets: {source: pets.jsonl}
indexes:
  vectors: {corpus: pets, engine: dense, encoder: tiny}
topics:
  t: {source: topics.tsv, qrels: q.qrels}
systems:
  Vectors: {index: vectors}
  Reranked: {rerank: Vectors, by: "maxsim:tiny", depth: 3}
measures: [P@1]
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments").mkdir()
    tiny_bert(tmp_path / "tiny")
    rows = [{"docno": f"d{n}", "text": f"the cat {n} ran, dogs ran"} for n in range(8)]
    (tmp_path / "pets.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    (tmp_path / "topics.tsv").write_text("1\tcat\n2\tdogs 3\n")
    (tmp_path / "q.qrels").write_text("1 0 d1 1\n2 0 d3 1\n")
    (tmp_path / "experiments" / "x.yaml").write_text(EXPERIMENT)
    return tmp_path


def test_an_index_of_the_command_is_the_one_of_the_experiment(study):
    command = "index pets.jsonl --engine dense --encoder tiny -o indexes/vectors"
    assert main(command.split()) == 0
    built = read_manifest(study / "indexes" / "vectors")
    assert main(["experiment", "experiments/x.yaml"]) == 0
    assert read_manifest(study / "indexes" / "vectors") == built
    assert main([*command.split(), "--set", "precision=bfloat16"]) == 0
    other = read_manifest(study / "indexes" / "vectors")
    assert (built.recipe["precision"], other.recipe["precision"]) == ("float32", "bfloat16")


def test_what_is_made_says_its_precision(study):
    for command in (
        "encode -m tiny -c pets.jsonl -o vectors",
        "index pets.jsonl --engine dense --encoder tiny -o indexes/vectors",
        "search -i indexes/vectors -t topics.tsv -o runs/a.trec",
        "rerank -r runs/a.trec -t topics.tsv -c pets.jsonl -m maxsim:tiny -o runs/b.trec",
    ):
        assert main(command.split()) == 0
    assert read_manifest(study / "vectors").recipe["precision"] == "float32"
    searched, reranked = (read_metadata(study / "runs" / f"{run}.trec")["method"] for run in "ab")
    assert searched["retrieval"][0]["precision"] == "float32"
    assert reranked["retrieval"] == searched["retrieval"]
    assert reranked["reranking"][0]["precision"] == "float32"
