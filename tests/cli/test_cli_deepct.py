"""The commands of term weighting, as a user types them, with a tiny model."""

import gzip
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adducir.cli.app import main

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))

from tiny import tiny_bert

RECIPE = """kind: deepct
corpus: {source: pets.jsonl}
text: premise
reference: conclusion
base: base
passages: {length: 20}
held_out: {share: 0.2, test: 0.2}
training: {epochs: 2, batch_size: 4, learning_rate: 0.01}
"""


def make_study(study, copies=1):
    tiny_bert(study / "base")
    lines = [
        {"docno": f"d{n}", "conclusion": "Cats run fast", "premise": f"The cat {n} ran. Dogs ran"}
        for n in range(15 * copies)
    ]
    (study / "pets.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    (study / "deepct").mkdir()
    (study / "deepct" / "pets.yaml").write_text(RECIPE)
    return study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study whose model is trained."""
    study = make_study(tmp_path_factory.mktemp("study"))
    assert main(["train", str(study / "deepct" / "pets.yaml")]) == 0
    return study


def run(*words):
    assert main([str(word) for word in words]) == 0


def test_training_says_what_it_did(study, capfd):
    run("train", study / "deepct" / "pets.yaml", "--set", "training.seed=1")
    message = capfd.readouterr().err
    assert "15 documents, 0 left out by leak control" in message
    assert "epoch 1: training loss" in message
    assert "validation loss" in message.splitlines()[-1]
    run("train", study / "deepct" / "pets.yaml")


def test_expanding_writes_every_document(study, tmp_path, capfd):
    output = tmp_path / "x.jsonl.gz"
    order = ("--model", study / "deepct" / "pets.yaml", "--corpus", study / "pets.jsonl")
    run("deepct", "expand", *order, "--output", output, "--scale", 10)
    with gzip.open(output, "rt") as file:
        documents = [json.loads(line) for line in file]
    assert [d["docno"] for d in documents] == [f"d{n}" for n in range(15)]
    assert documents[0].keys() == {"docno", "conclusion", "premise", "weighted"}
    assert "x.jsonl.gz: 15 documents of 90 weighted words" in capfd.readouterr().err
    assert (tmp_path / "x.weights" / "manifest.json").is_file()
    run("deepct", "expand", *order, "--output", output, "--transform", "sqrt", "--force")
    assert "weighting" not in capfd.readouterr().err
    fields = ("--fields", "conclusion,weighted")
    run("index", output, "--engine", "memory", *fields, "--output", tmp_path / "index")


def test_pairs_go_into_the_memory_engine(study, tmp_path, capfd):
    pairs = tmp_path / "p.jsonl"
    order = ("--model", study / "deepct" / "pets", "--corpus", study / "pets.jsonl")
    run(
        "deepct",
        "expand",
        *order,
        "-o",
        pairs,
        "--pairs",
        "--set",
        "keep=conclusion",
        "--scale",
        50,
    )
    first = json.loads(pairs.read_text().splitlines()[0])
    assert first["docno"] == "d0"
    assert set(first["weights"]) <= {"the", "cat", "0", "ran", "dogs", "cats", "run", "fast"}
    assert first["weights"]["cats"] == 1
    run("index", "--weights", pairs, "--language", "en", "--output", tmp_path / "index")
    assert "15 documents" in capfd.readouterr().err


def test_showing_a_text(study, capfd):
    run("deepct", "show", "-m", study / "deepct" / "pets", "--text", "The cat, a dog!", "--top", 2)
    shown = capfd.readouterr().out.splitlines()
    assert shown[0].startswith("The[0.")
    assert shown[0].endswith("]!")
    assert len(shown) == 3


def test_evaluating_shows_what_must_be_beaten(study, capfd):
    run("deepct", "evaluate", study / "deepct" / "pets.yaml")
    shown = capfd.readouterr().out.splitlines()
    assert "3 test passages of 3 documents" in shown[0]
    assert [line.split()[0] for line in shown[1:]] == [
        "trained",
        "untrained",
        "tf-idf",
        "constant",
    ]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (
            ["expand", "--model", "M", "--corpus", "C", "-o", "x", "--set", "keep=a"],
            "--set keep",
        ),
        (["expand", "--model", "none.yaml", "--corpus", "C", "-o", "x"], "is not trained"),
        (["show", "--model", "base", "--text", "x"], "deepct.json"),
        (["evaluate", "none.yaml"], "no such file"),
        (["evaluate", "deepct/pets.yaml", "--device", "cuda"], "there is no device 'cuda' here"),
    ],
)
def test_errors_say_what_to_do(study, words, what, capfd, monkeypatch):
    monkeypatch.chdir(study)
    words = [{"M": "deepct/pets", "C": "pets.jsonl"}.get(word, word) for word in words]
    assert (
        main(
            [
                "deepct",
                *words,
            ]
        )
        != 0
    )
    message = capfd.readouterr().err
    assert what in message
    assert "Traceback" not in message


def killed(line, study, after):
    """Kill a training so many seconds after it has written a snapshot; whether it still ran."""

    def snapshot():
        return [
            p.stat().st_mtime_ns for p in study.glob("deepct/.cut.parts-*/training.safetensors")
        ]

    before = snapshot()
    process = subprocess.Popen([*line, "--output", "deepct/cut"], cwd=study, stderr=-3)
    while process.poll() is None and snapshot() == before:
        time.sleep(0.01)
    time.sleep(after)
    ran = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return ran


@pytest.mark.slow
def test_a_training_killed_at_any_moment_ends_with_the_same_weights(tmp_path):
    study = make_study(tmp_path, copies=20)
    code = (
        "import sys; from adducir.training import loop; loop.SNAPSHOT_EVERY = 0.05; "
        "from adducir.cli.app import main; sys.exit(main(sys.argv[1:]))"
    )
    line = [sys.executable, "-c", code, "train", "deepct/pets.yaml"]
    line += ["--set", "training.epochs=8", "--set", "training.patience=null"]
    subprocess.run([*line, "--output", "deepct/whole"], cwd=study, check=True, capture_output=True)
    kills = sum(killed(line, study, after) for after in (0.0, 0.3, 0.6))
    assert kills
    subprocess.run([*line, "--output", "deepct/cut"], cwd=study, check=True, capture_output=True)
    whole, cut = (study / "deepct" / name / "model.safetensors" for name in ("whole", "cut"))
    assert whole.read_bytes() == cut.read_bytes()
    assert not [p for p in cut.parent.parent.iterdir() if "parts" in p.name or "build" in p.name]


def test_training_says_how_well_the_model_recovers_terms(study, tmp_path, capfd):
    run("train", study / "deepct" / "pets.yaml", "-o", tmp_path / "again")
    shown = capfd.readouterr().out.splitlines()
    run("deepct", "evaluate", study / "deepct" / "pets.yaml", "--model", tmp_path / "again")
    evaluated = capfd.readouterr().out.splitlines()
    assert "3 test passages of 3 documents" in shown[0]
    assert shown == [line for line in evaluated if not line.startswith("untrained")]
    run("train", study / "deepct" / "pets.yaml", "-o", tmp_path / "again")
    assert capfd.readouterr().out.splitlines() == shown
