"""A dry run: it lists what is not available, checks the rest, opens no large file, no network."""

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
from experiment_studies import DOCUMENTS, Study
from some_questions import some_questions
from some_spans import some_spans
from tiny import tiny_bert

from adducir.cli.app import main
from adducir.core.errors import InputError, UsageError
from adducir.core.planning import LARGEST
from adducir.corpora.spans import write_spans
from adducir.experiments.experiment import ExperimentPlan, plan_experiment, run_experiment
from adducir.studies.complementary_evidence.questions import write_questions
from adducir.studies.grounded_generation.texts import GroundedContext, write_contexts

ROOT = Path(__file__).parents[2]
FILES = sorted(path.name for path in (ROOT / "experiments").glob("*.yaml"))
LACKING = {
    "touche.yaml": (
        "the documents of argsme/2020-04-01,",
        "the topics of argsme/2020-04-01/touche-2020-task-1,",
        "the judgements of argsme/2020-04-01/touche-2021-task-1,",
        "${ADDUCIR_COLLECTIONS}/touche/runs/2020/best-ndcg.txt:",
        "the model bert-base-uncased,",
    ),
    "exemplification.yaml": ("data/examples-eli5-test.jsonl.gz:", "the model roberta-base,"),
    "hindsight-wow.yaml": ("data/hindsight/passages.jsonl.gz:", "the model facebook/bart-base,"),
    "complementary-evidence.yaml": ("data/hotpotqa50.test.jsonl.gz:",),
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study's folder as it is committed: files and recipes, no data."""
    folder = tmp_path_factory.mktemp("bare") / "study"
    for name in ("experiments", "deepct", "rerankers", "encoders"):
        (folder / name).mkdir(parents=True)
        for path in [*(ROOT / name).glob("*.yaml"), *(ROOT / name).glob("*.py")]:
            shutil.copy(path, folder / name)
    return folder


def test_every_study_plans_without_data_and_network(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called: list[str] = []

    def refuse(*arguments: Any) -> None:
        called.append(str(arguments[-1]))
        raise OSError("no network")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    monkeypatch.chdir(bare)
    monkeypatch.delenv("ADDUCIR_COLLECTIONS", raising=False)
    monkeypatch.setenv("IR_DATASETS_HOME", str(bare / ".none"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(bare / ".none"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("nltk.data.path", [])
    found = {}
    for name in FILES:
        code = main(["experiment", f"experiments/{name}", "--dry-run"])
        found[name] = code, capsys.readouterr().out
    assert called == []
    assert {path.name for path in bare.iterdir()} - {".none"} == {
        *("experiments", "deepct", "rerankers", "encoders")
    }
    for name, (code, out) in found.items():
        notes = [line for line in out.splitlines() if line.startswith("not available: ")]
        missing = "no such file" in out or "does not exist" in out or "is not set" in out
        assert code == (3 if missing else 0), name
        assert all("; needed by " in note for note in notes)
        assert bool(notes) == (name != "demo.yaml")
        assert "keep" not in [line.split()[0] for line in out.splitlines()]
        for what in LACKING.get(name, ()):
            assert sum(what in note for note in notes) == 1, what
    runs = [line for line in found["touche.yaml"][1].splitlines() if line.split()[1] == "run"]
    assert sum(not line.startswith("read") for line in runs) == 70


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("touche", "measures=[nDGC@5]", "nDGC"),
        ("touche", "systems.DLM tuned.tune.grid.mu=[-1]", "mu"),
        ("touche", "systems.BM25+LiT5.by=rerankers/lit6.yaml", "lit6.yaml"),
        ("touche", "corpora.c-all.model=deepct/argsme-d-all.yaml", "argsme-d-all.yaml"),
        ("touche-lexical", "comparison.baseline=BM52", "BM52"),
        ("exemplification", "systems.BM25.bm25.k=1", "k"),
        ("exemplification", "systems.EGRET.set=[training.epoch=1]", "epoch"),
        ("complementary-evidence", "systems.ours.set=[training.epoch=1]", "epoch"),
    ],
)
def test_mistakes_stay_errors_where_the_data_are_absent(
    name: str, change: str, message: str, bare: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(bare)
    monkeypatch.delenv("ADDUCIR_COLLECTIONS", raising=False)
    assert main(["experiment", f"experiments/{name}.yaml", "--dry-run", "--set", change]) == 3
    assert message in capsys.readouterr().err


def test_a_run_without_data_is_refused_before_anything_is_built(
    bare: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(bare)
    monkeypatch.delenv("ADDUCIR_COLLECTIONS", raising=False)
    assert main(["experiment", "experiments/exemplification.yaml"]) == 3
    err = capsys.readouterr().err
    assert len({word for word in err.split() if word.endswith(".gz:")}) == 4
    assert not (bare / "runs").exists()


RETRIEVAL = """\
corpora:
  pets: {source: data/pets.jsonl}
  weighted: {expand: pets, model: deepct/words.yaml}
indexes:
  pets: {corpus: pets, engine: memory}
  weighted: {corpus: weighted, engine: memory}
  dense: {corpus: pets, engine: dense, encoder: tiny, pooling: mean, similarity: dot}
  impact: {corpus: pets, engine: memory, weights: data/weights.jsonl}
topics:
  t: {source: data/topics.tsv, qrels: data/qrels.txt}
systems:
  BM25: {index: pets}
  DeepCT: {index: weighted}
  dense: {index: dense}
  impact: {index: impact, model: impact}
  tuned: {index: pets, tune: {grid: {k1: [0.5, 1]}, folds: {k: 2}}}
  ours: {rerank: BM25, reranker: rerankers/pairs.yaml}
  mono: {rerank: BM25, reranker: "cross-encoder:classifier"}
  given: {run: data/a.run}
  fused: {fuse: [BM25, dense]}
measures: [nDCG@5]
"""
KNOWN_ITEM = """\
task: known-item
data: {A: {spans: train.jsonl, candidates: test.jsonl}, B: {relic: relic.json}}
contexts: {L: {right: 0}}
systems:
  BM25: {bm25: {}}
  zero: {encoder: tiny, pooling: mean, similarity: dot}
  late: {maxsim: tiny}
  ours: {train: encoders/tiny.yaml}
"""
SETS = """\
task: evidence-sets
data: {A: [{train: train.jsonl, validation: held.jsonl, test: test.jsonl}]}
systems: {ours: {recipe: rerankers/ours.yaml}}
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
RECIPES = {
    "encoders/tiny": "base: tiny\ndata: {train: train.jsonl}\n",
    "rerankers/ours": "kind: complementary\nbase: tiny\ndata: {train: none.jsonl}\n",
    "rerankers/pairs": "kind: cross-encoder\nbase: tiny\n"
    "examples: {corpus: {source: data/pets.jsonl}, topics: data/t.tsv, qrels: data/t.qrels}\n",
    "deepct/words": "kind: deepct\nbase: tiny\ncorpus: {source: data/pets.jsonl}\n"
    "text: text\nreference: title\n",
}

_opened: list[str] | None = None


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event == "open" and isinstance(arguments[0], str | bytes):
        _opened.append(os.fsdecode(arguments[0]))


sys.addaudithook(_heard)


@contextmanager
def opened() -> Iterator[list[str]]:
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


def dry_run(file: Path) -> tuple[ExperimentPlan, list[str]]:
    """A dry run's plan and what it prints; no large file may be opened for it."""
    with opened() as found:
        plan = plan_experiment(file, dry_run=True)
        lines = [*plan.lines(), *plan.planner.notes()]
    there = [Path(name) for name in found if Path(name).is_file()]
    assert [path for path in there if path.stat().st_size > LARGEST] == []
    return plan, lines


def with_recipes(folder: Path) -> None:
    for name, text in RECIPES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.yaml").write_text(text)
    tiny_bert(folder / "tiny")
    tiny_bert(folder / "classifier", kind="BertForSequenceClassification")


@pytest.fixture
def retrieval(tmp_path: Path) -> Study:
    """Indexes of every engine, an expanded corpus, rerankers trained and not, runs."""
    study = Study(tmp_path / "study", RETRIEVAL)
    with_recipes(study.folder)
    study.write("weights.jsonl", json.dumps({"id": "d1", "vector": {"cat": 2}}))
    study.write("t.tsv", "1\tcats")
    study.write("t.qrels", "1 0 d1 1")
    return study


def test_retrieval_opens_no_large_file(retrieval: Study) -> None:
    for name in ("pets.jsonl", "weights.jsonl"):
        grow(retrieval.folder / "data" / name)
    grow(retrieval.folder / "tiny" / "model.safetensors")
    _, lines = dry_run(retrieval.file)
    verbs = [line.split()[0] for line in lines]
    counts = {verb: verbs.count(verb) for verb in ("build", "train", "weight")}
    assert counts == {"build": 4, "train": 2, "weight": 1}
    assert {"search", "tune", "rerank", "fuse", "read"} <= set(verbs)
    assert not [line for line in lines if "unknown" in line]
    (note,) = [line for line in lines if line.startswith("not read: ")]
    assert "data/pets.jsonl: 17 MB, which a dry run does not read; needed by indexes.pets" in note
    # Small files are read, and their errors found.
    (retrieval.folder / "data" / "qrels.txt").write_text("9 0 d1 1\n")
    with pytest.raises(InputError, match="do not share qids"):
        plan_experiment(retrieval.file, dry_run=True)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (KNOWN_ITEM, ["train", "rank"]),
        (SETS, ["train", "select"]),
        (GROUNDED, ["encode", "rank", "train", "answer"]),
    ],
    ids=["known-item", "evidence-sets", "grounded-generation"],
)
def test_no_task_opens_a_large_file(text: str, steps: list[str], tmp_path: Path) -> None:
    with_recipes(tmp_path)
    for number, name in enumerate(("train", "held", "test")):
        path = tmp_path / f"{name}.jsonl"
        if text == KNOWN_ITEM:
            write_spans(some_spans(30, groups=9), path)
        elif text == SETS:
            write_questions(some_questions(5, seed=number), path)
        else:
            write_contexts([GroundedContext(f"c{number}", "cats", "dogs", ("p1",))], path)
        grow(path)
    for name in ("relic.json", "passages.jsonl"):
        (tmp_path / name).write_text('{"docno": "p1", "text": "a cat"}\n')
        grow(tmp_path / name)
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "study.yaml").write_text(text)
    _, lines = dry_run(tmp_path / "experiments" / "study.yaml")
    verbs = [line.split()[0] for line in lines]
    assert list(dict.fromkeys(verbs))[: len(steps)] == steps


def test_what_a_run_has_read_is_known_to_a_dry_run(tmp_path: Path, capsys) -> None:
    study = Study(tmp_path / "study")
    study.change("fields: [text]", "engine: memory")
    rows = [{"docno": docno, "text": text} for docno, text in DOCUMENTS.items()]
    study.write("pets.jsonl", *(json.dumps({**row, "note": " " * (2 << 20)}) for row in rows))
    time.sleep(0.3)  # a file's times are sure when the clock has gone on

    def verbs() -> list[str]:
        assert main(["experiment", str(study.file), "--dry-run"]) == 0
        lines = capsys.readouterr().out.splitlines()[:3]
        return [f"{line.split()[0]} {line.endswith('is unknown')}" for line in lines]

    assert verbs() == ["build False", "search False", "search False"]
    study.run()
    assert verbs() == ["keep False"] * 3
    # Another content of the same length may stand in it now.
    os.utime(study.folder / "data" / "pets.jsonl")
    assert verbs() == ["build True", "search True", "search True"]
    assert all(line.startswith("keep") for line in study.plan().lines()[:3])


def test_a_dry_runs_plan_is_not_run(tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    with pytest.raises(UsageError, match="dry run"):
        run_experiment(study.plan(dry_run=True))
