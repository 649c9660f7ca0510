"""Masked spans: their file, their splits, their contexts."""

import gzip
import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import InputError, UsageError
from adducir.corpora import splitting
from adducir.corpora.spans import MaskedSpan, context, read_spans, write_spans
from adducir.corpora.splitting import part_of

SPAN = MaskedSpan(
    "q1:7", "q1", ("One two.", "Three four,"), ("(e.g. five)",), ("six.", "Seven eight nine.")
)
LINE = {"id": "a", "group": "g", "left": [], "span": ["x"], "right": []}


def split(spans, *shares, **seed):
    return splitting.split(spans, lambda span: span.group, *shares, **seed)


@pytest.mark.parametrize("name", ["s.jsonl", "s.jsonl.gz"])
def test_what_is_written_is_read(tmp_path, name):
    rich = MaskedSpan(
        "b",
        "Sense & Sensibility",
        (),
        ("“Ünïcode” \u2028 too.",),
        (),
        "c9",
        {"start": 3, "x": None},
    )
    assert write_spans([SPAN, rich], tmp_path / name) == 2
    assert list(read_spans(tmp_path / name)) == [SPAN, rich]
    raw = (tmp_path / name).read_bytes()
    assert (gzip.decompress(raw) if name.endswith(".gz") else raw).count(b"\n") == 2


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"id": "a b"}, "without white space"),
        ({"id": 3}, "without white space"),
        ({"group": " "}, "'group'"),
        ({"span": []}, "empty"),
        ({"span": ["  "]}, "empty"),
        ({"left": "text"}, "'left' must be a list"),
        ({"right": [1]}, "'right' must be a list"),
        ({"candidate": "c d"}, "'candidate'"),
        ({"extra": []}, "'extra'"),
        ({"marker": "e.g."}, "no key 'marker'"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, change, what):
    path = tmp_path / "s.jsonl"
    path.write_text("\n" + json.dumps(LINE) + "\n" + json.dumps(LINE | {"id": "z"} | change) + "\n")
    with pytest.raises(InputError) as caught:
        list(read_spans(path))
    assert what in caught.value.what
    assert caught.value.where == f"{path}:3"


@pytest.mark.parametrize(
    ("line", "what"),
    [("{", "not JSON"), ("[]", "a list"), ('{"id": "a", "left": []}', "no 'group' and no 'span'")],
)
def test_a_line_that_is_no_span(tmp_path, line, what):
    path = tmp_path / "s.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=what) as caught:
        list(read_spans(path))
    assert caught.value.line == 1


def test_ids_are_unique(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text(2 * (json.dumps(LINE) + "\n"))
    with pytest.raises(InputError, match="in line 1 already") as caught:
        list(read_spans(path))
    assert caught.value.line == 2
    with pytest.raises(InputError, match="twice"):
        write_spans([SPAN, SPAN], tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({}, ("One two. Three four,", "six. Seven eight nine.")),
        ({"left": 1, "right": 1}, ("Three four,", "six.")),
        ({"left": 0, "right": 0}, ("", "")),
        ({"left": 9, "right": 9}, ("One two. Three four,", "six. Seven eight nine.")),
        ({"words": 3}, ("two. Three four,", "six. Seven eight")),
        ({"words": 0}, ("", "")),
        ({"words": 4}, ("One two. Three four,", "six. Seven eight nine.")),
        ({"left": 1, "right": 0, "words": 1}, ("four,", "")),
    ],
)
def test_contexts_are_cut_to_what_is_nearest(arguments, wanted):
    assert context(SPAN, **arguments) == wanted


def test_a_negative_context_is_refused():
    with pytest.raises(UsageError, match="left"):
        context(SPAN, left=-1)


def spans_of(groups):
    return [MaskedSpan(f"{group}:{i}", group, (), ("x",), ()) for group in groups for i in (0, 1)]


def test_splits_keep_groups_apart_and_the_order():
    spans = spans_of(f"g{i}" for i in range(200))
    parts = split(spans)
    assert list(parts) == ["train", "validation", "test"]
    groups = [{span.group for span in part} for part in parts.values()]
    assert sum(map(len, groups)) == len(set().union(*groups)) == 200
    assert sorted(span.id for part in parts.values() for span in part) == sorted(
        span.id for span in spans
    )
    assert parts["train"] == [span for span in spans if span.group in groups[0]]


def test_a_group_has_one_part_whatever_else_is_in_the_file():
    every = split(spans_of(f"g{i}" for i in range(300)), seed=5)
    home = {span.group: part for part, spans in every.items() for span in spans}
    some = split(spans_of(f"g{i}" for i in range(100, 250)), seed=5)
    assert all(home[span.group] == part for part, spans in some.items() for span in spans)
    shares = {"test": 0.1, "validation": 0.1, "train": 0.8}  # the order is of no account
    assert all(part_of(group, shares, 5) == part for group, part in home.items())
    assert split(spans_of(f"g{i}" for i in range(300)), seed=6) != every


def test_shares_hold_on_average():
    counts = Counter(
        part_of(f"g{i}", {"train": 0.5, "validation": 0.2, "test": 0.3}) for i in range(5000)
    )
    # Four standard deviations of a binomial: 4 * sqrt(5000 * .5 * .5) = 141
    assert abs(counts["train"] - 2500) < 141
    assert abs(counts["validation"] - 1000) < 113
    assert abs(counts["test"] - 1500) < 130


@pytest.mark.parametrize(
    "shares", [{"train": 0.5, "test": 0.4}, {"train": 1.5, "test": -0.5}, {"dev": 1.0}]
)
def test_shares_that_do_not_fit(shares):
    with pytest.raises(UsageError):
        split(spans_of(["a", "b"]), shares)


def test_a_part_without_a_group_is_reported():
    with pytest.raises(UsageError, match="nothing fell into"):
        split(spans_of(["only"]))
    assert set(split(spans_of(["only"]), {"train": 1.0})) == {"train"}


@given(st.lists(st.text("ab \n\u00a0"), max_size=4), st.integers(0, 9))
def test_a_cut_to_words_keeps_the_nearest(sentences, words):
    span = MaskedSpan("a", "g", tuple(sentences), ("x",), tuple(sentences))
    left, right = context(span, words=words)
    every = " ".join(sentences).split()
    assert left.split() == (every[-words:] if words else [])
    assert right.split() == every[:words]
