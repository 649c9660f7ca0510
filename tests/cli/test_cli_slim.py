"""Without extras and Java: what does not work names the line that installs it.

What does work is tried in an environment of the wheel alone. Each test runs in a process that has
what ``pip install adducir`` brings, and nothing else.
"""

import json

import pytest
from base_package import in_base
from lexical_way import write_materials

from adducir.core.packages import installing

MAIN = """
import shlex
from adducir.cli.app import main
print([main(shlex.split(words)) for words in sys.argv[1:]])
"""


def slim(folder, *commands):
    """The exit codes of commands, one after the other in a process, and what they say."""
    done = in_base(MAIN, folder, *commands)
    codes = done.stdout.splitlines()[-1:]
    return codes and json.loads(codes[0]), done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.trec").write_text(f"1 Q0 {name}1 1 2.0 t\n2 Q0 a1 1 1.0 t\n")
    (tmp_path / "qrels.txt").write_text("1 0 a1 1\n2 0 a1 0\n2 0 a2 1\n")
    return tmp_path


def test_the_default_engine_does_not_follow_what_is_installed(tmp_path):
    write_materials(tmp_path)
    codes, output = slim(
        tmp_path, "index docs.jsonl -o ix", "index docs.jsonl --language de -o ix --engine memory"
    )
    assert codes == [4, 4], output
    asked, other = (line for line in output.splitlines() if "error:" in line)
    assert "--engine memory" in asked
    assert installing("lucene") in asked
    assert "--engine memory" not in other  # whose analyser is Lucene's
    assert installing("lucene") in other
    assert not (tmp_path / "ix").exists()


def test_what_lacks_an_extra_names_it(folder):
    codes, output = slim(
        folder,
        "index bundled:arguments -o ix --engine dense --encoder x",
        "rerank -r a.trec -t bundled:topics --corpus bundled:arguments -m o/x -o r",
        "index argsme/2020-04-01 --engine memory -o ix",
        "evaluate a.trec -q argsme/2020-04-01/touche-2020-task-1",
        "search --index ix --topics touche/x -o r.trec",
    )
    assert codes == [4, 4, 3, 3, 5], output
    assert output.count(installing("neural")) == 2, output
    assert output.count(installing("datasets")) == 2, output
