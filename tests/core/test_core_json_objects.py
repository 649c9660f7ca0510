"""Objects of a JSON file one after another, in bounded memory and with exact places of errors."""

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core import json_lines
from adducir.core.errors import InputError
from adducir.core.json_lines import is_json, json_objects, json_unique, read_objects

values = st.recursive(
    st.none()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=9,
)


@given(
    st.lists(st.dictionaries(st.text(max_size=5), values, max_size=4), max_size=6),
    st.sampled_from([None, 1]),
    st.booleans(),
    st.integers(1, 7),
)
def test_what_was_written_comes_back(tmp_path_factory, records, indent, array, size) -> None:
    """Read in pieces of any size: a value may be cut anywhere."""
    path = tmp_path_factory.getbasetemp() / "objects.json"
    text = json.dumps(records, indent=indent, ensure_ascii=False)
    if not array:
        text = "\n".join(json.dumps(one, indent=indent) for one in records)
    path.write_text(text, encoding="utf-8")
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lines, "read_pieces", lambda _: iter(pieces))
        found = list(read_objects(path))
    assert [value for _, value in found] == records
    if indent is None and not array:
        assert [line for line, _ in found] == list(range(1, len(records) + 1))


def test_memory_is_that_of_one_object(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    record = json.dumps({"text": "x" * 1000})
    path.write_text(f"[{','.join([record] * 30_000)}]")
    tracemalloc.start()
    assert sum(1 for _ in read_objects(path)) == 30_000
    assert tracemalloc.get_traced_memory()[1] < 4_000_000  # of 30 MB
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[{"a": 1},\n{"b" 2},' + '{"c": 3},' * 99_999 + "]", 2),
        ('[{"a": 1},\n{"b": "' + "x" * 300_000, 2),
        ('{"a": 1}\n{"b": ' + "[" * 300_000 + "]" * 300_000 + "}", 2),
        ('{"a": ' + "1" * 5_000 + "}", 1),
        ('[{"a": 1}', 1),
        ('{"a": 1}\n{"b": 2\n', 2),
        ('[{"a": 1},\n]', 2),
        ('[{"a": 1}]\n{}', 2),
        ("[{},\n3]", 2),
    ],
)
def test_errors_tell_their_place(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        list(read_objects(path))
    assert caught.value.line == line


REFUSED = [
    "NaN",
    "-Infinity",
    "1e400",
    "1" * 5_000,
    '"\\ud83d"',
    '"\\udca9 x"',
    '"a\tb"',
    "[1, [NaN]]",
    "01",
    "'a'",
]
LARGE = [str(2**64), str(-(2**63) - 1), f'{{"deep": [{{"n": {10**30}}}, 1e300]}}']
TAKEN = [
    *LARGE,
    *["1e30", str(2**64 - 1), str(-(2**63)), '"\\ud83d\\udca9"', "-0.0", '{"a": [1.5, 1e300]}'],
]


@pytest.mark.parametrize("value", [*REFUSED, *TAKEN])
def test_lines_arrays_and_whole_files_read_alike(tmp_path: Path, value: str) -> None:
    """Today's three readers are one: what a line takes or refuses, an array does."""
    record = f'{{"id": "d", "value": {value}, "more": {{"a": "}}"}}}}'
    texts = {"a.jsonl": f"{{}}\n{record}\n", "b.json": f"[{{}},\n{record}]", "c.json": record}
    found = list[object]()
    for name, text in texts.items():
        path = tmp_path / name
        path.write_text(text)
        reader = json_objects if name == "a.jsonl" else read_objects
        try:
            found.append(list(reader(path))[-1][1])
        except InputError as error:
            assert value in REFUSED
            assert error.line == (1 if name == "c.json" else 2)
            found.append("refused")
        try:
            found.append(json_unique(record, path))
        except InputError:
            found.append("refused")
    assert all(repr(one) == repr(found[0]) for one in found)
    assert (found[0] == "refused") == (value in REFUSED)


def test_what_begins_like_json() -> None:
    for text in ('{"a": 1}', ' [\n{"a', '["a"]', "[[1]]", "{}", "\ufeff[{"):
        assert is_json(text)
    for text in ("", "[", "{", "[1]", "[Note]", "{x}", "x", "[ ]"):
        assert not is_json(text)
