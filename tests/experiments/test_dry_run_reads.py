"""A dry run opens no large file of data, whatever the task; what it then knows and says."""

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

sys.path += [
    str(Path(__file__).parents[1] / name)
    for name in ("models", "encoders", "rerankers", "studies/complementary_evidence")
]

from experiment_studies import DOCUMENTS, Study
from some_questions import some_questions
from some_spans import some_spans
from tiny import tiny_bert

from adducir.core import fingerprint as digests
from adducir.core.absent import LARGEST, Unread, leaving_unread
from adducir.core.errors import InputError, UsageError
from adducir.core.files import cache_folder
from adducir.core.fingerprint import fingerprint, is_known, source_digest, unread_file
from adducir.corpora.spans import write_spans
from adducir.experiments.experiment import plan_experiment, run_experiment
from adducir.experiments.plan import Plan
from adducir.studies.complementary_evidence.questions import write_questions
from adducir.studies.grounded_generation.contexts import GroundedContext, write_contexts

RETRIEVAL = """\
corpora:
  pets: {source: data/pets.jsonl}
  weighted: {expand: pets, model: deepct/words.yaml}
indexes:
  pets: {corpus: pets, engine: memory}
  weighted: {corpus: weighted, engine: memory}
  dense: {corpus: pets, engine: dense, encoder: tiny}
  impact: {corpus: pets, engine: memory, weights: data/weights.jsonl}
topics:
  t: {source: data/topics.tsv, qrels: data/qrels.txt}
systems:
  BM25: {index: pets}
  DeepCT: {index: weighted}
  dense: {index: dense}
  impact: {index: impact, model: impact}
  tuned: {index: pets, tune: {grid: {k1: [0.5, 1]}, folds: {k: 2}}}
  ours: {rerank: BM25, by: rerankers/pairs.yaml}
  mono: {rerank: BM25, by: "cross-encoder:tiny"}
  given: {run: data/a.run}
  fused: {fuse: [BM25, dense]}
measures: [nDCG@5]
"""
KNOWN_ITEM = """\
task: known-item
data:
  A: {spans: spans.jsonl, candidates: more.jsonl}
  B: {relic: relic.json}
contexts: {L: {right: 0}}
systems:
  BM25: {bm25: {}}
  zero: {encoder: tiny}
  late: {maxsim: tiny}
  ours: {train: encoders/tiny.yaml}
"""
SETS = """\
task: evidence-sets
data:
  A: [{train: a.jsonl, validation: v.jsonl, test: b.jsonl}]
systems:
  ours: {recipe: rerankers/ours.yaml}
"""
GROUNDED = """\
task: grounded-generation
data: {passages: passages.jsonl, train: train.jsonl, validation: held.jsonl, test: test.jsonl}
retriever: {base: tiny, adapter: 2}
systems:
  untrained: {untrained: {}}
  marginal:
    train: [{loss: marginal, rounds: 1, sample: {sampler: retriever}, training: {epochs: 1}}]
"""

_opened: list[str] | None = None


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event == "open" and isinstance(arguments[0], str | bytes):
        _opened.append(os.fsdecode(arguments[0]))


sys.addaudithook(_heard)


@contextmanager
def opened() -> Iterator[list[str]]:
    """The files that are opened within the block, by any means."""
    global _opened
    found: list[str] = []
    _opened = found
    try:
        yield found
    finally:
        _opened = None


def grow(path: Path) -> None:
    """Make a file larger than a dry run reads; what is added is nothing that could be read."""
    with path.open("a") as file:
        file.truncate(LARGEST + 1000)


def dry_run(file: Path) -> tuple[Plan, list[str], list[str]]:
    """A dry run's plan, what it prints, and the names of the large files that it opened."""
    with opened() as found:
        plan = plan_experiment(file, dry_run=True)
        lines = [*plan.lines(), *plan.notes()]
    there = [Path(name) for name in found if Path(name).is_file()]
    return plan, lines, [path.name for path in there if path.stat().st_size > LARGEST]


@pytest.fixture
def retrieval(tmp_path: Path) -> Study:
    """Indexes of every engine, an expanded corpus, rerankers trained and not, runs."""
    study = Study(tmp_path / "study", RETRIEVAL)
    for name in ("deepct", "rerankers"):
        (study.folder / name).mkdir()
    tiny_bert(study.folder / "tiny", kind="BertForSequenceClassification")
    study.write("weights.jsonl", json.dumps({"id": "d1", "vector": {"cat": 2}}))
    study.write("pairs.jsonl", json.dumps({"query": "cats", "text": "a cat", "label": 1}))
    (study.folder / "deepct" / "words.yaml").write_text(
        "kind: deepct\nbase: tiny\ncorpus: {source: data/pets.jsonl}\n"
        "text: text\nreference: title\n"
    )
    (study.folder / "rerankers" / "pairs.yaml").write_text(
        "kind: cross-encoder\nbase: tiny\nexamples: {pairs: data/pairs.jsonl}\n"
    )
    return study


