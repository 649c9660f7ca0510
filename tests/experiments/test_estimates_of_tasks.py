"""Estimates of evidence sets, known items and grounded generation: amounts from sizes alone."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parents[1] / name) for name in ("models", "encoders")]
sys.path += [str(Path(__file__).parents[1] / name) for name in ("rerankers", "selectors")]

from some_questions import some_questions
from some_spans import some_spans
from tiny import tiny_bert
from tiny_bart import tiny_bart

from adducir.datasets.evidence_sets.record_files import write_questions
from adducir.datasets.grounded import GroundedContext, write_contexts
from adducir.datasets.spans.record import MaskedSpan, write_spans
from adducir.experiments.experiment import plan_experiment
from adducir.experiments.work import BYTES_PER_TOKEN, Work, operations_in
from adducir.models.sizes import NetworkSize, network_size
from adducir.models.sources import ModelSource


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "experiments").mkdir()
    tiny_bert(tmp_path / "tiny")
    return tmp_path


def planned(place: Path, text: str) -> dict[str, Work | None]:
    """The work of each step of a study, by its path."""
    (place / "experiments" / "x.yaml").write_text(text)
    plan = plan_experiment(place / "experiments" / "x.yaml", dry_run=True)
    return {step.path.relative_to(place).as_posix(): step.work() for step in plan.steps}


def size_of(folder: Path) -> NetworkSize:
    size = network_size(ModelSource("x", folder))
    assert size is not None
    return size


EVIDENCE = """\
task: evidence-sets
data: {A: [{train: a.jsonl, validation: a.jsonl, test: b.jsonl}]}
systems:
  BM25: {selector: bm25}
  ours: {recipe: ours.yaml}
  drn: {recipe: drn.yaml}
seeds: [3]
precision: bfloat16
"""


def test_the_work_of_selecting_evidence(place: Path) -> None:
    for seed, name in enumerate("ab"):
        write_questions(some_questions(5, seed=seed), place / f"{name}.jsonl")
    recipe = "kind: complementary\nbase: tiny\ndata: {train: none.jsonl}\nlength: 32\n"
    (place / "ours.yaml").write_text(recipe)
    (place / "drn.yaml").write_text(recipe.replace("complementary", "drn"))
    found, size = planned(place, EVIDENCE), size_of(place / "tiny")
    text = (place / "b.jsonl").stat().st_size
    one = size.operations(text / BYTES_PER_TOKEN, 32)
    half = operations_in("bfloat16")
    assert half == "forward operations in bfloat16"
    bm25 = Work(("memory",), {"memory bytes": text})
    assert found["runs/x/A-1-BM25-untrained"] == bm25
    assert found["runs/x/A-1-ours-3"] == Work(("networks",), {half: one}, size.bytes)
    # DRN has two networks.
    drn = Work(("networks",), {half: 2 * one}, 2 * size.bytes)
    assert found["runs/x/A-1-drn-3"] == drn
    read, trained = found["rerankers/x/A-1-ours-3"], found["rerankers/x/A-1-drn-3"]
    assert read is not None
    assert trained is not None
    twice = {name: 2 * value for name, value in read.amounts.items()}
    assert trained.amounts == pytest.approx(twice)


KNOWN = """\
task: known-item
data:
  A: {spans: spans.jsonl, candidates: more.jsonl}
contexts: {L: {right: 0}}
systems:
  late: {maxsim: tiny, lengths: {context: 20}}
"""


def test_the_work_of_late_interaction(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spans, more = some_spans(6), [MaskedSpan("m", "other", (), ("a slow dog .",), ())]
    write_spans(spans, place / "spans.jsonl")
    write_spans(more, place / "more.jsonl")
    size = size_of(place / "tiny")
    files = (place / "spans.jsonl", place / "more.jsonl")
    text = sum(path.stat().st_size for path in files)
    candidates = sum(len(one.text) for one in [*spans, *more])

    def amounts(compared: float) -> Mapping[str, float]:
        return {
            "forward operations": size.operations(text / BYTES_PER_TOKEN, 256),
            "products": 2 * size.width * 20 * compared / BYTES_PER_TOKEN,
        }

    (work,) = planned(place, KNOWN).values()
    assert work is not None
    assert work.amounts == pytest.approx(amounts(len(spans) * candidates))
    # What a dry run does not read is taken to be candidates of 1,500 bytes, and as many contexts.
    monkeypatch.setattr("adducir.core.unread.LARGEST", 10)
    (work,) = planned(place, KNOWN).values()
    assert work is not None
    assert work.amounts == pytest.approx(amounts(text * text / 1500))


GROUNDED = """\
task: grounded-generation
data: {passages: passages.jsonl, train: train.jsonl, validation: held.jsonl, test: test.jsonl}
retriever: {base: tiny, network: NETWORK, adapter: 2, query_length: 8, document_length: 16}
generator: GENERATOR
closed: {depth: 4, precision: bfloat16}
systems:
  BM25: {bm25: {}}
  marginal:
    train:
      - loss: marginal
        sample: {k: 2}
        validation: {k: 3, sampler: top}
        training: {epochs: 5, precision: bfloat16}
