"""Starting is cheap because it imports next to nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = [
    "torch",
    "numpy",
    "pandas",
    "polars",
    "scipy",
    "statsmodels",
    "pyterrier",
    "ir_datasets",
    "ir_measures",
    "pytrec_eval",
    "transformers",
    "jnius",
    "jnius_config",
    "pyserini",
    "pydantic",
    "ruamel.yaml",
    "orjson",
    "psutil",
    "filelock",
    "tirex_tracker",
    "adducir.corpora.documents",
    "adducir.runs.run",
    "adducir.indexes",
    "adducir.statistics.comparison",
    "adducir.tables.table",
    "adducir.core.config",
]

_LIST_MODULES = """
import sys
from adducir.cli.app import main
code = main({arguments!r})
print(sorted(sys.modules), file=sys.stderr)
sys.exit(code)
"""


def modules_after(*arguments):
    run = subprocess.run(
        [sys.executable, "-c", _LIST_MODULES.format(arguments=list(arguments))],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(eval(run.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments", [["--help"], ["evaluate", "--help"], ["search", "--help"], ["tune", "--help"]]
)
def test_help_imports_nothing_heavy(arguments):
    # typer itself takes pydantic to read a command's options, where it is installed
    allowed = {"pydantic"} if len(arguments) > 1 else set()
    if arguments[0] in ("search", "tune"):  # its options come from the models' recipes
        allowed |= {"adducir.indexes", "numpy"}
    assert modules_after(*arguments).intersection(HEAVY) <= allowed


def test_help_imports_no_command():
    loaded = modules_after("--help")
    assert not {"adducir.cli.index", "adducir.cli.evaluate", "adducir.cli.doctor"} & loaded


def test_version_needs_not_even_typer():
    assert not modules_after("--version").intersection({"typer", "click", "rich", *HEAVY})


def test_the_plan_of_a_lexical_experiment_imports_no_network():
    file = Path(__file__).parents[2] / "experiments" / "demo.yaml"
    loaded = modules_after("experiment", str(file), "--dry-run")
    heavy = {"torch", "transformers", "sentence_transformers", "faiss", "numba", "pyterrier"}
    assert not heavy & loaded


def test_help_without_a_terminal_has_no_escape_sequences():
    # typer colours on request of these, terminal or not
    asking = {"GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS"}
    run = subprocess.run(
        [sys.executable, "-m", "adducir.cli.app", "--help"],
        capture_output=True,
        check=True,
        env={key: value for key, value in os.environ.items() if key not in asking},
    )
    assert b"\x1b" not in run.stdout + run.stderr
