"""Kinds and commands of other packages are found, checked and used like our own."""

import os
import subprocess
import sys

import pytest
from plugin_package import install

from adducir.core.errors import MachineError
from adducir.core.registry import Family
from adducir.runs.fusion import FUSION, FusionMethod
from adducir.testing import check_kind

BORDA = '''
"""Borda's count, of an author who is not of Adducir."""
from pydantic import Field
from adducir.runs.fusion import FusionMethod

class Borda(FusionMethod):
    """Points for each document that is ranked below."""
    bonus: float = Field(0.0, ge=0, description="Points for being ranked at all.")

    def contributions(self, run):
        return run.lengths[run.topics] - run.ranks - 1 + self.bonus

class Stranger:
    pass
'''


@pytest.fixture
def site(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    sys.modules.pop("borda_fusion", None)


def family():
    kinds = {name: FUSION.kind(name) for name in ("rrf", "combsum")}
    own = {name: f"{kind.__module__}:{kind.__name__}" for name, kind in kinds.items()}
    return Family("fusion", FusionMethod, own, what="fusion method")


def test_a_package_brings_a_kind(site):
    install(site, "borda_fusion", BORDA, {"adducir.fusion": {"borda": "Borda"}})
    found = family()
    assert list(found) == ["rrf", "combsum", "borda"]
    assert "borda_fusion" not in sys.modules  # names are known without importing anything
    assert found.make("borda", {"bonus": "2"}).model_dump() == {"bonus": 2.0}
    assert found.origin("borda") == {"package": "borda_fusion", "version": "1.2"}
    assert found.origin("rrf") == {}
    made = found.make("borda")
    assert found.name_of(type(made)) == "borda"
    assert found.settings(made, "method") == {
        "method": "borda",
        "package": "borda_fusion",
        "version": "1.2",
        "bonus": 0.0,
    }


def test_what_fails_when_a_kind_is_used_is_found_by_the_check(site):
    source = BORDA.replace(" + self.bonus", "").replace("return ", "return self.bonus * ")
    source = source.replace("run.lengths[run.topics] - run.ranks - 1", "run.lengths")
    install(site, "borda_fusion", source, {"adducir.fusion": {"points": "Borda"}})
    FUSION.__dict__.pop("_installed", None)
    try:
        with pytest.raises(
            AssertionError, match=r"contributions.* does not return a number per row"
        ):
            check_kind("fusion", "points")
    finally:
        FUSION.__dict__.pop("_installed", None)


def test_a_broken_package_is_named_with_its_line(site):
    install(site, "borda_fusion", f"{BORDA}\n1 / 0\n", {"adducir.fusion": {"borda": "Borda"}})
    with pytest.raises(MachineError, match=r"borda_fusion\.py:16: .*ZeroDivisionError") as caught:
        family().kind("borda")
    assert caught.value.exit_code == 4


def test_kinds_of_broken_packages_are_left_out_of_lists(site):
    install(site, "borda_fusion", BORDA, {"adducir.fusion": {"broken": "Nobody"}})
    assert list(family().kinds()) == ["rrf", "combsum"]


def test_two_kinds_of_one_name_are_refused(site):
    install(site, "borda_fusion", BORDA, {"adducir.fusion": {"rrf": "Borda"}})
    with pytest.raises(MachineError, match="borda_fusion and Adducir itself both have"):
        list(family())


READ = {"capture_output": True, "text": True, "check": True}


def test_another_package_has_commands_of_its_own(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/__init__.py").write_text('"""Greets."""\n')
    (tmp_path / "mine/commands.py").write_text(
        "from adducir.cli.command import option\n"
        "from adducir.core.recipe import Recipe\n\n\n"
        "class Greet(Recipe):\n    name: str = option('Whom.', argument=True)\n\n\n"
        "def greet(settings: Greet) -> None:\n"
        '    """Greet somebody."""\n    print("hello", settings.name)\n\n\n'
        "COMMANDS = (greet,)\n"
    )
    info = tmp_path / "mine-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[adducir.commands]\nmine = mine.commands\n")
    program = [sys.executable, "-m", "adducir"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    shown = subprocess.run([*program, "mine", "greet", "Ann"], env=environment, **READ)
    assert shown.stdout == "hello Ann\n"
    assert "Greets." in subprocess.run([*program, "-h"], env=environment, **READ).stdout
