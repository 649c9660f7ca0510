"""Passages: a text cut into parts that fit a model's input.

A text is cut at white space, and inside a chunk without any (a web address, Chinese) only where the
chunk alone is too long, then at BERT's basic words. Passages that do not overlap give the text
again when they are joined: white space belongs to the passage before it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from adducir.core.errors import UsageError
from adducir.deepct.words import basic_words, words

CountPieces = Callable[[list[str]], list[int]]
"""Counts the word pieces of each of some chunks of text, as if each stood between blanks."""

Unit = Literal["pieces", "words"]

_CHUNK = re.compile(r"\S+")
_REMEMBERED = 1 << 18


class Passage(NamedTuple):
    """A part of a text: its number from 0, and its place (characters)."""

    number: int
    start: int
    end: int


class _Step(NamedTuple):
    """What is never cut: where it begins in the text, and how many pieces it has."""

    start: int
    pieces: int


def passages(
    text: str,
    count_pieces: CountPieces,
    *,
    length: int,
    overlap: int = 0,
    unit: Unit = "pieces",
) -> list[Passage]:
    """Cut a text into passages of at most ``length`` word pieces or words, as long as possible.

    Args:
        text: The text; one of white space only, or without a character, is one passage.
        count_pieces: Counts word pieces; not called where ``unit`` is ``words``.
        length: The most that a passage holds. A single word of more pieces is a passage of its own.
        overlap: At most how much of a passage comes again in the next: as many whole words at its
            end as have no more than this. Less where a long word would else not fit behind it.
        unit: Whether ``length`` and ``overlap`` are in word pieces or in words.

    Raises:
        UsageError: ``length`` is less than 1, or ``overlap`` is not from 0 to ``length`` - 1.
    """
    if length < 1 or not 0 <= overlap < length:
        raise UsageError(
            f"passages of length {length} with overlap {overlap} cannot be cut.",
            hint="The length is at least 1, the overlap at least 0 and less than the length.",
        )
    steps = _steps(text, count_words if unit == "words" else count_pieces, length)
    if not steps:
        return [Passage(0, 0, len(text))]
    starts = [0, *(step.start for step in steps[1:]), len(text)]
    cuts = _cuts([step.pieces for step in steps], length, overlap)
    return [Passage(i, starts[first], starts[last]) for i, (first, last) in enumerate(cuts)]


def count_words(chunks: list[str]) -> list[int]:
    """How many words each chunk has, at least 1: a :data:`CountPieces` for lengths in words."""
    return list(map(_count_words, chunks))


@lru_cache(maxsize=_REMEMBERED)
def _count_words(chunk: str) -> int:
    return max(1, len(words(chunk)))


def _steps(text: str, count_pieces: CountPieces, length: int) -> list[_Step]:
    """The chunks between white space, and the words of those that are too long."""
    spans = [match.span() for match in _CHUNK.finditer(text)]
    counts = count_pieces([text[start:end] for start, end in spans]) if spans else []
    steps: list[_Step] = []
    for (start, end), count in zip(spans, counts, strict=True):
        if count <= length:
            steps.append(_Step(start, count))
            continue
        inner = basic_words(text[start:end])
        starts = list(dict.fromkeys([start, *(start + word.start for word in inner[1:])]))
        ends = [*starts[1:], end]
        parts = count_pieces([text[a:b] for a, b in zip(starts, ends, strict=True)])
        steps += map(_Step, starts, parts)
    return steps


def _cuts(pieces: Sequence[int], length: int, overlap: int) -> Iterator[tuple[int, int]]:
    """First step and the step after the last of each passage."""
    first = 0
    while True:
        last, held = first, 0
        while last < len(pieces) and (last == first or held + pieces[last] <= length):
            held += pieces[last]
            last += 1
        yield first, last
        if last == len(pieces):
            return
        first, shared = last, 0
        room = min(overlap, length - pieces[last])
        while first > 0 and shared + pieces[first - 1] <= room:
            first -= 1
            shared += pieces[first]
