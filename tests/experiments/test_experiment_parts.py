"""Studies made by the parts of an array: whoever makes what, in whatever order."""

import random
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
from part_studies import FILE, STUDIES, content, hidden, known_item, retrieval, shards

from adducir.cli.app import main
from adducir.core.errors import IncompleteError, InputError, UsageError
from adducir.core.locks import locked
from adducir.core.sharding.executors.part import Part
from adducir.encoders.model import DualEncoder
from adducir.experiments.context import Resources
from adducir.experiments.executor import Turns
from adducir.experiments.experiment import (
    make_part_of_experiment,
    plan_experiment,
    run_experiment,
)
from adducir.experiments.outcome import PartOutcome

__all__ = ["shards"]
WAVES = 20
QUICK = ("retrieval", "known_item")
COMMAND = """import sys
sys.path[:0] = sys.argv.pop(1).split(":")
from adducir.cli.app import main
from part_studies import small_shards
if __name__ == "__main__":
    small_shards()
    sys.exit(main(sys.argv[1:]))
"""


def part(folder: Path, number: int, count: int, **options) -> PartOutcome:
    plan = plan_experiment(folder / FILE)
    resources = Resources(threads=1, device="cpu", part=Part(number, count))
    return make_part_of_experiment(plan, resources, **options)


def waves(folder: Path, count: int, chance: random.Random) -> int:
    """Give the parts in any order until all is there; how many times."""
    for wave in range(1, WAVES):
        outcomes = [part(folder, one, count) for one in chance.sample(range(1, count + 1), count)]
        if not outcomes[-1].left:
            return wave
    raise AssertionError(f"there is something left: {outcomes}")


def ended(folder: Path) -> dict:
    """What the study is once the table is made, for which nothing else is."""
    assert not (folder / "experiments" / "study" / "table.json").exists()
    assert hidden(folder) == []
    outcome = run_experiment(plan_experiment(folder / FILE), threads=1, device="cpu")
    assert outcome.made == []
    return content(folder)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in STUDIES
    ],
)
def study(request, tmp_path_factory):
    """A kind of study, and what one process makes of it."""
    folder = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        shards.__wrapped__(patch)
        STUDIES[request.param](folder)
        run_experiment(plan_experiment(folder / FILE), threads=1, device="cpu")
    return STUDIES[request.param], content(folder)


def test_parts_make_the_same_study(study, tmp_path, shards):
    make, alone = study
    make(tmp_path)
    waves(tmp_path, 3, random.Random(random.randrange(10**6)))
    assert ended(tmp_path) == alone


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 4, 5, 6, 7])
def test_any_number_of_parts_makes_the_same_study(study, tmp_path, shards, count):
    make, alone = study
    make(tmp_path)
    waves(tmp_path, count, random.Random(random.randrange(10**6)))
    assert ended(tmp_path) == alone


@pytest.mark.slow
def test_what_parts_left_is_ended_by_the_command_without_a_part(study, tmp_path, shards):
    make, alone = study
    make(tmp_path)
    for number in random.sample(range(1, 6), 2):
        part(tmp_path, number, 5)
    run_experiment(plan_experiment(tmp_path / FILE), threads=1, device="cpu")
    assert hidden(tmp_path) == []
    assert content(tmp_path) == alone


def begun(folder: Path, number: int, count: int, *more: str) -> subprocess.Popen:
    given = ["experiment", str(FILE), "--part", f"{number}/{count}", "--device", "cpu"]
    places = ":".join(sys.path)
    words = [sys.executable, "-c", COMMAND, places, *given, "--threads", "1", *more]
    return subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 2])
def test_parts_at_once_make_the_same_study(study, tmp_path, copies):
    """Also two arrays at once."""
    make, alone = study
    make(tmp_path)
    for _ in range(WAVES):
        parts = [begun(tmp_path, number, 3) for number in (1, 2, 3) for _ in range(copies)]
        said = [one.communicate()[1] for one in parts]
        assert [one.returncode for one in parts] == [0] * len(parts), said
        if any("All steps are there" in one for one in said):
            break
    assert ended(tmp_path) == alone