def test_retrieval_opens_no_large_file(retrieval: Study) -> None:
    for name in ("pets.jsonl", "weights.jsonl", "pairs.jsonl"):
        grow(retrieval.folder / "data" / name)
    grow(retrieval.folder / "tiny" / "model.safetensors")
    _, lines, large = dry_run(retrieval.file)
    assert large == []
    verbs = [line.split()[0] for line in lines]
    assert verbs.count("build") == 4
    assert verbs.count("train") == 2
    assert verbs.count("weight") == 1
    assert {"search", "tune", "rerank", "fuse", "read"} <= set(verbs)
    assert not [line for line in lines if "unknown" in line]
    (note,) = [line for line in lines if line.startswith("not read: ")]
    assert "data/pets.jsonl: 17 MB, which a dry run does not read; needed by indexes.pets" in note


def test_small_files_are_read_and_their_errors_found(retrieval: Study) -> None:
    grow(retrieval.folder / "data" / "pairs.jsonl")
    (retrieval.folder / "data" / "qrels.txt").write_text("9 0 d1 1\n")
    with pytest.raises(InputError, match="no qid in common"):
        plan_experiment(retrieval.file, dry_run=True)


@pytest.mark.parametrize(("name", "unknown"), [("topics.tsv", 8), ("qrels.txt", 8), ("a.run", 1)])
def test_large_topics_leave_their_runs_unknown(retrieval: Study, name: str, unknown: int) -> None:
    grow(retrieval.folder / "data" / name)
    plan, lines, large = dry_run(retrieval.file)
    assert large == []
    assert sum(not is_known(step.fingerprint) for step in plan.goals) >= unknown
    (note,) = [line for line in lines if line.startswith("not read: ")]
    assert f"{name}: 17 MB, which a dry run does not read; needed by " in note


def test_absent_large_data_stay_a_note(retrieval: Study) -> None:
    (retrieval.folder / "data" / "pairs.jsonl").unlink()
    _, lines, _ = dry_run(retrieval.file)
    assert any(line.startswith("not available: ") and "pairs.jsonl" in line for line in lines)


