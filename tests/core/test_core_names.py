"""Which names come twice, which number each has, found by hashes and digests."""

from array import array

from hypothesis import given
from hypothesis import strategies as st

from adducir.core.names import NameTable, Numbered, Seen, digest_of


@given(st.lists(st.integers(-9, 9), max_size=80))
def test_what_came_before_and_the_number_of_its_first(values):
    seen, numbered, wanted = Seen(), Numbered(), dict[int, int]()
    for value in values:
        assert seen.add_hash(value) == (value in wanted)
        assert numbered.number(value) == wanted.setdefault(value, len(wanted))
        assert len(numbered) == len(wanted)


@given(st.lists(st.text(max_size=4), unique=True), st.text(max_size=4))
def test_each_name_has_its_number(found, other):
    table = NameTable.of_digests(array("Q", map(digest_of, found)))
    assert [table.numbers(name) for name in found] == [[place] for place in range(len(found))]
    assert other in found or not table.numbers(other)
