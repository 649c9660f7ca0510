"""Contexts of grounded generation: files, and what is refused."""

from pathlib import Path

import pytest

from adducir.core.errors import InputError, UsageError
from adducir.studies.grounded_generation.contexts import (
    GroundedContext,
    read_contexts,
    write_contexts,
)

CONTEXTS = [
    GroundedContext("1", "Who was Vivaldi?", "A composer.", ("d4", "d5"), "music"),
    GroundedContext("2", "And then?"),
]


@pytest.mark.parametrize("name", ["contexts.jsonl", "contexts.jsonl.gz"])
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    assert write_contexts(CONTEXTS, tmp_path / name) == 2
    assert list(read_contexts(tmp_path / name)) == CONTEXTS


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "must be a JSON object"),
        ('{"id": "2"}', "has no 'input'"),
        ('{"id": "2", "input": "x", "question": "y"}', "no key 'question'"),
        ('{"id": "2", "input": 3}', "must be text"),
        ('{"id": "2", "input": "x", "gold": "d1"}', "list of docnos"),
        ('{"id": "2", "input": "x", "gold": ["d1", "d1"]}', "twice"),
        ('{"id": "2", "input": "x", "gold": ["d 1"]}', "white space"),
        ('{"id": "2", "input": "x", "group": 1}', "'group' must be text"),
        ('{"id": "1", "input": "x"}', "stands in line 1 already"),
    ],
)
def test_a_line_that_is_no_context_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "contexts.jsonl"
    path.write_text(f'{{"id": "1", "input": "x"}}\n\n{line}\n')
    with pytest.raises(InputError, match=message) as caught:
        list(read_contexts(path))
    assert (caught.value.path, caught.value.line) == (path, 3)


def test_an_id_is_written_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="comes twice"):
        write_contexts([CONTEXTS[0], CONTEXTS[0]], tmp_path / "contexts.jsonl")
    with pytest.raises(UsageError, match="white space"):
        GroundedContext("a b", "x")
