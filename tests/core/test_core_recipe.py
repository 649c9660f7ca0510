"""Recipes: validation, errors with places and nearest keys, overrides."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError, model_validator

from adducir.core import config
from adducir.core.config import read, validate
from adducir.core.errors import InputError
from adducir.core.recipe import Recipe, errors_at, needs
from adducir.core.texts import nearest


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Feedback(Recipe):
    fb_terms: Annotated[int, Field(ge=1)] = 10
    fb_docs: int = 10


class Sparse(Recipe):
    kind: Literal["bm25", "qld", "dense"]
    encoder: str = "minilm"
    k1: float = 0.9
    rm3: Feedback | None = None


class Search(Recipe):
    index: str
    fields: tuple[str, ...] = ()
    depth: int = 1000


class Study(Recipe):
    name: str = "study"
    colour: Colour = Colour.RED
    depth: int = 10
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    positions: bool = True
    qrels: str | tuple[str, ...] = ()
    systems: dict[str, Sparse] = Field({})
    rows: list[Search] = Field([])
    folder: Path | None = None
    baseline: str | None = None
    level: Annotated[int, needs("baseline")] = 1

    @model_validator(mode="after")
    def _baseline(self) -> "Study":
        if self.depth == 13:
            raise ValueError("13 brings bad luck")
        if self.baseline is not None and self.baseline not in self.systems:
            raise errors_at(
                (("baseline",), f"no such system{nearest(self.baseline, self.systems)}")
            )
        return self


GOOD = """\
name: a study
systems:
  bm25:
    kind: bm25
    k1: 0.9
  v1.0 dense:
    kind: dense
    encoder: minilm
rows:
  - index: a
  - index: b
    fields: [a, b]
"""


@pytest.fixture
def check(tmp_path: Path):
    """Validate a text; gives the recipe, or the error's message without the folder."""

    def checker(text: str, *changes: str) -> Study | str:
        path = tmp_path / "a.yaml"
        path.write_text(text, encoding="utf-8")
        try:
            return validate(config.load(path), Study, changes)
        except InputError as error:
            assert error.path == path
            return str(error).replace(f"{tmp_path}/", "")

    return checker


def test_a_good_recipe(check) -> None:
    recipe = check(GOOD)
    assert recipe.systems["bm25"] == Sparse(kind="bm25", k1=0.9)
    assert recipe.rows == [Search(index="a"), Search(index="b", fields=("a", "b"))]
    with pytest.raises(ValidationError):
        recipe.depth = 5


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("nam: x\n", 1, ("`nam`", "did you mean `name`?")),
        (GOOD + "zzz: 1\n", 13, ("`zzz`", "`alpha`, `baseline`")),
        ("systems:\n  x:\n    kind: qld\n    k11: 1\n", 4, ("`systems.x.k11`", "`k1`?")),
        ("systems:\n  x: {kind: bm52}\n", 2, ("`systems.x.kind`", "did you mean `bm25`?")),
        ("rows:\n  - index: a\n  - index: a\n    dept: 5\n", 4, ("`rows.1.dept`", "`depth`?")),
        ("qrels:\n  - a\n  - 5\n", 3, ("`qrels.1`", "in quotes")),
        ("depth: many\n", 1, ("`depth`", "'many'")),
        ("rows:\n  - index: a\n    depth: false\n", 3, ("`rows.0.depth`", "false")),
        ("alpha: .nan\n", 1, ("`alpha`", "finite")),
        ("colour: rde\n", 1, ("`colour`", "did you mean `red`?")),
        ("name: a\n\ndepth: 13\n", 1, ("13 brings bad luck",)),
        (GOOD + "baseline: bm52\n", 13, ("`baseline`", "did you mean `bm25`?")),
        ("name: a\nlevel: 3\n", 2, ("has no effect without `baseline`",)),
    ],
)
def test_single_errors(check, text: str, line: int, words) -> None:
    message = check(text)
    assert message.startswith(f"a.yaml:{line}: ")
    for word in words:
        assert word in message


def test_all_errors_come_at_once_in_the_order_of_lines(check) -> None:
    text = "depth: x\nsystems:\n  a: {kind: qld, k1: y}\ncolor: red\nalpha: 7\n"
    first, *lines = check(text, "positons=true", "name=[1]", "rows.0.index=a").splitlines()
    assert first.startswith("a.yaml: 7 errors")
    places = ["a.yaml:1: at `depth`", "a.yaml:3: at `systems.a.k1`", "a.yaml:4: at `color`"]
    places += ["a.yaml:5: at `alpha`", "in the override `positons=true`: at `positons`"]
    places += ["in the override `name=[1]`", "in the override `rows.0.index=a`"]
    for line, place in zip(lines, places, strict=True):
        assert line.strip().startswith(place)


def test_overrides(check) -> None:
    recipe = check(
        GOOD,
        "depth=5",
        "alpha=1e-3",
        "systems.bm25.k1=1.2",
        "systems.v1.0 dense.encoder=e5",
        "systems.new.kind=qld",
        'systems."x=1.5".kind=qld',
        "systems.bm25.rm3.fb_terms=20",
        "rows.0.depth=7",
        "rows.1.fields.1=c=d",
        "depth=6",
        "qrels=[a, b]",
    )
    assert recipe.depth == 6
    assert recipe.alpha == 1e-3
    assert recipe.systems["bm25"].k1 == 1.2
    assert recipe.systems["v1.0 dense"].encoder == "e5"
    assert recipe.systems["bm25"].rm3 == Feedback(fb_terms=20)
    assert set(recipe.systems) == {"bm25", "v1.0 dense", "new", "x=1.5"}
    assert recipe.rows == [Search(index="a", depth=7), Search(index="b", fields=("a", "c=d"))]
    assert recipe.qrels == ("a", "b")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("depth", "key=value"),
        ("rows.2.index=a", "`rows`"),
        ("name.x=a", "`name`"),
        ("sistems.bm25.k1=1", "did you mean `systems`?"),
        ("systems.bm25.k1=x", "at `systems.bm25.k1`"),
    ],
)
def test_wrong_overrides(check, change: str, words: str) -> None:
    message = check(GOOD, change)
    assert message.startswith(f"a.yaml: in the override `{change}`: ")
    assert words in message


@given(
    st.dictionaries(
        st.sampled_from([*Study.model_fields, "nam", "x"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text("abc:- "),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["kind", "k1", "index", "fuse", "rm3"]), inner, max_size=3
                )
            ),
            max_leaves=8,
        ),
        min_size=1,
    )
)
def test_every_recipe_is_taken_or_reported_what_is_wrong(tmp_path_factory, data) -> None:
    import yaml as pyyaml

    path = tmp_path_factory.mktemp("any") / "a.yaml"
    path.write_text(pyyaml.safe_dump(data), encoding="utf-8")
    assert isinstance(read(config.load(path), Study).in_part()[0], Study)
    try:
        assert isinstance(validate(config.load(path), Study), Study)
    except InputError as error:
        lines = str(error).splitlines()
        assert len(lines) == 1 or len(lines) == int(lines[0].split(": ")[1].split()[0]) + 1
        assert all(str(path) in line for line in lines)
        assert "Input" not in str(error)
