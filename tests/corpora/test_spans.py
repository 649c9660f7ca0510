"""Masked spans: their file, their contexts, and splits that keep groups apart."""

import gzip
import json

import pytest
from pydantic import ValidationError

from adducir.core.errors import InputError, UsageError
from adducir.corpora.spans import MaskedSpan, context, read_spans, write_spans
from adducir.training.data import GroupShares, part_of, split

SPAN = MaskedSpan(
    "q1:7", "q1", ("One two.", "Three four,"), ("(e.g. five)",), ("six.", "Seven eight nine.")
)
LINE = {"id": "a", "group": "g", "left": [], "span": ["x"], "right": []}


@pytest.mark.parametrize("name", ["s.jsonl", "s.jsonl.gz"])
def test_what_is_written_is_read(tmp_path, name):
    text = ("“Ünïcode” \u2028 too.",)
    rich = MaskedSpan("b", "S & S", (), text, (), "c9", ("no",), {"start": 3, "x": None})
    assert write_spans([SPAN, rich], tmp_path / name) == 2
    assert list(read_spans(tmp_path / name)) == [SPAN, rich]
    raw = (tmp_path / name).read_bytes()
    lines = (gzip.decompress(raw) if name.endswith(".gz") else raw).splitlines()
    assert [list(json.loads(line)) for line in lines] == [
        ["id", "group", "left", "span", "right"],
        ["id", "group", "left", "span", "right", "candidate", "negatives", "extra"],
    ]


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"id": "a b"}, "id"),
        ({"id": 3}, "id"),
        ({"group": " "}, "group"),
        ({"span": []}, "span"),
        ({"span": ["  "]}, "span"),
        ({"left": "text"}, "left"),
        ({"right": [1]}, "right.0"),
        ({"negatives": ["x", 1]}, "negatives.1"),
        ({"candidate": "c d"}, "candidate"),
        ({"extra": []}, "extra"),
        ({"marker": "e.g."}, "marker"),
        ({"id": "a"}, "on line 2"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, change, key):
    path = tmp_path / "s.jsonl"
    path.write_text("\n" + json.dumps(LINE) + "\n" + json.dumps(LINE | {"id": "z"} | change) + "\n")
    with pytest.raises(InputError, match=key) as caught:
        list(read_spans(path))
    assert (caught.value.path, caught.value.line) == (path, 3)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({}, ("One two. Three four,", "six. Seven eight nine.")),
        ({"left": 1, "right": 1}, ("Three four,", "six.")),
        ({"left": 0, "right": 0}, ("", "")),
        ({"left": 9, "right": 9}, ("One two. Three four,", "six. Seven eight nine.")),
        ({"words": 3}, ("two. Three four,", "six. Seven eight")),
        ({"words": 0}, ("", "")),
        ({"left": 1, "right": 0, "words": 1}, ("four,", "")),
    ],
)
def test_contexts_are_cut_to_what_is_nearest(arguments, wanted):
    assert context(SPAN, **arguments) == wanted


def group_of(name):
    return name.partition(":")[0]


def test_splits_keep_groups_apart_and_the_order_on_average():
    items = [f"g{n}:{k}" for n in range(5000) for k in (0, 1)]
    parts = split(items, group_of)
    assert list(parts) == ["train", "validation", "test"]
    groups = [set(map(group_of, part)) for part in parts.values()]
    assert sum(map(len, groups)) == len(set().union(*groups)) == 5000
    assert parts["train"] == [item for item in items if group_of(item) in groups[0]]
    # Four standard deviations of a binomial: 4 * sqrt(5000 * .8 * .2) = 113
    assert abs(len(groups[0]) - 4000) < 113
    assert split(items, group_of, seed=6) != parts
    shares = {"test": 0.1, "validation": 0.1, "train": 0.8}  # the order is of no account
    assert all(part_of(group, shares) == part for part in parts for group in groups.pop(0))


@pytest.mark.parametrize(
    "shares", [{"train": 0.5, "test": 0.4}, {"train": 1.5, "test": -0.5}, {"dev": 1.0}]
)
def test_shares_that_do_not_fit(shares):
    with pytest.raises(ValidationError):
        GroupShares(shares=shares)
    with pytest.raises(UsageError):
        split(["only"], group_of)
