"""Plans: order, circles, and how little has to be done."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.study.errors import InputError
from adducir.study.plan import Step, missing, order
from adducir.study.products import build, product_fingerprint


def step(name: str, *needs: str, done: bool = False, **changes: Any) -> Step:
    fields = {"kind": "toy", "path": None, "fingerprint": None, "action": lambda: None}
    return Step(name=name, needs=needs, current=lambda: done, **{**fields, **changes})


def names(steps: list[Step]) -> list[str]:
    return [each.name for each in steps]


def test_order_keeps_what_was_given_where_it_can() -> None:
    steps = [step("table", "b", "a"), step("a", "index"), step("b"), step("index")]
    assert names(order(steps)) == ["b", "index", "a", "table"]
    assert names(order([step("x"), step("c"), step("a")])) == ["x", "c", "a"]
    assert order([]) == []


GRAPHS = st.integers(0, 12).flatmap(
    lambda size: st.lists(
        st.sets(st.integers(0, max(size - 1, 0)), max_size=3), min_size=size, max_size=size
    )
)


@given(GRAPHS, st.randoms(use_true_random=False), st.data())
def test_any_plan(graph: list[set[int]], rng, data) -> None:
    done = data.draw(st.lists(st.booleans(), min_size=len(graph), max_size=len(graph)))
    # Needs point to lower numbers only, so there is no circle.
    steps = [
        step(str(number), *(str(need) for need in needs if need < number), done=done[number])
        for number, needs in enumerate(graph)
    ]
    rng.shuffle(steps)
    ordered = order(steps)
    assert sorted(names(ordered)) == sorted(names(steps))
    seen: set[str] = set()
    for each in ordered:
        assert set(each.needs) <= seen
        seen.add(each.name)
    todo = names(missing(steps))
    assert todo == [name for name in names(ordered) if name in todo]
    needed = {need for each in steps for need in each.needs}
    for each in steps:
        askers = [other for other in steps if each.name in other.needs and other.name in todo]
        is_wanted = each.name not in needed or bool(askers)
        assert (each.name in todo) == (is_wanted and not done[int(each.name)])


def test_circles() -> None:
    steps = [step("a", "b"), step("b", "c"), step("c", "a"), step("d")]
    with pytest.raises(InputError, match="in a circle: ") as caught:
        order(steps)
    told = str(caught.value).split(": ")[1].rstrip(".").split(" -> ")
    assert told[0] == told[-1]
    assert set(itertools.pairwise(told)) == {
        ("a", "b"),
        ("b", "c"),
        ("c", "a"),
    }
    with pytest.raises(InputError, match="a -> a"):
        order([step("a", "a")])


def test_wrong_names() -> None:
    with pytest.raises(InputError, match=r"`run` needs `idnex`.*did you mean `index`"):
        order([step("run", "idnex"), step("index")])
    with pytest.raises(InputError, match="two steps are called `a`"):
        order([step("a"), step("a")])
    with pytest.raises(InputError, match=r"`tabel` is no step.*did you mean `table`"):
        missing([step("table")], ["tabel"])


def test_goals() -> None:
    steps = [step("index"), step("run", "index"), step("table", "run")]
    assert names(missing(steps, ["run"])) == ["index", "run"]
    assert names(missing(steps)) == ["index", "run", "table"]


def test_products_are_asked(tmp_path: Path) -> None:
    order_of = {"kind": "toy", "recipe": {"a": 1}, "inputs": {}, "maker_version": 1}
    wanted = product_fingerprint(**order_of)
    index = step("index", path=tmp_path / "index", fingerprint=wanted)
    index = Step(**{**index.__dict__, "current": None})
    assert not index.is_done()
    build(tmp_path / "index", **order_of, make=lambda _: {})
    assert index.is_done()
    assert missing([index]) == []
    assert not Step(**{**index.__dict__, "fingerprint": "other"}).is_done()
    assert not Step(**{**index.__dict__, "fingerprint": None}).is_done()
