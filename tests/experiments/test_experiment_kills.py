"""Experiments killed with SIGKILL, and two at once, for real."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from experiment_studies import GIVEN, Study

from adducir.runs.write import metadata_for

# Runs an experiment. With an ending of a path, it says so and sleeps before the file or folder
# with that ending is published.
CHILD = """
import sys, time
from pathlib import Path

file, stop = Path(sys.argv[1]), sys.argv[2]

def heard(event, arguments):
    if stop and event == "os.rename" and str(arguments[1]).endswith(stop):
        print("reached", flush=True)
        time.sleep(600)

from adducir.cli.console import PlainProgress
from adducir.experiments.step import Context
from adducir.experiments.experiment import plan_experiment, run_experiment

PlainProgress(sys.stdout).__enter__()
plan = plan_experiment(file)
print("planned", flush=True)
sys.stdin.readline()
sys.addaudithook(heard)
print("made", len(run_experiment(plan, context=Context(threads=1)).runs), flush=True)
"""


class Child:
    """An experiment in a process of its own; it plans, and runs when it is told to."""

    def __init__(self, study: Study, before: str = "") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(study.file), before],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def until(self, word: str) -> str:
        """The line it prints that begins with ``word``."""
        for line in self.process.stdout:
            if line.startswith(word):
                return line.rstrip()
        raise AssertionError(f"it ended before it said {word!r}")

    def go(self) -> "Child":
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self

    def end(self, how: int | None = None) -> None:
        if how is not None:
            self.process.send_signal(how)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def results(study: Study) -> dict[str, bytes]:
    """All that an experiment is to make and that is the same every time."""
    folder = study.folder / "experiments" / "pets"
    found = {path.name: path.read_bytes() for path in study.folder.glob("runs/pets/*.gz")}
    names = ("table.txt", "table.md", "table.tex", "table.csv", "per-topic.csv")
    return found | {name: (folder / name).read_bytes() for name in names}


def leftovers(study: Study) -> list[Path]:
    """Hidden things other than locks, and files that are removed once they are old."""
    return [path for path in study.folder.rglob(".*") if path.suffix not in (".lock", ".tmp")]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    study = Study(tmp_path_factory.mktemp("undisturbed") / "study", GIVEN)
    study.run()
    return results(study)


def test_a_killed_experiment_is_finished_by_the_next_call(tmp_path: Path, undisturbed) -> None:
    study = Study(tmp_path / "study", GIVEN)
    child = Child(study, "A+B.t.trec.gz.ir-metadata.yml").go()
    child.until("reached")
    child.end(signal.SIGKILL)
    for path in study.folder.glob("experiments/pets/table.*"):
        assert path.read_bytes() == undisturbed.get(path.name, path.read_bytes())
    assert len(study.run().runs) == 1
    assert results(study) == undisturbed
    assert leftovers(study) == []


def test_two_at_once_make_each_run_once(tmp_path: Path, undisturbed) -> None:
    study = Study(tmp_path / "study", GIVEN)
    first, second = Child(study, "A+B.t.trec.gz.ir-metadata.yml"), Child(study)
    for child in (first, second):
        child.until("planned")
    first.go().until("reached")
    assert study.path("A+B").exists()
    assert not metadata_for(study.path("A+B")).exists()
    second.go().until(f"{study.folder / 'experiments' / 'pets'}: waiting")
    first.end(signal.SIGKILL)
    assert second.until("made") == "made 1"
    second.end()
    assert results(study) == undisturbed
    assert leftovers(study) == []