def test_a_folder_of_small_files_is_one_large_source(tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    study.change("{source: data/pets.jsonl}", "{source: data/pets}")
    study.change("fields: [text]", "engine: memory")
    (study.folder / "data" / "pets").mkdir()
    for number in range(20):
        path = study.folder / "data" / "pets" / f"{number}.jsonl"
        path.write_text(json.dumps({"docno": f"d{number}", "text": "x" * (1 << 20)}) + "\n")
    with opened() as found:
        plan_experiment(study.file, dry_run=True).lines()
    assert not any("data/pets/" in name for name in found)


def spans_study(folder: Path) -> Path:
    for name in ("encoders", "experiments"):
        (folder / name).mkdir()
    tiny_bert(folder / "tiny", kind="BertForSequenceClassification")
    write_spans(some_spans(30, groups=9), folder / "spans.jsonl")
    for name in ("more.jsonl", "relic.json", "learnt.jsonl"):
        shutil.copy(folder / "spans.jsonl", folder / name)
    (folder / "encoders" / "tiny.yaml").write_text("base: tiny\ndata: {train: learnt.jsonl}\n")
    (folder / "experiments" / "study.yaml").write_text(KNOWN_ITEM)
    return folder / "experiments" / "study.yaml"


def test_known_item_opens_no_large_file(tmp_path: Path) -> None:
    file = spans_study(tmp_path)
    for name in ("spans.jsonl", "relic.json", "learnt.jsonl"):
        grow(tmp_path / name)
    with opened() as found:
        lines = plan_experiment(file, dry_run=True).lines()
    assert not {Path(name).name for name in found} & {"spans.jsonl", "relic.json", "learnt.jsonl"}
    assert sum(line.startswith("rank") for line in lines) == 2 * 4
    assert sum(line.startswith("train") for line in lines) == 1
    assert lines[1] == "rank   runs/study/A/BM25/L: BM25, L"


@pytest.mark.parametrize("names", [("a", "v", "b"), ("a",), ("b",)])
def test_evidence_sets_open_no_large_file(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in ("rerankers", "experiments"):
        (tmp_path / name).mkdir()
    tiny_bert(tmp_path / "tiny", kind="BertForSequenceClassification")
    for seed, name in enumerate(("a", "v", "b")):
        write_questions(some_questions(5, seed=seed), tmp_path / f"{name}.jsonl")
    (tmp_path / "rerankers" / "ours.yaml").write_text(
        "kind: complementary\nbase: tiny\ndata: {train: none.jsonl}\n"
    )
    file = tmp_path / "experiments" / "sets.yaml"
    file.write_text(SETS)
    for name in names:
        grow(tmp_path / f"{name}.jsonl")
    _, lines, large = dry_run(file)
    assert large == []
    assert [line.split()[0] for line in lines[:2]] == ["train", "select"]
    assert any(line.startswith("not read: ") and f"/{names[0]}.jsonl: " in line for line in lines)


def test_grounded_generation_opens_no_large_file(tmp_path: Path) -> None:
    tiny_bert(tmp_path / "tiny", kind="BertForSequenceClassification")
    (tmp_path / "experiments").mkdir()
    for number, name in enumerate(("train", "held", "test")):
        context = GroundedContext(f"c{number}", "cats", "dogs", ("p1",))
        write_contexts([context], tmp_path / f"{name}.jsonl")
        grow(tmp_path / f"{name}.jsonl")
    (tmp_path / "passages.jsonl").write_text('{"docno": "p1", "text": "a cat"}\n')
    grow(tmp_path / "passages.jsonl")
    file = tmp_path / "experiments" / "study.yaml"
    file.write_text(GROUNDED)
    _, lines, large = dry_run(file)
    assert large == []
    steps = ["encode", "rank", "train", "answer", "answer"]
    assert [line.split()[0] for line in lines[: len(steps)]] == steps


@pytest.fixture
def grown(tmp_path: Path) -> Study:
    """A study whose corpus is large and can be read."""
    study = Study(tmp_path / "study")
    study.change("fields: [text]", "engine: memory")
    lines = [
        json.dumps({"docno": docno, "text": text, "note": " " * (2 << 20)})
        for docno, text in DOCUMENTS.items()
    ]
    study.write("pets.jsonl", *lines)
    time.sleep(0.06)  # a file's times are sure when the clock has gone on
    return study


def test_what_a_run_has_read_is_known_to_a_dry_run(grown: Study) -> None:
    _, lines, large = dry_run(grown.file)
    assert large == []
    assert [line.split()[0] for line in lines[:3]] == ["build", "search", "search"]
    grown.run()
    digests._known.clear()  # as in another process
    _, lines, large = dry_run(grown.file)
    assert large == []
    assert [line.split()[0] for line in lines[:3]] == ["keep", "keep", "keep"]
    assert list(grown.plan().lines())[:3] == lines[:3]
    # Another content of the same length may stand in it now.
    os.utime(grown.folder / "data" / "pets.jsonl")
    _, lines, large = dry_run(grown.file)
    assert large == []
    assert lines[0] == (
        "build  index indexes/pets of data/pets.jsonl: whether it is up to date is unknown until "
        "data/pets.jsonl is read"
    )
    assert sum("is up to date is unknown until" in line for line in lines) == 3
    assert all(not line.startswith("build") for line in grown.plan().lines())


def test_without_its_cache_a_dry_run_knows_less(grown: Study) -> None:
    grown.run()
    digests._known.clear()
    cache = cache_folder()
    assert cache is not None
    shutil.rmtree(cache / "digests")
    _, lines, large = dry_run(grown.file)
    assert large == []
    assert "unknown until data/pets.jsonl is read" in lines[0]
    grown.change("{corpus: pets, engine: memory}", "{corpus: pets, engine: memory, vectors: false}")
    assert "unknown until" in dry_run(grown.file)[1][0]


def test_a_dry_runs_plan_is_not_run(tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    with pytest.raises(UsageError, match="dry run"):
        run_experiment(study.plan(dry_run=True))


def test_a_fingerprint_over_what_was_not_read_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / 'a "file".jsonl'
    path.write_text("x")
    grow(path)
    with leaving_unread(Unread()):
        digest = source_digest(path)
    nested = fingerprint({"a": [fingerprint({"b": f"files:{digest}"})], "c": 1})
    for one in (digest, nested):
        assert not is_known(one)
        assert unread_file(one) == path
    assert nested != fingerprint({"a": [fingerprint({"b": f"files:{digest}"})], "c": 2})
    assert is_known(fingerprint({"a": str(path)}))
    assert len(source_digest(path)) == 64
