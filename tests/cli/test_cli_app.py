"""The entry point: errors become one paragraph and an exit code, whatever they are."""

import errno
import os
import signal
import subprocess
import sys
import time

import pytest
import typer

import adducir
from adducir.cli import app, group
from adducir.cli.app import main
from adducir.core.errors import ArtifactError, InputError, MachineError, UsageError


def failing(monkeypatch, error):
    """Make ``adducir new`` raise ``error``."""

    def new() -> None:
        """Fail."""
        raise error

    one = typer.Typer(add_completion=False)
    one.command("new")(new)
    monkeypatch.setattr(group, "load_command", lambda name: typer.main.get_command(one))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("no.", hint="Do."), 2),
        (InputError("no.", path="a/b.txt", line=7, hint="Do."), 3),
        (MachineError("no.", hint="Do."), 4),
        (ArtifactError("no.", path="a", hint="Do."), 5),
    ],
)
def test_adducirs_errors_are_one_paragraph(monkeypatch, capsys, error, code):
    failing(monkeypatch, error)
    assert main(["new"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"adducir: error: {error.paragraph()}\n"


def test_the_place_is_named(monkeypatch, capsys):
    failing(monkeypatch, InputError("no.", path="a/b.txt", line=7))
    main(["new"])
    assert capsys.readouterr().err == "adducir: error: a/b.txt:7: no.\n"


def test_debug_shows_the_traceback_wherever_it_stands(monkeypatch, capsys):
    failing(monkeypatch, InputError("no."))
    for arguments in (["--debug", "new"], ["new", "--debug"]):
        assert main(arguments) == 3
        err = capsys.readouterr().err
        assert "Traceback (most recent call last)" in err
        assert err.endswith("adducir: error: no.\n")


def test_debug_after_two_dashes_is_an_argument(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "--", "--debug"]) == 0
    assert (tmp_path / "--debug" / "experiments").is_dir()


def test_an_error_of_ours_says_so_and_exits_70(monkeypatch, capsys):
    failing(monkeypatch, ZeroDivisionError("oh\nno"))
    assert main(["new"]) == 70
    err = capsys.readouterr().err
    assert "an internal error in Adducir itself: ZeroDivisionError: oh no." in err
    assert "--debug" in err
    assert "Traceback" not in err
    assert err.count("\n") == 1


def test_an_error_of_ours_without_words(monkeypatch, capsys):
    failing(monkeypatch, RecursionError())
    assert main(["new"]) == 70
    assert "Adducir itself: RecursionError. Run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "not enough memory"),
        (OSError(errno.ENOSPC, "x", "runs/a.trec"), "runs/a.trec: no space is left on the disk"),
        (OSError(errno.EDQUOT, "x"), "no space is left on the disk"),
        (PermissionError(errno.EACCES, "x", "runs/a.trec"), "runs/a.trec: permission denied."),
    ],
)
def test_the_machines_limits_exit_4(monkeypatch, capsys, error, words):
    failing(monkeypatch, error)
    assert main(["new"]) == 4
    assert words in capsys.readouterr().err


def test_an_os_error_about_nothing_is_an_error_of_ours(monkeypatch, capsys):
    failing(monkeypatch, OSError("odd"))
    assert main(["new"]) == 70


def test_interruption_is_one_line_and_130(monkeypatch, capsys):
    failing(monkeypatch, KeyboardInterrupt())
    assert main(["new"]) == 130
    assert capsys.readouterr().err == "adducir: interrupted.\n"


@pytest.mark.parametrize("code", [0, 1, 7])
def test_typers_exit_keeps_its_code(monkeypatch, capsys, code):
    failing(monkeypatch, typer.Exit(code))
    assert main(["new"]) == code
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nwe"], "no such command 'nwe'. Did you mean 'new'? See 'adducir --help'."),
        (["new"], "missing argument 'FOLDER'. See 'adducir new --help'."),
        (["new", "a", "--mu", "3"], "no such option: --mu. See 'adducir new --help'."),
        (["--nonsense"], "no such option: --nonsense"),
        (["evaluate", "a", "--qrels", "q", "--test", "x"], "'--test'"),
        (
            ["evaluate", "a", "--qrels", "q", "--set", "decimals=99"],
            "'--set decimals': should be at most 15, not '99'. See",
        ),
        (["evaluate", "a", "--alpha", "x"], "'--alpha': should be a number, not 'x'. See"),
        (
            ["experiment", "x.yaml", "--jobs", "two"],
            "'--jobs' / '-j': should be a whole number, not 'two'. See",
        ),
        (["experiment", "x.yaml", "--jobs", "0"], "'-j': should be at least 1, not '0'. See"),
        (["experiment", "x.yaml", "--jobs", "-1.5"], "should be a whole number, not '-1.5'. See"),
    ],
)
def test_a_wrong_command_line_exits_2(capsys, arguments, words):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("adducir: error: ")
    assert words in err
    assert err.count("\n") == 1


def test_nothing_shows_the_help(capsys):
    assert main([]) == 0
    assert "Usage: adducir" in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"adducir {adducir.__version__}\n"
    assert main(["--version", "new"]) == 0
    assert capsys.readouterr().out == f"adducir {adducir.__version__}\n"


def test_a_long_error_is_wrapped_on_a_terminal_only(monkeypatch, capsys):
    text = "word " * 60 + "end."
    failing(monkeypatch, InputError(text))
    main(["new"])
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    main(["new"])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 5
    assert max(map(len, lines)) <= 50


def test_a_terminal_without_unicode_gets_escapes(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "adducir.cli.app", "evaluate", "→.trec", "--qrels", "q"],
        env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        cwd=tmp_path,
    )
    assert run.returncode == 3
    assert b"Traceback" not in run.stderr


def test_a_reader_that_goes_away_is_no_error():
    with subprocess.Popen(
        [sys.executable, "-c", _MANY_LINES], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


_MANY_LINES = """
import sys
from adducir.cli import app
def run(arguments):
    for number in range(1_000_000):
        print(number)
app.run = run
sys.exit(app.main([]))
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_ctrl_c_ends_the_real_program_with_130():
    with subprocess.Popen(
        [sys.executable, "-c", _SLEEPING], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b"adducir: interrupted.\n"
    assert process.returncode == 130


_SLEEPING = """
import sys, time
from adducir.cli import app
def run(arguments):
    print("ready", flush=True)
    time.sleep(30)
app.run = run
sys.exit(app.main([]))
"""


def test_completion_offers_commands_and_choices():
    def completed(words, position):
        run = subprocess.run(
            [sys.executable, "-m", "adducir.cli.app"],
            env=os.environ
            | {
                "_ADDUCIR_COMPLETE": "complete_bash",
                "COMP_WORDS": words,
                "COMP_CWORD": str(position),
            },
            capture_output=True,
            text=True,
        )
        return run.stdout.split()

    assert {"evaluate", "experiment"} <= set(completed("adducir e", 1))
    assert "--equivalence" in completed("adducir evaluate x --e", 3)
    assert completed("adducir evaluate x --test ran", 4) == ["randomisation"]


def test_main_takes_the_process_arguments(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["adducir", "--version"])
    assert app.main() == 0
    assert capsys.readouterr().out.startswith("adducir ")