cutoffs: [1]
"""
BART = "{bart: bart, input_length: 8, passage_length: 16, output_length: 8}"
DECODE = "decode: {passages: 2, beams: 3, max_length: 5, thorough: true}\n"
PASSAGES = 50


@pytest.fixture
def grounded(place: Path) -> Path:
    """A study's data: contexts are counted by bytes, 500 each, passages as the corpus has them."""
    words = " ".join(["cats"] * 12)
    for name, count in (("train", 20), ("held", 10), ("test", 5)):
        some = [GroundedContext(f"{name}{n}", words, words, ("p0",), f"{n}") for n in range(count)]
        write_contexts(some, place / f"{name}.jsonl")
    lines = [json.dumps({"docno": f"p{n}", "text": words * 9}) for n in range(PASSAGES)]
    (place / "passages.jsonl").write_text("\n".join(lines) + "\n")
    return place


def of_grounded(grounded: Path, network: str, generator: str, more: str = "") -> Mapping[str, Work]:
    text = GROUNDED.replace("NETWORK", network).replace("GENERATOR", generator)
    found = {}
    for name, work in planned(grounded, text + more).items():
        assert work is not None, name
        found[name] = work
    return found


def counted(grounded: Path) -> tuple[float, float, float, float]:
    """Passages, and contexts of each part."""
    sizes = [(grounded / f"{name}.jsonl").stat().st_size for name in ("train", "held", "test")]
    train, held, test = (size / 500 for size in sizes)
    return PASSAGES, train, held, test


def test_the_work_of_grounded_generation_with_a_frozen_network(grounded: Path) -> None:
    found = of_grounded(grounded, "frozen", "{lexical: 0.5}")
    size, (passages, train, held, test) = size_of(grounded / "tiny"), counted(grounded)
    queries = 2 * (train + held + test)
    vectors = found["encoders/x/vectors"]
    read = size.operations(8 * queries + 16 * passages, 16)
    assert vectors.amounts == pytest.approx({"forward operations": read})
    assert vectors.disk == pytest.approx(4 * size.width * (queries + passages))
    # Retriever and guide, of one vector a text, with an adapter of two columns, twice.
    closed = found["encoders/x/untrained/closed"]
    products = 2 * (train + held) * passages * 2 * size.width + 2 * size.width * 4 * passages
    assert closed.amounts == pytest.approx({"products": products})
    assert closed.memory > vectors.disk
    ranked = found["runs/x/BM25-0"].amounts
    text = (grounded / "passages.jsonl").stat().st_size
    assert ranked == pytest.approx({"memory bytes": text, "memory pairs": 2 * test * passages})
    phase = found["encoders/x/marginal-0/phase-1-1-marginal"].amounts
    # Five epochs, each with three passes and a validation, and three measures at the end.
    assert phase["lexical pairs"] == pytest.approx(5 * 3 * 2 * train + (5 + 3) * 3 * held)
    scored = found["encoders/x/marginal-0/likelihoods"].amounts
    assert scored == pytest.approx({"lexical pairs": 4 * test})


def test_the_work_of_grounded_generation_with_trained_networks(grounded: Path) -> None:
    tiny_bart(grounded / "bart")
    plain = of_grounded(grounded, "trained", BART)
    found = of_grounded(grounded, "trained", BART, DECODE)
    size, bart = size_of(grounded / "tiny"), size_of(grounded / "bart")
    passages, train, held, test = counted(grounded)
    pair = bart.operations(24, 24) + 2 * bart.operations(8, 8)

    def side(examples: float, k: int) -> float:
        layers = size.operations(8 * examples + 16 * k * examples, 16)
        return layers + 2 * size.width * 4 * (1 + k) * examples

    phase = found["encoders/x/marginal-0/phase-1-1-marginal"]
    trained = 15 * (side(train, 2) + 2 * train * pair)
    # The guide takes part in the measures alone.
    measured = (5 + 3) * (side(held, 3) + 3 * held * pair) + 3 * side(held, 3)
    assert phase.amounts == pytest.approx({"training operations in bfloat16": trained + measured})
    weights = 2 * size.bytes + bart.bytes
    assert phase.disk == weights
    assert phase.memory > 4 * weights
    closed = found["encoders/x/untrained/closed"].amounts
    encoded = {"forward operations in bfloat16": size.operations(16 * passages, 16)}
    queries = {"forward operations": size.operations(16 * (train + held), 16)}
    assert {name: closed[name] for name in encoded} == pytest.approx(encoded)
    assert {name: closed[name] for name in queries} == pytest.approx(queries)
    last = found["encoders/x/marginal-0/likelihoods"].amounts
    assert last == pytest.approx({"forward operations": 4 * test * pair})
    # Two passages, from each of which three texts are written and scored with both.
    name = "runs/x/marginal-0"
    written = 2 * (bart.operations(24, 24) + 3 * 2 * bart.operations(5, 5)) + 2 * 3 * 2 * pair
    more = found[name].amounts["forward operations"] - plain[name].amounts["forward operations"]
    assert more == pytest.approx(test * written)
