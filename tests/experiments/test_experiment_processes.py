"""Models of an experiment file that several processes train together, by gloo on this machine."""

import json
import sys
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parents[1] / name) for name in ("models", "encoders")]

from some_spans import some_spans
from tiny import tiny_bert

from adducir.cli.app import main
from adducir.core.artifacts import read_manifest
from adducir.datasets.spans.record import write_spans

SHARES = "{train: 0.4, validation: 0.2, test: 0.4}"
STUDY = f"""task: known-item
data:
  A: {{spans: spans.jsonl, part: test, shares: {SHARES}}}
contexts: {{L: {{right: 0}}}}
systems:
  ours: {{train: encoders/tiny.yaml}}
"""
RECIPE = f"""base: tiny
data: {{train: spans.jsonl, shares: {SHARES}}}
training: {{epochs: 2, batch_size: 5, learning_rate: 0.001, patience: null}}
"""
FILE = "experiments/study.yaml"


def study(folder: Path) -> Path:
    """Without dropout, which each process draws for itself."""
    folder.mkdir()
    tiny_bert(folder / "tiny")
    config = json.loads((folder / "tiny" / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "tiny" / "config.json").write_text(json.dumps(config))
    for name in ("encoders", "experiments"):
        (folder / name).mkdir()
    write_spans(some_spans(30, groups=9), folder / "spans.jsonl")
    (folder / "encoders" / "tiny.yaml").write_text(RECIPE)
    (folder / FILE).write_text(STUDY)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_two_processes_train_the_models_of_a_study(tmp_path, monkeypatch, capsys, jobs) -> None:
    given = ["experiment", FILE, "--device", "cpu", "--threads", "1"]
    found = {}
    for name, more in {"one": [], "two": ["--processes", "2", "--jobs", jobs]}.items():
        monkeypatch.chdir(study(tmp_path / name))
        assert main([*given, *more]) == 0
        found[name] = read_manifest(tmp_path / name / "encoders" / "study" / "ours" / "L")
    one, two = found["one"], found["two"]
    assert "processes" not in one.counts
    assert two.counts["processes"] == [2]
    assert two.fingerprint == one.fingerprint
    assert two.counts["validation_loss"] == pytest.approx(one.counts["validation_loss"], rel=1e-4)
    capsys.readouterr()
    assert main([*given, "--dry-run"]) == 2  # --device has no effect there
    assert main(["experiment", FILE, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert not any(line.startswith("train") for line in lines)


@pytest.mark.slow
def test_what_one_process_cannot_do_is_said(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(study(tmp_path / "one"))
    weights = tmp_path / "one" / "tiny" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    assert main(["experiment", FILE, "--processes", "2", "--threads", "1"]) == 3
    assert "tiny" in capsys.readouterr().err
    assert not (tmp_path / "one" / "encoders" / "study" / "ours" / "L").exists()


def test_a_cluster_has_workers_of_its_own(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(study(tmp_path / "one"))
    assert main(["experiment", FILE, "--ray", "auto", "--workers", "2"]) == 2
    assert "--workers means nothing beside --ray" in capsys.readouterr().err
