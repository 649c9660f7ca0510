"""``--batch-tokens`` of an experiment reaches all that networks compute but trainings."""

import json
import sys
from functools import partial
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parents[1] / name) for name in ("models", "encoders")]
sys.path += [
    str(Path(__file__).parents[1] / "studies" / name)
    for name in ("complementary_evidence", "grounded_generation")
]

from some_questions import some_questions
from some_spans import some_spans
from test_grounded_kills import study as grounded
from tiny import tiny_bert
from tiny_bart import tiny_bart

from adducir.cli.app import main
from adducir.corpora.spans import write_spans
from adducir.models.batches import batch_rule, token_batches
from adducir.studies.complementary_evidence.questions import write_questions

GROUNDED = "studies.grounded_generation"
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
training: {epochs: 1, batch_size: 4, patience: null}
"""
KNOWN_ITEM = """task: known-item
data:
  A: {spans: spans.jsonl, part: test, shares: {train: 0.4, validation: 0.2, test: 0.4}}
contexts: {L: {right: 0}}
systems:
  zero: {encoder: tiny}
  late: {maxsim: tiny}
"""
GENERATION = """generator: {bart: bart, input_length: 8, passage_length: 16, output_length: 8}
decode: {passages: 1, beams: 1, max_length: 3, min_length: 1}
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


def generation(folder: Path) -> None:
    grounded(folder)
    tiny_bart(folder / "bart")
    with (folder / "experiments" / "x.yaml").open("a") as file:
        file.write(GENERATION)
    tests = (folder / "test.jsonl").read_text().splitlines(keepends=True)
    (folder / "test.jsonl").write_text("".join(tests[:20]))


def evidence_sets(folder: Path) -> None:
    for seed, name in enumerate("abc"):
        write_questions(some_questions(4, seed=seed), folder / f"{name}.jsonl")
    (folder / "rerankers" / "sets.yaml").write_text(COMPLEMENTARY)
    (folder / "experiments" / "x.yaml").write_text(SETS)


@pytest.mark.parametrize(
    ("write", "rules", "batches"),
    [
        (
            retrieval,
            ["deepct.weighting", "encoders.encoding", "rerankers.work"],
            ["deepct.model", "encoders.model", "rerankers.colbert"],
        ),
        (
            known_item,
            ["encoders.span_work", "encoders.token_work"],
            ["encoders.model", "encoders.token_work"],
        ),
        (evidence_sets, ["studies.complementary_evidence.selectors.work"], []),
        (
            generation,
            [
                "encoders.token_work",
                f"{GROUNDED}.hindsight.decoding",
                f"{GROUNDED}.hindsight.posterior",
            ],
            ["encoders.token_work", f"{GROUNDED}.generators.seq2seq"],
        ),
    ],
    ids=["retrieval", "known-item", "evidence-sets", "grounded-generation"],
)
def test_it_reaches_the_work_of_every_kind(tmp_path, monkeypatch, write, rules, batches) -> None:
    folder = tmp_path / "study"
    if write is not generation:
        for room in ("experiments", "deepct", "rerankers"):
            (folder / room).mkdir(parents=True)
        tiny_bert(folder / "tiny")
    write(folder)
    monkeypatch.chdir(folder)
    found: list[tuple[str, int | None]] = []

    def seen_rule(module: str, budget: int | None):
        found.append((f"{module}.batch_rule", budget))
        return batch_rule(budget)

    def seen_batches(module: str, lengths, budget=None, device=None):
        found.append((f"{module}.token_batches", budget))
        return token_batches(lengths, budget, device)

    rules = [f"{module}.batch_rule" for module in rules]
    batches = [f"{module}.token_batches" for module in batches]
    for names, seen in ((rules, seen_rule), (batches, seen_batches)):
        for name in names:
            module = name.rpartition(".")[0]
            monkeypatch.setattr(f"adducir.{name}", partial(seen, module))
    given = ["experiment", "experiments/x.yaml", "--threads", "1", "--device", "cpu"]
    assert main([*given, "--batch-tokens", "600"]) == 0
    assert set(found) == {(name, 600) for name in (*rules, *batches)}
