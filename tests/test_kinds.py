"""Every kind of every family passes what plug-in authors are asked to pass."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from every_command import COMMANDS, load_command
from pydantic import Field

from adducir.core.errors import UsageError
from adducir.core.meanings import docstrings, meaning
from adducir.core.recipe import Recipe
from adducir.core.registry import Family
from adducir.families import FAMILIES, family
from adducir.runs.fusion import FusionMethod
from adducir.testing import check_kind

KINDS = [(name, kind) for name in FAMILIES for kind in family(name)]

_DATA = {"topics": {"t": {"source": "t.tsv", "qrels": "q.txt"}}, "systems": {"A": {"run": "a.run"}}}
SETTINGS: dict[tuple[str, str], dict[str, Any]] = {
    ("tasks", "retrieval"): _DATA,
    ("tasks", "known-item"): {
        "task": "known-item",
        "data": {"A": {"spans": "a.jsonl"}},
        "contexts": {"L": {}},
        "systems": {"BM25": {"bm25": {}}},
    },
    ("tasks", "evidence-sets"): {
        "task": "evidence-sets",
        "data": {"A": [{"train": "a.jsonl", "test": "b.jsonl"}]},
        "systems": {"ours": {"recipe": "rerankers/ours.yaml"}},
    },
    ("tasks", "grounded-generation"): {
        "task": "grounded-generation",
        "data": {"arguments": "arguments.jsonl"},
        "systems": {"BM25": {"bm25": {}}},
    },
    ("systems", "fuse"): {"fuse": ["A", "B"]},
    ("systems", "run"): {"run": "a.run"},
    ("ranking_systems", "bm25"): {"bm25": {}},
    ("indexes", "weights"): {"weights": "weights.jsonl"},
    ("indexes", "dense"): {"encoder": "minilm"},
    ("encoders", "average"): {"base": str(Path(__file__).parent / "helpers/words.vec")},
}
"""What kinds need that cannot be made up."""


@pytest.mark.parametrize(("of", "name"), KINDS)
def test_a_kind_is_like_any_other(of: str, name: str) -> None:
    check_kind(of, name, settings=SETTINGS.get((of, name)))


def test_every_setting_says_below_it_what_it_means() -> None:
    """Settings shared by their type and options of commands say it there, and nobody twice."""
    assert all(load_command(name) for name in COMMANDS)
    assert all(family(of).kind(name) for of, name in KINDS)
    kinds: list[type[Recipe]] = [Recipe]
    for kind in kinds:  # grows
        kinds += kind.__subclasses__()
    settings = {kind: kind.model_fields for kind in kinds if kind.__module__.startswith("adducir.")}
    assert len(settings) > 300
    for kind, fields in settings.items():
        for key, field in fields.items():
            below = docstrings(kind.__module__).get(f"{kind.__qualname__}.{key}")
            assert re.match(r"\S.*[.)]$", meaning(kind, key)), (kind, key)
            assert below is None or field.description is None, (kind, key)
    with suppress(ZeroDivisionError):  # wherever its class stands

        class Nested(Recipe):
            size: int = 1
            """The size."""

    assert meaning(Nested, "size") == "The size."


def test_every_family_is_listed_and_documented() -> None:
    root = Path(__file__).parents[1] / "adducir"
    made = {
        name
        for path in root.rglob("*.py")
        for name in re.findall(r'= Family\(\s*"([\w-]+)"', path.read_text(encoding="utf-8"))
    }
    assert made == set(FAMILIES)
    assert all(family(name).name == name for name in FAMILIES)
    with pytest.raises(UsageError, match="did you mean `fusion`"):
        family("fussion")


class _Base(FusionMethod):
    """Points for every document."""

    k: int = Field(1, ge=1)
    """Points."""

    def contributions(self, run):
        return run.frame["score"].to_numpy() * self.k


class Undocumented(_Base):
    k: int = Field(1, ge=1, description="Points.")


class NoDescription(_Base):
    """Points for every document."""

    bonus: float = 0.0  # a comment is not one


class Unfinished(FusionMethod):
    """Points for every document."""


class Forgetful(_Base):
    """Points for every document."""

    def model_dump(self, **_):
        return {"k": 7}


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (Undocumented, "lacks a sentence"),
        (NoDescription, "bonus lacks a description"),
        (Unfinished, "contributions must be defined"),
        (Forgetful, "changes when it is read back"),
    ],
)
def test_what_a_kind_lacks_is_said(kind, what, monkeypatch) -> None:
    mine = Family("fusion", FusionMethod, {"x": f"{__name__}:{kind.__name__}"}, what="method")
    monkeypatch.setattr("adducir.testing.family_of", lambda _: mine)
    with pytest.raises(AssertionError, match=what):
        check_kind("fusion", "x")


def test_every_row_of_the_listing_is_one_row(capsys: pytest.CaptureFixture[str]) -> None:
    """Bars and line breaks in descriptions do not break the Markdown."""
    from adducir.cli.app import main

    assert main(["kinds"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    rows = [line for line in lines if line.startswith("|")]
    assert {line.replace(r"\|", "").count("|") for line in rows} == {4}
    assert all(line[:1] in "|#EA" for line in lines)
