"""Objects of a JSON file one after another, in bounded memory and with exact places of errors."""

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core import json_lines
from adducir.core.errors import InputError
from adducir.core.json_lines import is_json, read_objects

values = st.recursive(
    st.none() | st.integers() | st.text(max_size=9),
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


def test_what_begins_like_json() -> None:
    for text in ('{"a": 1}', ' [\n{"a', '["a"]', "[[1]]", "{}", "\ufeff[{"):
        assert is_json(text)
    for text in ("", "[", "{", "[1]", "[Note]", "{x}", "x", "[ ]"):
        assert not is_json(text)
