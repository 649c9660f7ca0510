"""Which names come twice, and which is the first of each."""

import random

import pytest

from adducir.core import duplicates
from adducir.core.duplicates import Names, Numbered, Seen


@pytest.mark.parametrize("few", [1, 3, 1000])
def test_what_comes_again_has_the_number_of_its_first(monkeypatch, few):
    monkeypatch.setattr(duplicates, "_FEW", few)
    draw = random.Random(few)
    values = [draw.choice((draw.randrange(-(1 << 63), 1 << 63), draw.randrange(-9, 9)))
              for _ in range(2000)]  # fmt: skip
    numbered, wanted = Numbered(), dict[int, int]()
    for value in values:
        assert numbered.number(value) == wanted.setdefault(value, len(wanted))
        assert len(numbered) == len(wanted)


@pytest.mark.parametrize("few", [1, 3, 1000])
def test_names_that_came_before(monkeypatch, few):
    monkeypatch.setattr(duplicates, "_FEW", few)
    draw, seen, known, names = random.Random(few), Seen(), set(), Names()
    for name in (f"name {draw.randrange(900)}" for _ in range(1500)):
        assert seen.add(name) == (name in known)
        known.add(name)
    for name in known:
        names.add(name)
    assert not names.suspects()
    names.add("name 1")
    names.add("name 1")
    assert hash("name 1") in names.suspects()
