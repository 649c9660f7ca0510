"""Several processes: the gradients of one, the weights of each other, errors, kills."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from kinds_study import kinds_study
from process_gradients import CASES, DOUBLE, ENCODERS, gradients
from safetensors.torch import load_file
from some_spans import some_spans

from adducir.core.artifacts import read_manifest
from adducir.core.errors import MachineError, UsageError
from adducir.corpora.spans import MaskedSpan, write_spans
from adducir.training.processes import ALONE, Processes, device_here

HERE = Path(__file__).parent


def spans_with_negatives(count=32):
    """Spans, some of equal texts, with up to three hard negatives, some of them gold elsewhere."""
    spans = some_spans(count)
    texts = [span.text for span in spans]
    found = []
    for number, one in enumerate(spans):
        text = texts[0] if number in (3, 5) else one.text
        hard = (f"dogs are slow {number} .", texts[(number + 2) % count], "school power .")
        kept = hard[: (number + 1) % 4]
        found.append(
            MaskedSpan(
                one.id,
                one.group,
                one.left,
                (text,),
                one.right,
                one.id,
                {},
                kept,
            )
        )
    return found


@pytest.fixture(scope="module")
def hard_study(tmp_path_factory, bert):
    study = kinds_study(tmp_path_factory.mktemp("study"), bert)
    write_spans(spans_with_negatives(), study / "spans.jsonl")
    return study


def start(count, *arguments, **options):
    """Processes with the environment variables of torchrun."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": f"{port}", "WORLD_SIZE": f"{count}"}
    return [
        subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            env={**os.environ, **address, "RANK": f"{rank}", "LOCAL_RANK": f"{rank}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **options,
        )
        for rank in range(count)
    ]


def ended(processes):
    """Exit codes and what was printed."""
    texts = [one.communicate(timeout=300)[0] for one in processes]
    return [one.returncode for one in processes], texts


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3])
def test_gradients_are_those_of_one_process(hard_study, count):
    wanted = {name: gradients(hard_study, name) for name in CASES}
    codes, texts = ended(start(count, HERE / "process_gradients.py", hard_study))
    assert codes == [0] * count, texts
    for name, (value, whole) in wanted.items():
        largest = max(float(np.abs(one).max()) for one in whole.values())
        assert largest > 1e-5, name
        single = (1e-5 if name in ENCODERS else 1e-6) * max(1.0, largest)
        tolerance = 1e-12 if name in DOUBLE else single
        for rank in range(count):
            found = np.load(hard_study / f"{name}-{rank}.npz")
            assert set(found.files) == {"loss", *whole}, name
            assert float(found["loss"]) == pytest.approx(value, rel=1e-6, abs=1e-6), name
            for parameter, one in whole.items():
                error = np.abs(one - found[parameter]).max()
                assert error < tolerance, (name, parameter, error)


def weights(folder):
    return {
        f"{path.relative_to(folder)} {name}": tensor
        for path in sorted(folder.rglob("*.safetensors"))
        for name, tensor in load_file(path).items()
    }


def same(one, two):
    one, two = weights(one), weights(two)
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


def trained(study, name, *options, count=2):
    """Train the encoder by torchrun's variables, with a snapshot after each step."""
    program = (
        "import sys; from adducir.training import loop; loop.SNAPSHOT_EVERY = 0.0\n"
        "from adducir.cli.app import main; sys.exit(main(sys.argv[1:]))"
    )
    recipe = study / "dual-encoder.yaml"
    changes = [f"--set={one}" for one in ("batches.negatives=1", "training.batch_size=7", *options)]
    return start(count, "-c", program, "train", recipe, "--output", study / name, *changes)


@pytest.mark.slow
def test_a_killed_process_ends_the_others_and_the_training_goes_on(hard_study):
    codes, texts = ended(trained(hard_study, "whole", "training.epochs=30"))
    assert codes == [0, 0], texts
    assert not texts[1].replace("Writing model shards", "").strip()
    processes = trained(hard_study, "cut", "training.epochs=30")
    began = time.monotonic()
    while not list(hard_study.glob(".cut.parts-*/training.safetensors")):
        assert time.monotonic() - began < 120
        time.sleep(0.02)
    processes[1].send_signal(signal.SIGKILL)
    codes, texts = ended(processes)
    assert codes == [4, -signal.SIGKILL]
    assert "another process of this training stopped" in texts[0]
    assert not (hard_study / "cut").exists()
    codes, texts = ended(trained(hard_study, "cut", "training.epochs=30"))
    assert codes == [0, 0], texts
    assert "training goes on after step" in texts[0]
    assert same(hard_study / "whole", hard_study / "cut")
    card, manifest = (hard_study / "cut" / "README.md"), read_manifest(hard_study / "cut")
    assert "Trained on several processes: 2." in card.read_text()
    assert manifest.counts["processes"] == [2]
    # With one process it is up to date as well: the number is recorded, and no part of the recipe.
    codes, texts = ended(trained(hard_study, "cut", "training.epochs=30", count=1))
    assert codes == [0]
    assert read_manifest(hard_study / "cut") == manifest


@pytest.mark.slow
def test_processes_with_different_recipes_are_refused(hard_study):
    """What is wrong for all is reported by all; nobody waits."""
    name, recipe = hard_study / "unlike", hard_study / "dual-encoder.yaml"
    program = (
        "import os, sys; from adducir.cli.app import main\n"
        "sys.exit(main([*sys.argv[1:], '--set=training.seed=' + os.environ['RANK']]))"
    )
    codes, texts = ended(start(2, "-c", program, "train", recipe, "--output", name))
    assert codes == [2, 2], texts
    assert all("were given different recipes or data" in text for text in texts)
    assert not name.exists()


@pytest.mark.slow
def test_an_error_of_the_first_is_reported_to_the_others(hard_study):
    """The first alone makes the examples: leak control leaves none here."""
    codes, texts = ended(trained(hard_study, "none", "data.without=spans.jsonl"))
    assert codes == [3, 4], texts
    assert "0 spans are left to learn from" in texts[0]
    assert "process 0 of 2 stopped: " in texts[1]
    assert "0 spans are left to learn from" in texts[1]


def test_shares_follow_one_another_and_differ_by_one_at_most():
    for count in range(1, 6):
        for size in range(12):
            shares = [Processes(rank, count).share(list(range(size))) for rank in range(count)]
            assert [one for share in shares for one in share] == list(range(size))
            assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_one_process_alone_exchanges_nothing():
    model = torch.nn.Linear(2, 1)
    assert ALONE.add_up(model, 2.0, 3) == (2.0, 3)
    assert (ALONE.broadcast("a"), ALONE.all_of("a"), ALONE.summed(1, 2)) == ("a", ["a"], [1, 2])
    with pytest.raises(ValueError, match="own"), ALONE.agreeing():
        raise ValueError("own")
    with pytest.raises(MachineError, match="process 1 of 3 stopped: what"):
        Processes(0, 3).refuse([None, "what", None])


def test_more_processes_than_gpus_are_refused(monkeypatch):
    for name, value in (("RANK", "3"), ("WORLD_SIZE", "4"), ("LOCAL_RANK", "3")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("MASTER_PORT", "1")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert device_here(torch.device("cpu")) == torch.device("cpu")
    with pytest.raises(UsageError, match="process 3 of this machine has no GPU: there are 2"):
        device_here(torch.device("cuda"))
