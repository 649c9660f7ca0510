"""An experiment killed with SIGKILL, for real, while another one waits to finish it."""

import signal
import subprocess
import sys
from pathlib import Path

from experiment_studies import GIVEN, Study

from adducir.runs.write import metadata_for

# Plans an experiment, and runs it when it is told to. With an ending of a path, it says so and
# sleeps before the file or folder with that ending is published.
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


def started(study: Study, stop: str = "") -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", CHILD, str(study.file), stop], **pipes)


def until(child: subprocess.Popen[str], word: str) -> str:
    """The line it prints that begins with ``word``."""
    return next(line for line in child.stdout if line.startswith(word)).rstrip()


def results(study: Study) -> dict[str, bytes]:
    """All that an experiment is to make and that is the same every time."""
    folder = study.folder / "experiments" / "pets"
    found = {path.name: path.read_bytes() for path in study.folder.glob("runs/pets/*.gz")}
    names = ("table.txt", "table.md", "table.tex", "table.csv", "per-topic.csv")
    return found | {name: (folder / name).read_bytes() for name in names}


def test_of_two_at_once_the_second_finishes_what_the_killed_one_left(tmp_path: Path) -> None:
    undisturbed, study = (Study(tmp_path / name, GIVEN) for name in ("undisturbed", "study"))
    undisturbed.run()
    children = started(study, "A+B.t.trec.gz.ir-metadata.yml"), started(study)
    for child in children:
        until(child, "planned")
    children[0].stdin.write("\n")
    children[0].stdin.flush()
    until(children[0], "reached")
    assert study.path("A+B").exists()
    assert not metadata_for(study.path("A+B")).exists()
    assert not [*study.folder.glob("experiments/pets/table.*")]
    children[1].stdin.write("\n")
    children[1].stdin.flush()
    until(children[1], f"{study.folder / 'experiments' / 'pets'}: waiting")
    children[0].send_signal(signal.SIGKILL)
    assert until(children[1], "made") == "made 1"
    for child in children:
        child.communicate()
    assert results(study) == results(undisturbed)
    # Hidden things other than locks, and files that are removed once they are old.
    assert {path.suffix for path in study.folder.rglob(".*")} <= {".lock", ".tmp"}
