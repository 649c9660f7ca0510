"""The program: its list of commands, its start, its errors and exit codes."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from every_command import GROUPS

import adducir
from adducir.cli import app
from adducir.cli.app import main
from adducir.cli.group import COMMANDS, CORE, MOVED
from adducir.core.errors import ArtifactError, InputError, MachineError, UsageError

DEMO = Path(__file__).parents[2] / "experiments" / "demo.yaml"


@pytest.fixture
def failing(monkeypatch):

    def fail(error):
        def run(arguments):
            raise error

        monkeypatch.setattr(app, "run", run)

    return fail


def test_help_lists_every_command(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["-h"]) == 0
    shown = capsys.readouterr().out
    for name in [*GROUPS, *(name for name in COMMANDS if " " not in name)]:
        assert f"\n  {name}  " in shown
    panels = [line for line in shown.splitlines() if line[:1].isalpha() and line.endswith(":")]
    assert panels[:2] == ["Options:", f"{CORE}:"]
    assert main(["nuggets"]) == 2
    assert "\n  assign " in capsys.readouterr().out
    assert main([]) == 0


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (UsageError("no.", hint="Do."), 2, "no. Do."),
        (InputError("no.", path="a/b.txt", line=7), 3, "a/b.txt:7: no."),
        (MachineError("no."), 4, "no."),
        (ArtifactError("no.", path="a"), 5, "a: no."),
        (MemoryError(), 4, "memory"),
        (OSError(errno.ENOSPC, "x", "runs/a.trec"), 4, "runs/a.trec: no space"),
        (PermissionError(errno.EACCES, "x", "runs/a.trec"), 4, "runs/a.trec: permission"),
        (OSError("odd"), 70, "--debug"),
        (ZeroDivisionError("oh\nno"), 70, "ZeroDivisionError: oh no."),
        (RecursionError(), 70, "RecursionError"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_errors_are_one_paragraph_and_a_code(failing, capsys, error, code, words):
    failing(error)
    assert main(["new"]) == code
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("adducir: ")
    assert words in err
    for arguments in (["--debug", "new"], ["new", "--debug"]):
        assert main(arguments) == code
        assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nwe"], "new"),
        (["new"], "FOLDER"),
        (["new", "a", "--mu", "3"], "--mu"),
        (["--nonsense"], "--nonsense"),
        (["encode", "-m", "x", "-o", "y", "-c", "z", "--workers", "two"], "--workers"),
        (["check", "x", "--set", "query_field=y"], "no effect without --topics"),
        (["filter", "x", "-o", "y", "--set", "duplicates=max"], "without --drop-judged or --keep"),
        (["search", "x", "y", "--set", "qid_field=z"], "no effect without --topics"),
    ],
)
def test_a_wrong_command_line_exits_2(capsys, arguments, words):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert words in err
    assert "--help'" in err


def test_former_names_of_commands_run_and_name_the_new_ones(capsys):
    for former, now in MOVED.items():
        assert main([*former.split(), "--help"]) == 0
        assert capsys.readouterr().err == f"adducir: `{former}` is now `{now}`.\n"


def test_version_and_arguments(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["adducir", "--version"])
    assert main() == 0
    assert capsys.readouterr().out == f"adducir {adducir.__version__}\n"
    monkeypatch.chdir(tmp_path)
    assert main(["new", "--", "--debug"]) == 0
    assert (tmp_path / "--debug" / "experiments").is_dir()
    monkeypatch.setenv("ADDUCIR_VERIFY", "0")
    assert main(["doctor", "--help", "--verify"]) == 0
    assert os.environ["ADDUCIR_VERIFY"] == "1"


_RUNNING = """
import sys, time
from adducir.cli import app
def run(arguments):
    {what}
app.run = run
sys.exit(app.main([]))
"""


def started(what):
    code = _RUNNING.format(what=what)
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_a_reader_that_goes_away_is_no_error():
    with started("for number in range(1_000_000): print(number)") as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_ctrl_c_ends_the_real_program_with_130():
    with started("print('ready', flush=True); time.sleep(30)") as process:
        process.stdout.readline()
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert b"adducir: interrupted; the same command goes on" in process.stderr.read()
    assert process.returncode == 130


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("adducir e", {"plain,evaluate", "plain,experiment"}),
        ("adducir nuggets cr", {"plain,create"}),
        ("adducir annotations proxy-m", {"plain,proxy-make"}),
        ("adducir encode --s", {"plain,--spans", "plain,--sparse"}),
        ("adducir index x --engine mem", {"plain,memory"}),
        ("adducir search --quotes li", {"plain,literal"}),  # a rare option
        ("adducir evaluate runs/b", {"file,runs/b"}),
        ("adducir search --k1 0", set()),
    ],
)
def test_completion_offers_commands_options_choices_and_files(words, offered):
    position = str(len(words.split()) - 1)
    asked = {"_ADDUCIR_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": position}
    run = subprocess.run(
        [sys.executable, "-m", "adducir.cli.app"],
        env=os.environ | asked,
        capture_output=True,
        text=True,
    )
    assert offered <= set(run.stdout.split())
    assert run.stdout.strip() if offered else not run.stdout.strip()


# What makes a start slow: a help loads none of it, and a plan of a lexical study no network.
HEAVY = {"torch", "pandas", "polars", "scipy", "statsmodels", "pyterrier", "ir_datasets"}
HEAVY |= {"ir_measures", "pytrec_eval", "transformers", "jnius", "pyserini", "numba", "orjson"}
NETWORKS = {"torch", "transformers", "sentence_transformers", "faiss", "numba", "pyterrier"}


def imported_by(code):
    code = f"import sys\n{code}\nprint(sorted(sys.modules), file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "\x1b" not in run.stdout
    return set(eval(run.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    ("arguments", "without"),
    [
        (["--version"], HEAVY | {"click", "rich", "pydantic", "numpy"}),
        (["--help"], HEAVY | {"rich", "pydantic", "numpy", "adducir.cli.index"}),
        (["evaluate", "--help"], HEAVY | {"rich", "numpy", "adducir.indexes"}),
        (["experiment", str(DEMO), "--dry-run"], NETWORKS),
    ],
)
def test_starting_imports_nothing_heavy(arguments, without):
    code = f"from adducir.cli.app import main\nassert main({arguments!r}) == 0"
    assert not without & imported_by(code)


def test_a_query_of_a_memory_index_imports_only_what_answers_it(tmp_path):
    (tmp_path / "c.tsv").write_text("d1\tcats purr\nd2\tdogs bark\n")
    index = str(tmp_path / "index")
    assert main(["index", str(tmp_path / "c.tsv"), "--engine", "memory", "-o", index]) == 0
    code = f"from adducir.cli.app import main\nassert main({['search', index, 'cats']!r}) == 0"
    unused = {"adducir.corpora.topics", "adducir.runs.run", "adducir.indexes.settings", "yaml"}
    unused |= {"asyncio", "jinja2", "tqdm", "pyarrow"} | NETWORKS | HEAVY - {"polars", "orjson"}
    assert not unused & imported_by(code)


def test_no_option_of_a_command_imports_anything_heavy():
    code = "from adducir.cli.group import COMMANDS, load_command\n"
    code += "for name in COMMANDS: load_command(name)"
    assert not (HEAVY | {"rich", "numpy", "adducir.runs.run"}) & imported_by(code)
