"""Paragraphs and texts that lie in a file."""

import tracemalloc

import pytest

from adducir.core.names import TextFile
from adducir.studies.complementary_evidence.paragraphs import Paragraphs


def test_texts_are_those_that_were_added(tmp_path) -> None:
    wanted = ["", "one\ntwo", "Überall \U0001f600", "\udc80 alone", "x" * 100_000]
    texts = TextFile(tmp_path, wanted[:2])
    assert list(texts) == wanted[:2]
    for text in wanted[2:]:
        texts.append(text)
        assert texts[-1] == text  # read between two that are added
    assert list(texts) == wanted
    assert texts[1:4] == wanted[1:4]
    assert [*reversed(texts)] == wanted[::-1]
    with pytest.raises(IndexError):
        texts[5]
    assert not list(tmp_path.iterdir())


def test_the_first_paragraph_of_a_title_counts() -> None:
    found = Paragraphs(paragraphs=[("A", "one"), ("B", "two\nlines"), ("A", "three")])
    assert len(found) == 2
    assert found[1] == ("B", "two\nlines")
    assert [found.number(title) for title in ("A", "B", "C")] == [0, 1, None]
    found.add([("C", ""), ("B", "four")])
    assert [found.number(title) for title in ("A", "B", "C")] == [0, 1, 2]
    assert list(found.searched) == ["A\none", "B\ntwo\nlines", "C\n"]
    assert Paragraphs().number("A") is None


def test_memory_does_not_grow_with_texts() -> None:
    def held(length: int) -> int:
        tracemalloc.start()
        kept = Paragraphs(paragraphs=((f"T{n}", "x" * length) for n in range(20_000)))
        now = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert len(kept) == 20_000
        return now

    assert held(2000) < held(10) + 100_000 < 4_000_000
