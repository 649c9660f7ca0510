"""YAML as recipes are written in it: values, lines, and every refusal with its line."""

import re
from pathlib import Path

import pytest
import yaml as pyyaml
from hypothesis import given
from hypothesis import strategies as st

from adducir.core import config
from adducir.core.errors import InputError


@pytest.fixture
def write(tmp_path: Path):
    def writer(text: str) -> Path:
        path = tmp_path / "a.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return writer


def refusal(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        config.load(path)
    assert caught.value.path == path
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-5", 1e-5),
        (".inf", float("inf")),
        ("100_000", 100_000),
        ("1_00", "1_00"),
        ("0x1F", 31),
        ("0o17", 15),
        ("010", "010"),
        ("12:30", "12:30"),
        ("2020-04-01", "2020-04-01"),
        ("true", True),
        ("no", "no"),
        ("~", None),
        ("", None),
        ("'5'", "5"),
        ('"true"', "true"),
        ("[a, 1, {b: no}]", ["a", 1, {"b": "no"}]),
    ],
)
def test_scalars(write, text: str, value) -> None:
    found = config.load(write(f"a: {text}\n")).data["a"]
    assert found == value
    assert type(found) is type(value)
    assert config.parse_value(text) == value


# PyYAML, which writes YAML 1.1, leaves 0E0 and 0o7 plain: texts there, numbers in 1.2.
NUMBER = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?|0o[0-7]+|0x[0-9a-fA-F]+")
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"])).filter(
        lambda text: not NUMBER.fullmatch(text)
    ),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(categories=["L"])), inner)
    ),
    max_leaves=10,
)


@given(value=PLAIN, flow=st.booleans())
def test_what_pyyaml_writes_is_read(tmp_path_factory, value, flow: bool) -> None:
    path = tmp_path_factory.mktemp("round") / "a.yaml"
    text = pyyaml.safe_dump({"key": value}, default_flow_style=flow, allow_unicode=True)
    path.write_text(text, encoding="utf-8")
    assert config.load(path).data == {"key": value}


LINES = """\
# a comment
systems:
  bm25:
    k1: 0.9

    fields:
      - text
      - title
  shared: &shared
    depth: 10
  other:
    <<: *shared
    mu: 5
"""


def test_lines(write) -> None:
    document = config.load(write(LINES))
    assert document.line_of(()) == 2
    assert document.line_of(("systems",)) == 2
    assert document.line_of(("systems", "bm25", "k1")) == 4
    assert document.line_of(("systems", "bm25", "fields", 1)) == 8
    assert document.line_of(("systems", "bm25", "fields", 7, "x")) == 6
    assert document.line_of(("systems", "bm25", "nothing")) == 3
    assert document.line_of(("systems", "other", "mu")) == 13
    assert document.line_of(("systems", "other", "depth")) == 10
    assert document.data["systems"]["other"] == {"depth": 10, "mu": 5}


def test_twofold_keys(write) -> None:
    path = write("a: 1\nb:\n  c: 1\n  d: 2\n  'c': 3\n")
    error = refusal(path)
    assert str(error).startswith(f"{path}:5: the key 'c' is repeated here")
    assert "the first is on line 3" in str(error)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", None, "lines"),
        ("a:\n\tb: 1\n", 2, "Indent with spaces"),
        ("- a\n- b\n", 1, "lines"),
        ("a: 1\n[x, y]: 2\n", 2, "cannot be a key"),
        ("a: 1\nb: *nope\n", 2, "undefined alias"),
        ("a: 1\nb: !!python/object/apply:os.system [x]\n", 2, "!!python/object/apply:os.system"),
        ("a: !!int five\n", 1, "'five' does not have the type int"),
        ("a: 1\nb: &b\n  c: *b\n", 2, "refers to a value that contains it"),
        ("a: " + "[" * 100_000, 1, "nested more than 100 deep"),
    ],
)
def test_refusals(write, text: str, line, words: str) -> None:
    error = refusal(write(text))
    assert words in str(error)
    if line is not None:
        assert error.line == line
    assert "\n" not in str(error)


def test_aliases_cannot_fill_the_memory(write) -> None:
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for level in range(1, 12):
        text += f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n"
    assert "aliases expand this to more than 1,000,000 values" in str(refusal(write(text)))
