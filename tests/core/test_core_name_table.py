"""Names found by their digests."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adducir.core import name_table
from adducir.core.name_table import NameTable, digest_of


@given(st.lists(st.text(max_size=4), unique=True), st.text(max_size=4))
def test_each_name_has_its_number(names, other):
    table = NameTable.of(names)
    assert [table.numbers(name) for name in names] == [[place] for place in range(len(names))]
    assert other in names or not table.numbers(other)


def test_names_of_one_digest_are_all_candidates(monkeypatch):
    monkeypatch.setattr(name_table, "digest_of", lambda name: (1 << 63) + len(name))
    table = NameTable.of(["aa", "b", "cc", "d", "eee"])
    assert table.numbers("zz") == [0, 2]
    assert table.numbers("z") == [1, 3]
    assert table.numbers("zzzz") == []


def test_digests_are_the_same_everywhere():
    assert digest_of("D1") == int.from_bytes(bytes.fromhex("5f0a872ab80a25f8"), "little")
    assert NameTable.of([]).table.shape == (2, 0)
    assert NameTable.of(["a"]).table.dtype == np.uint64