@pytest.mark.slow
def test_a_part_can_have_jobs_with_workers(tmp_path):
    for name in ("one", "several"):
        (tmp_path / name).mkdir()
        retrieval(tmp_path / name)
    run_experiment(plan_experiment(tmp_path / "one" / FILE), threads=1, device="cpu")
    for _, number in product(range(WAVES), (1, 2)):
        running = begun(tmp_path / "several", number, 2, "--jobs", "2", "--workers", "2")
        said = running.communicate()[1]
        assert running.returncode == 0, said
        if "All steps are there" in said:
            break
    assert ended(tmp_path / "several") == content(tmp_path / "one")


@pytest.mark.slow
def test_killed_parts_are_given_again(study, tmp_path):
    make, alone = study
    make(tmp_path)
    killed = 0
    for _ in range(WAVES * 2):
        parts = [begun(tmp_path, number, 2) for number in (1, 2)]
        if killed < 5:
            time.sleep(random.uniform(6, 16))
            victim = random.choice(parts)
            victim.kill()
            killed += victim.wait() != 0
        said = [one.communicate()[1] for one in parts]
        if any("All steps are there" in one for one in said):
            break
    outcome = run_experiment(plan_experiment(tmp_path / FILE), threads=1, device="cpu")
    assert outcome.made == []
    assert content(tmp_path) == alone


def test_what_cannot_be_done_is_named_and_the_rest_is_made(tmp_path, shards, monkeypatch):
    known_item(tmp_path)
    encode = DualEncoder.encode_contexts
    poison = plan_experiment(tmp_path / FILE).study.data["A"].spans[4].id

    def spoilt(self, contexts, **options):
        if any(one.id == poison for one in contexts):
            raise InputError("this cannot be read.")
        return encode(self, contexts, **options)

    with monkeypatch.context() as patch:
        patch.setattr(DualEncoder, "encode_contexts", spoilt)
        failed = 0
        for number in (1, 2, 3):
            try:
                part(tmp_path, number, 3)
            except IncompleteError as error:
                assert poison in error.paragraph()
                assert error.exit_code == 6
                failed += 1
        assert failed == 1
    waves(tmp_path, 3, random.Random(0))
    assert hidden(tmp_path) == []


class Missing:
    """A step that is not there."""

    shared_work = None

    def __init__(self, *inputs: "Missing", trains: bool = False) -> None:
        self.inputs, self.trains, self.in_shards = inputs, trains, not trains

    def why(self) -> str:
        return "it is missing"


def test_trainings_are_left_to_their_parts():
    """The part that puts together what all models learn from trains its own models alone."""
    examples = Missing()
    steps = [examples, *(Missing(examples, trains=True) for _ in range(4))]
    turns, order = Turns.of(SimpleNamespace(steps=steps), steps, Part(2, 2)), []
    while (group := turns.next()) is not None:
        turns.ended(group, are_made=True)
        order += group
    assert order == [examples, steps[2], steps[4]]


def test_what_another_process_is_at_work_on_is_left(tmp_path, shards):
    retrieval(tmp_path)
    with locked(tmp_path / "indexes" / "pets"):
        pass
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from adducir.core.locks import locked\n"
            "with locked(Path(sys.argv[1])): print(flush=True); sys.stdin.read()",
            str(tmp_path / "indexes" / "pets"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    child.stdout.readline()
    found = part(tmp_path, 1, 1)
    assert found.begun == 1
    assert not (tmp_path / "indexes" / "pets").exists()
    assert (tmp_path / "indexes" / "weighted").exists()
    assert "part 1/1: " in found.line(FILE)
    assert " are left: when all parts have ended, give them again." in found.line(FILE)
    child.communicate(b"")
    found = part(tmp_path, 1, 1)
    assert found.left == 0
    assert found.line(FILE).endswith(
        f"All steps are there: adducir experiment {FILE} prints the table."
    )


def test_a_part_makes_no_table(tmp_path, shards, monkeypatch, capsys):
    retrieval(tmp_path)
    monkeypatch.chdir(tmp_path)
    file = str(FILE)
    for words in (["--dry-run"], ["--output", "x.md"], ["--format", "csv"], ["--rebuild"]):
        assert main(["experiment", file, "--part", "1/2", *words]) == 2
        assert "means nothing" in capsys.readouterr().err
    assert main(["experiment", file, "--part", "3/2"]) == 2
    given = ["experiment", file, "--threads", "1"]
    assert main([*given, "--part", "2/7"]) == 0
    assert "left: when all parts have ended" in capsys.readouterr().err
    with pytest.raises(UsageError, match="no part"):
        make_part_of_experiment(plan_experiment(FILE), Resources())
