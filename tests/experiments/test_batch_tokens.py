"""``--batch-tokens`` of an experiment reaches all that networks compute in shards."""

import json
import sys
from functools import partial
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parents[1] / name) for name in ("models", "encoders", "selectors")]

from some_questions import some_questions
from some_spans import some_spans
from test_grounded_kills import study as grounded
from tiny import tiny_bert

from adducir.cli.app import main
from adducir.datasets.evidence_sets.record_files import write_questions
from adducir.datasets.spans.record import write_spans
from adducir.models.batches import batch_rule

RETRIEVAL = """
corpora:
  pets: {source: pets.jsonl}
  weighted: {expand: pets, model: deepct/tiny.yaml, scale: 10}
indexes:
  pets: {corpus: pets, engine: memory, fields: [text]}
  weighted: {corpus: weighted, engine: memory, fields: [weighted]}
  vectors: {corpus: pets, engine: dense, encoder: tiny, fields: [text]}
topics:
  t: {source: topics.tsv, qrels: q.qrels}
systems:
  BM25: {index: pets}
  Weighted: {index: weighted}
  Vectors: {index: vectors}
  Reranked: {rerank: BM25, by: "maxsim:tiny", depth: 3}
measures: [P@1]
"""
DEEPCT = """kind: deepct
corpus: {source: pets.jsonl}
text: text
reference: title
base: tiny
passages: {length: 20}
held_out: {share: 0}
training: {epochs: 1, batch_size: 4}
"""
KNOWN_ITEM = """task: known-item
data:
  A: {spans: spans.jsonl, part: test, shares: {train: 0.4, validation: 0.2, test: 0.4}}
contexts: {L: {right: 0}}
systems:
  zero: {encoder: tiny}
"""
SETS = """task: evidence-sets
data:
  A: [{train: a.jsonl, validation: b.jsonl, test: c.jsonl}]
systems:
  ours: {recipe: rerankers/sets.yaml}
"""
COMPLEMENTARY = "kind: complementary\nbase: tiny\ndata: {train: a.jsonl}\ntraining: {epochs: 1}\n"


def retrieval(folder: Path) -> None:
    rows = [
        {"docno": f"d{n}", "title": "cats run", "text": f"the cat {n} ran, dogs ran"}
        for n in range(8)
    ]
    (folder / "pets.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    (folder / "topics.tsv").write_text("1\tcat\n2\tdogs 3\n")
    (folder / "q.qrels").write_text("1 0 d1 1\n2 0 d3 1\n")
    (folder / "deepct" / "tiny.yaml").write_text(DEEPCT)
    (folder / "experiments" / "x.yaml").write_text(RETRIEVAL)


def known_item(folder: Path) -> None:
    write_spans(some_spans(30, groups=9), folder / "spans.jsonl")
    (folder / "experiments" / "x.yaml").write_text(KNOWN_ITEM)


def evidence_sets(folder: Path) -> None:
    for seed, name in enumerate("abc"):
        write_questions(some_questions(4, seed=seed), folder / f"{name}.jsonl")
    (folder / "rerankers" / "sets.yaml").write_text(COMPLEMENTARY)
    (folder / "experiments" / "x.yaml").write_text(SETS)


@pytest.mark.parametrize(
    ("write", "modules"),
    [
        (retrieval, ["deepct.weighting", "encoders.encoding", "rerankers.work"]),
        (known_item, ["encoders.span_work"]),
        (evidence_sets, ["selectors.work"]),
        (grounded, ["hindsight.encoding"]),
    ],
    ids=["retrieval", "known-item", "evidence-sets", "grounded-generation"],
)
def test_it_reaches_the_work_of_every_kind(tmp_path, monkeypatch, write, modules) -> None:
    folder = tmp_path / "study"
    if write is not grounded:
        for room in ("experiments", "deepct", "rerankers"):
            (folder / room).mkdir(parents=True)
        tiny_bert(folder / "tiny")
    write(folder)
    monkeypatch.chdir(folder)
    found: list[tuple[str, int | None]] = []

    def seen(module: str, budget: int | None):
        found.append((module, budget))
        return batch_rule(budget)

    for module in modules:
        monkeypatch.setattr(f"adducir.{module}.batch_rule", partial(seen, module))
    given = ["experiment", "experiments/x.yaml", "--threads", "1", "--device", "cpu"]
    assert main([*given, "--batch-tokens", "600"]) == 0
    assert set(found) == {(module, 600) for module in modules}
