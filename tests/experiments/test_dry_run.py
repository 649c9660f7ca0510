"""What is not available: a dry run lists it and checks the rest, a real run refuses to begin."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from experiment_studies import Study

from adducir.cli.app import main
from adducir.core.errors import AdducirError, InputError, MachineError
from adducir.experiments.planner import Planner

ROOT = Path(__file__).parents[2]
FILES = sorted(path.name for path in (ROOT / "experiments").glob("*.yaml"))
# Every dry run in one process that has no network: what it printed, and whom it would have called.
DRY_RUNS = """
import contextlib, io, json, socket, sys
called, found = [], {}
def refuse(*arguments):
    called.append(str(arguments[-1]))
    raise OSError("no network")
socket.socket.connect = socket.getaddrinfo = refuse
from adducir.cli.app import main
for name in sys.argv[1:]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(["experiment", f"experiments/{name}", "--dry-run"])
    found[name] = [code, out.getvalue()]
print(json.dumps([found, called]))
"""
LACKING = {
    "touche.yaml": (
        "the documents of argsme/2020-04-01,",
        "the topics of argsme/2020-04-01/touche-2020-task-1,",
        "the judgements of argsme/2020-04-01/touche-2021-task-1,",
        "${ADDUCIR_COLLECTIONS}/touche/pools/pool-50-2021.txt:",
        "${ADDUCIR_COLLECTIONS}/touche/runs/2020/best-ndcg.txt:",
        "the model bert-base-uncased,",
        "the model castorini/monobert-large-msmarco,",
        "the tokenizer bert-large-uncased,",
    ),
    "touche-lexical.yaml": ("the documents of argsme/2020-04-01,", "runs/2021/best-bpref.txt:"),
    "exemplification.yaml": (
        "data/examples-eli5-test.jsonl.gz:",
        "data/examples-books.jsonl.gz:",
        "the model roberta-base,",
        "the model colbert-ir/colbertv2.0,",
    ),
    "hindsight-wow.yaml": (
        "data/hindsight/passages.jsonl.gz:",
        "data/hindsight/wow.train.jsonl.gz:",
        "the model colbert-ir/colbertv2.0,",
        "the model facebook/bart-base,",
    ),
    "hindsight-nlgen.yaml": ("data/hindsight/collection.tsv:", "data/hindsight/nlgen-test.jsonl:"),
    "literary-evidence.yaml": ("data/relic-val.json:", "data/relic-train.jsonl.gz:"),
    "complementary-evidence.yaml": (
        "data/hotpotqa50.test.jsonl.gz:",
        "data/mnli12.train.jsonl.gz:",
        "the model bert-base-uncased,",
    ),
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


@pytest.fixture(scope="module")
def dry_runs(bare: Path) -> tuple[dict[str, list[object]], list[str]]:
    """Exit code and output of every file's dry run, and the addresses that were called."""
    empty = {name: str(bare / ".none") for name in ("IR_DATASETS_HOME", "HF_HOME", "NLTK_DATA")}
    hidden = ("ADDUCIR_COLLECTIONS", "HF_HUB_OFFLINE", "HF_HUB_CACHE")
    kept = {key: value for key, value in os.environ.items() if key not in hidden}
    done = subprocess.run(
        [sys.executable, "-c", DRY_RUNS, *FILES],
        cwd=bare,
        env=kept | empty,
        capture_output=True,
        text=True,
        check=True,
    )
    found, called = json.loads(done.stdout)
    return found, called


@pytest.mark.parametrize("name", FILES)
def test_every_study_plans_without_data_and_network(name: str, dry_runs) -> None:
    code, out = dry_runs[0][name]
    assert code == 0
    notes = [line for line in out.splitlines() if line.startswith("not available: ")]
    assert all("; needed by " in note for note in notes)
    assert bool(notes) == (name != "demo.yaml")
    for what in LACKING.get(name, ()):
        assert sum(what in note for note in notes) == 1, what


