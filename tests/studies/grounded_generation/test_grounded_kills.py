"""A study of grounded generation by two workers, killed with SIGKILL again and again."""

import json
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

sys.path += [str(Path(__file__).parents[2] / name) for name in ("models", "rerankers")]

from tiny import tiny_bert

from adducir.core.artifacts import read_manifest
from adducir.studies.grounded_generation.contexts import GroundedContext, write_contexts

STUDY = """task: grounded-generation
data: {passages: passages.jsonl, train: train.jsonl, validation: held.jsonl, test: test.jsonl}
retriever: {base: tiny, network: trained, adapter: 2}
closed: {depth: 4}
systems:
  elbo:
    train:
      - sample: {k: 2}
        validation: {k: 4, sampler: top}
        training: {epochs: 1, batch_size: 16}
cutoffs: [1]
"""

PROGRAM = """
import sys
from adducir.cli.app import main
from adducir.studies.grounded_generation.hindsight import closed
closed.BLOCK, closed.CONTEXTS = 40, 64
if __name__ == "__main__":
    sys.exit(main(["experiment", "experiments/x.yaml", "--threads", "1", *sys.argv[1:]]))
"""
WORDS = ["cats", "dogs", "energy", "power", "school", "uniforms", "nuclear", "plants"]


def study(folder: Path) -> Path:
    (folder / "experiments").mkdir(parents=True)
    tiny_bert(folder / "tiny")
    (folder / "experiments" / "x.yaml").write_text(STUDY)
    (folder / "program.py").write_text(PROGRAM)
    with (folder / "passages.jsonl").open("w") as file:
        for n in range(160):
            text = f"the {WORDS[n % 8]} and {WORDS[n // 20]} " * (5 + n % 11)
            file.write(json.dumps({"docno": f"p{n}", "text": text}) + "\n")
    contexts = [
        GroundedContext(f"c{n}", f"{WORDS[n % 8]} {n}", WORDS[n % 5], (f"p{n % 160}",))
        for n in range(330)
    ]
    for name, some in {
        "train": contexts[:20],
        "held": contexts[20:30],
        "test": contexts[30:],
    }.items():
        write_contexts(some, folder / f"{name}.jsonl")
    return folder


def started(folder: Path, *more: str) -> subprocess.Popen[str]:
    given = [sys.executable, "program.py", *more]
    return subprocess.Popen(given, cwd=folder, stderr=subprocess.PIPE, text=True)


def made(folder: Path) -> set[Path]:
    """The outcomes of shards."""
    return {*folder.glob("encoders/**/.*.parts-*/0*[0-9].json"), *folder.glob("runs/**/.*/0*.json")}


def digests(folder: Path) -> dict[str, object]:
    """Of all artifacts; how a training went has its times."""
    found: dict[str, object] = {}
    for path in sorted(
        [*folder.glob("encoders/**/manifest.json"), *folder.glob("runs/**/manifest.json")]
    ):
        manifest = read_manifest(path.parent)
        files = {name: one for name, one in manifest.files.items() if name != "training.json"}
        found[str(path.relative_to(folder))] = manifest.fingerprint, files
    return found


def workers_of(driver: subprocess.Popen[str]) -> list[psutil.Process]:
    with suppress(psutil.Error):
        every = psutil.Process(driver.pid).children()
        return [one for one in every if "spawn_main" in " ".join(one.cmdline())]
    return []


def check_kills(whole: Path, killed: Path) -> None:
    """Make a study at once, and another by two workers who are killed; both are to be the same."""
    alone = started(whole)
    assert alone.wait() == 0, alone.stderr and alone.stderr.read()
    draw, kills = random.Random(3), {"driver": 0, "worker": 0}
    while True:
        driver = started(killed, "--workers", "2")
        seen, most = made(killed), draw.randrange(1, 4)
        while driver.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                driver.wait(0.05)
            if len(made(killed) - seen) < most:
                continue
            seen, most = made(killed), draw.randrange(1, 4)
            workers = workers_of(driver)
            if kills["worker"] < 2 and workers:
                with suppress(psutil.Error):
                    draw.choice(workers).send_signal(signal.SIGKILL)
                    kills["worker"] += 1
            elif kills["driver"] < 2:
                driver.kill()
                driver.wait()
                kills["driver"] += 1
        if driver.returncode == 0:
            break
        words = driver.stderr.read() if driver.stderr else ""
        assert driver.returncode == -signal.SIGKILL or "its worker died" in words, words
    assert min(kills.values()) >= 1
    found = digests(killed)
    assert len(found) > 3
    assert found == digests(whole)
    assert not made(killed)


@pytest.mark.slow
def test_killed_workers_and_drivers_leave_the_same_artifacts(tmp_path: Path) -> None:
    check_kills(*(study(tmp_path / name) for name in ("whole", "killed")))
