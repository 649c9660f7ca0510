"""Faults of machines, names and packages: each is said as what it is."""

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from plugin_package import install

from adducir.cli.app import main
from adducir.core.errors import ArtifactError, InputError, machine_error, sorted_error
from adducir.core.files import scratch_folder

RUN, QRELS = "1 Q0 d1 1 9 a\n1 Q0 d2 2 8 a\n2 Q0 d3 1 7 a\n", "1 0 d1 1\n2 0 d3 1\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.trec").write_text(RUN)
    Path("q.txt").write_text(QRELS)
    return tmp_path


def started(words: str, **options) -> subprocess.CompletedProcess:
    command = f'exec "{sys.executable}" -m adducir {words}'
    return subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, **options)


@pytest.mark.parametrize(
    "text",
    [
        "[enforce fail at inline_container.cc:672] . unexpected pos 102336 vs 102224",
        "PytorchStreamWriter failed writing file data/0: file write failed",
        "No space left on device (os error 28)",
    ],
)
def test_a_full_disk_is_known_by_what_libraries_say(text):
    assert machine_error(RuntimeError(text)).number == errno.ENOSPC


def test_what_an_error_quotes_is_not_taken_for_the_machine():
    quoted = "'out of memory (os error 28)', permission denied"
    damage = ArtifactError("this is damaged.")
    for error in (InputError(f"no such field: {quoted}."), ValueError(quoted), KeyError(quoted)):
        assert machine_error(error) is None
    assert sorted_error(InputError(quoted), Path("a"), damage) is damage
    refused = InputError("x")
    refused.__cause__ = PermissionError(errno.EACCES, "x")
    assert "permission" in str(sorted_error(refused, Path("a"), damage))


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_the_null_device(folder, closed):
    done = started(f"fuse a.trec a.trec -o f.trec --tag x {closed}")
    assert done.returncode == 0, done.stderr
    assert Path("f.trec").read_text().startswith("1 Q0 d1 1 ")
    done = started(f"evaluate a.trec none.trec -q q.txt {closed}")
    assert done.returncode == 3
    assert "error" not in done.stdout


@pytest.mark.parametrize("words", ["--help", "fuse --help"])
def test_help_whose_reader_is_gone_ends_like_every_other_output(folder, words):
    with subprocess.Popen([sys.executable, "-m", "adducir", *words.split()], stdout=-1) as process:
        process.stdout.close()
        assert process.wait() == 141


@pytest.mark.parametrize("form", ["terminal", "json"])
def test_names_that_are_not_utf_8(folder, form, capfd):
    name = os.fsdecode(b"b\xff.trec")
    Path(name).write_text(RUN)
    words = ["evaluate", "a.trec", name, "-q", "q.txt", "--caption", name, "--format", form]
    assert main(words) == 0
    shown = capfd.readouterr().out
    if form == "json":
        assert [row["system"] for row in json.loads(shown)["rows"]][1] == "b\\xff"
    assert main(["fuse", "a.trec", name, "-o", os.fsdecode(b"f\xff.trec")]) == 0
    Path("c.jsonl").write_text('{"id": "d1", "text": "cats"}\n')
    place = os.fsdecode(b"ix\xff")
    assert main(["index", "c.jsonl", "-o", place, "--engine", "memory"]) == 0
    assert main(["search", "-i", place, "--query", "cats"]) == 0
    assert main(["search", "-i", place, "--query", os.fsdecode(b"cats \xff")]) == 2


def test_scratch_folders_of_killed_processes_are_removed(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from adducir.core.files import scratch_folder\n"
        f"with scratch_folder(Path({str(tmp_path)!r})) as folder:\n"
        "    (folder / 'texts').write_text('x'); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    (left,) = tmp_path.iterdir()
    (tmp_path / ".adducir-scratch-notes").mkdir()
    with scratch_folder(tmp_path) as first, scratch_folder(tmp_path) as second:
        assert not left.exists()
        assert first.is_dir() and second.is_dir()
        assert stat.S_IMODE(first.stat().st_mode) == 0o700
    assert [one.name for one in tmp_path.iterdir()] == [".adducir-scratch-notes"]


PLUGIN = '''"""A package."""
raise {error}
'''


def test_packages_that_are_broken_or_replace_commands_are_named_and_stop_nothing(folder):
    broken = {"broken_one": "SystemExit(1)", "broken_two": "ImportError('libx')"}
    for name, error in broken.items():
        points = {"adducir.commands": {name: "X"}, "adducir.fusion": {f"of_{name}": "Sad"}}
        install(folder / "site", name, PLUGIN.format(error=error), points)
    names = {"index": "X", "evaluate": "X", "deepct": "X", "\x1b[31mred": "X", "fine": "X"}
    source = '"""Not the index."""\nCOMMANDS = ()\n'
    site = install(folder / "site", "other_commands", source, {"adducir.commands": names})
    place = {"env": os.environ | {"PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{site}"}}
    done = started("--help", **place)
    assert done.returncode == 0
    assert done.stdout.count("Cannot be imported") == 2
    assert "\x1b[31mred" not in done.stdout and "fine" in done.stdout
    assert "Build an index" in started("index --help", **place).stdout
    assert started("fuse a.trec a.trec -o f.trec", **place).returncode == 0
    for name in broken:
        done = started(f"{name} x", **place)
        assert (done.returncode, name in done.stderr) == (4, True)
    kinds, doctor = (started(words, **place).stdout for words in ("kinds fusion", "doctor"))
    assert all(name in kinds for name in broken)
    assert "broken_one" in doctor and "other_commands" in doctor


def test_a_damaged_cache_costs_nothing_but_time(folder, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    for content in (b"\xff\xfe\x00", b"", b"\x80" * 64):
        (folder / "cache/adducir").mkdir(parents=True, exist_ok=True)
        (folder / "cache/adducir/written").write_bytes(content)
        (folder / "cache/adducir/digests.sqlite").write_bytes(content)
        assert main(["evaluate", "a.trec", "-q", "q.txt", "-o", "t.html", "--force"]) == 0
        assert main(["evaluate", "a.trec", "-q", "q.txt", "-o", "t.html"]) == 0


def test_findings_as_csv_are_not_formulas(folder, capsys):
    Path("@bad.trec").write_text("1 Q0 d1 1 x a\n")
    assert main(["check", "@bad.trec", "-q", "q.txt", "--format", "csv"]) == 1
    assert "\n'@bad.trec," in capsys.readouterr().out
