"""Experiments killed with SIGKILL, and two at once, for real.

Java is started by the slow tests only; the others fuse given runs.
"""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from experiment_studies import EXPERIMENT, GIVEN, Notes, Study

from adducir.core.artifacts import changes, read_manifest
from adducir.runs.metadata import metadata_for

# Runs an experiment. With a point to stop at, it says so there and sleeps.
CHILD = """
import sys, time
from pathlib import Path

file, stop = Path(sys.argv[1]), sys.argv[2]

def reached(point):
    if point == stop:
        print("reached", flush=True)
        time.sleep(600)

def before(module, name, point, when=lambda *arguments: True):
    real = getattr(module, name)
    def call(*arguments, **options):
        if when(*arguments):
            reached(point)
        return real(*arguments, **options)
    setattr(module, name, call)

import adducir.experiments.retrieval.indexes as indexes
import adducir.experiments.retrieval.runs as runs
import adducir.experiments.retrieval.table as table
import adducir.experiments.context as context
import adducir.experiments.experiment as running
import adducir.indexes.lucene as build
import adducir.core.files as files
import adducir.core.artifacts as artifacts
from adducir.cli.console import PlainProgress
from adducir.experiments.experiment import plan_experiment

def hidden(ending):
    return lambda path: path.name.startswith(".") and f".{ending}." in path.name

calls = []
before(build.DocumentWriter, "add", "indexing", lambda *_: calls.append(1) or len(calls) == 5)
before(artifacts, "write_manifest", "indexed")
before(Path, "rename", "unpublished", lambda path, _: ".building-" in path.name)
before(indexes.IndexStep, "_open", "built")
before(runs.RunStep, "make", "between", lambda step, *_: step.path.name.startswith("QLD"))
before(files, "sync", "writing run", hidden("trec.gz"))
before(files, "keep_rights", "without metadata", lambda old, _: old.name.endswith(".yml"))
before(files, "sync", "writing metadata", hidden("ir-metadata.yml"))
before(table, "_evaluate", "evaluating")
before(files, "sync", "writing table", hidden("md"))

PlainProgress(sys.stdout).__enter__()
plan = plan_experiment(file)
print("planned", flush=True)
sys.stdin.readline()
resources = context.Context(threads=1)
outcome = running.run_experiment(plan, context=resources)
print("made", len(outcome.runs), flush=True)
"""


class Child:
    """An experiment in a process of its own; it plans, and runs when it is told to."""

    def __init__(self, study: Study, stop: str = "") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(study.file), stop],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def until(self, word: str) -> list[str]:
        """The lines it prints up to one that begins with ``word``."""
        lines: list[str] = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            lines.append(line.rstrip())
            if line.startswith(word):
                return lines
        raise AssertionError(f"it ended before it said {word!r}: {lines}")

    def go(self) -> "Child":
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self

    def end(self, how: int | None = None) -> None:
        """Wait for its end, after a signal if one is given."""
        if how is not None:
            self.process.send_signal(how)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


def results(study: Study) -> dict[str, bytes]:
    """All that an experiment is to make and that is the same every time."""
    folder = study.folder / "experiments" / "pets"
    found = {path.name: path.read_bytes() for path in study.folder.glob("runs/pets/*.gz")}
    names = ("table.txt", "table.md", "table.tex", "table.csv", "per-topic.csv")
    return found | {name: (folder / name).read_bytes() for name in names}


def leftovers(study: Study) -> list[Path]:
    """Hidden things other than locks."""
    hidden = [path for path in study.folder.rglob(".*") if not path.name.endswith(".lock")]
    return [path for path in hidden if "lucene" not in path.parts]


def killed_at(point: str, study: Study) -> None:
    child = Child(study, point).go()
    child.until("reached")
    child.end(signal.SIGKILL)
    assert child.process.returncode == -signal.SIGKILL


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """What studies that nobody kills have in the end, by their experiment."""
    found = {}
    for name, text in (("given", GIVEN), ("searched", EXPERIMENT)):
        study = Study(tmp_path_factory.mktemp("undisturbed") / "study", text)
        study.run()
        found[name] = results(study)
    return found


@pytest.mark.parametrize("point", ["writing run", "without metadata"])
def test_a_killed_fusion_is_finished_by_the_next_call(point, tmp_path: Path, undisturbed) -> None:
    study = Study(tmp_path / "study", GIVEN)
    killed_at(point, study)
    assert study.verbs()["A+B"] == "fuse"
    assert study.run().runs == [study.path("A+B")]
    assert results(study) == undisturbed["given"]
    assert leftovers(study) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "made", "is_indexed"),
    [
        ("indexing", 2, False),
        ("indexed", 2, False),
        ("unpublished", 2, True),  # the next build finds it whole
        ("built", 2, True),
        ("writing run", 2, True),
        ("without metadata", 2, True),
        ("writing metadata", 2, True),
        ("between", 1, True),
        ("evaluating", 0, True),
        ("writing table", 0, True),
    ],
)
def test_a_killed_experiment_is_finished_by_the_next_call(
    point: str, made: int, is_indexed: bool, tmp_path: Path, undisturbed
) -> None:
    study = Study(tmp_path / "study")
    killed_at(point, study)
    for path in study.folder.glob("runs/pets/*.trec.gz"):
        assert path.read_bytes() == undisturbed["searched"][path.name]
    for path in study.folder.glob("experiments/pets/table.*"):
        assert path.read_bytes() == undisturbed["searched"].get(path.name, path.read_bytes())
    notes = Notes()
    with notes:
        assert len(study.run().runs) == made
    assert ("indexing (documents)" not in notes.lines) == is_indexed
    assert results(study) == undisturbed["searched"]
    assert leftovers(study) == []
    pets = study.folder / "indexes" / "pets"
    assert not changes(pets, read_manifest(pets))


def test_two_at_once_make_each_run_once(tmp_path: Path, undisturbed) -> None:
    study = Study(tmp_path / "study", GIVEN)
    first, second = Child(study, "without metadata"), Child(study)
    for child in (first, second):
        child.until("planned")
    first.go().until("reached")
    assert study.path("A+B").exists()
    assert not metadata_for(study.path("A+B")).exists()
    waiting = second.go().until(f"{study.folder / 'experiments' / 'pets'}: waiting")
    assert f"process {first.process.pid}" in waiting[-1]
    first.end(signal.SIGKILL)
    assert second.until("made")[-1] == "made 1"
    second.end()
    assert results(study) == undisturbed["given"]
    assert leftovers(study) == []


@pytest.mark.slow
def test_many_at_once_from_nothing(tmp_path: Path, undisturbed) -> None:
    study = Study(tmp_path / "study")
    children = [Child(study) for _ in range(3)]
    for child in children:
        child.until("planned")
    made = [child.go() for child in children]
    counts = sorted(child.until("made")[-1] for child in made)
    for child in children:
        child.end()
    assert counts == ["made 0", "made 0", "made 2"]
    assert results(study) == undisturbed["searched"]
    assert leftovers(study) == []


@pytest.mark.slow
def test_an_interrupted_experiment_leaves_nothing_half_made(tmp_path: Path, undisturbed) -> None:
    study = Study(tmp_path / "study")
    child = Child(study, "indexing").go()
    child.until("reached")
    child.end(signal.SIGINT)
    assert child.process.returncode != 0
    assert leftovers(study) == []
    assert [path.name for path in (study.folder / "indexes").iterdir()] == [".pets.lock"]
    study.run()
    assert results(study) == undisturbed["searched"]
