"""Which names come twice, which number each has, found by hashes and digests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core import names
from adducir.core.names import NameTable, Numbered, Seen

hashes = st.integers(-9, 9) | st.integers(-(1 << 63), (1 << 63) - 1)


@given(st.lists(hashes, max_size=80), st.sampled_from([1, 3, 1000]))
def test_what_came_before_and_the_number_of_its_first(values, few):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(names, "_FEW", few)
        seen, numbered, wanted = Seen(), Numbered(), dict[int, int]()
        for value in values:
            assert seen.add_hash(value) == (value in wanted)
            assert numbered.find(value) == wanted.get(value)
            assert numbered.number(value) == wanted.setdefault(value, len(wanted))
            assert len(numbered) == len(wanted)


@given(st.lists(st.text(max_size=4), unique=True), st.text(max_size=4))
def test_each_name_has_its_number(found, other):
    table = NameTable.of(found)
    assert [table.numbers(name) for name in found] == [[place] for place in range(len(found))]
    assert other in found or not table.numbers(other)