def test_a_dry_run_asks_no_network_and_makes_nothing(dry_runs, bare: Path) -> None:
    assert dry_runs[1] == []
    made = {path.name for path in bare.iterdir()} - {".none"}
    assert made == {"experiments", "deepct", "rerankers", "encoders"}


def test_what_depends_on_absent_data_is_said_to_be_unknown(dry_runs) -> None:
    plan = dry_runs[0]["touche.yaml"][1].splitlines()
    runs = [line for line in plan if line.split()[1] == "run" and not line.startswith("read")]
    assert len(runs) == 68
    assert {line.split()[0] for line in runs} <= {"search", "rerank", "fuse", "tune", "python"}
    for name in ("exemplification.yaml", "complementary-evidence.yaml"):
        out = dry_runs[0][name][1]
        assert {line.split()[0] for line in out.splitlines()} & {"rank", "select"}
        assert "keep" not in out


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("touche", "measures=[nDGC@5]", "nDGC"),
        ("touche", "systems.DLM tuned.tune.grid.mu=[-1]", "mu"),
        ("touche", "systems.DLM tuned.tune.objective=nDCH@5", "nDCH"),
        ("touche", "systems.BM25.modle=bm25", "did you mean `model`"),
        ("touche", "systems.BM25+LiT5.by=rerankers/lit6.yaml", "lit6.yaml"),
        ("touche", "corpora.c-all.model=deepct/argsme-d-all.yaml", "argsme-d-all.yaml"),
        ("touche-lexical", "comparison.baseline=BM52", "BM52"),
        ("exemplification", "systems.BM25.bm25.k=1", "no such key"),
        ("exemplification", "systems.EGRET.set=[training.epoch=1]", "epoch"),
        ("exemplification", "systems.EGRET.train=[encoders/egrett.yaml]", "egrett.yaml"),
        ("complementary-evidence", "seeds=[x]", "seeds"),
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


@pytest.mark.parametrize("recipe", ["deepct/argsme-c-judged", "rerankers/lit5", "encoders/egret"])
def test_a_mistake_in_a_recipe_stays_one(recipe: str, bare: Path, tmp_path, capsys) -> None:
    study = shutil.copytree(bare, tmp_path / "study")
    with (study / f"{recipe}.yaml").open("a") as handle:
        handle.write("lenght: 128\n")
    name = "exemplification" if recipe.startswith("encoders") else "touche"
    assert main(["experiment", str(study / f"experiments/{name}.yaml"), "--dry-run"]) == 3
    assert "lenght" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "count"), [("exemplification", 4), ("literary-evidence", 2), ("cacm", 4)]
)
def test_a_run_without_data_is_refused_before_anything_is_built(
    name: str, count: int, bare: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(bare)
    monkeypatch.delenv("ADDUCIR_COLLECTIONS", raising=False)
    assert main(["experiment", f"experiments/{name}.yaml"]) == 3
    err = capsys.readouterr().err
    missing = {
        word for word in err.split() if word.endswith((".gz:", ".json:", ".txt:", ".tsv:", "l:"))
    }
    assert len({word for word in missing if "yaml" not in word}) == count
    assert not (bare / "indexes").exists()
    assert not (bare / "runs").exists()


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path / "study")


def test_what_was_fetched_is_not_asked_for_where_all_runs_are_there(
    study: Study, monkeypatch
) -> None:
    study.change("fields: [text]", "engine: memory, fields: [text]")
    study.run()
    fetched: list[set[object]] = []
    monkeypatch.setattr(Planner, "fetch", lambda *arguments: fetched.append(arguments[1]))
    study.run()
    assert fetched == [set()]


def test_one_error_shows_all_that_is_absent() -> None:
    errors = [InputError("no a.", absent=True), MachineError("no b.", absent=True)]
    united = AdducirError.united([*errors, errors[0]])
    assert isinstance(united, InputError)
    assert united.parts == tuple(errors)
    assert "2 things" in str(united)
    assert AdducirError.united(errors[:1]) is errors[0]
    assert isinstance(AdducirError.united(errors[1:] * 2), MachineError)
