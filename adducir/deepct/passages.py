"""Passages: a text cut into parts that fit a model's input.

A text is cut at white space, and inside a chunk without any (a web address, Chinese) only where the
chunk alone is too long, then at BERT's basic words. Joined, passages are the text again: white
space belongs to the passage before it.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

from adducir.deepct.words import basic_words, words

CountPieces = Callable[[list[str]], list[int]]
"""Counts the word pieces of each of some chunks of text, as if each stood between blanks."""
Unit = Literal["pieces", "words"]

_CHUNK = re.compile(r"\S+")


def passages(
    text: str, count_pieces: CountPieces, *, length: int, unit: Unit = "pieces"
) -> list[tuple[int, int]]:
    """Cut a text into passages of at most ``length`` word pieces or words, as long as possible.

    Args:
        count_pieces: Counts word pieces; not called where ``unit`` is ``words``.
        length: The most that a passage holds. A single word of more pieces is a passage of its own.

    Returns:
        Where passages begin and end (characters); a text of white space only is one passage.
    """
    count = count_words if unit == "words" else count_pieces
    spans = [match.span() for match in _CHUNK.finditer(text)]
    steps: list[tuple[int, int]] = []  # what is never cut: where it begins, and its pieces
    counts = count([text[start:end] for start, end in spans]) if spans else []
    for (start, end), pieces in zip(spans, counts, strict=True):
        if pieces <= length:
            steps.append((start, pieces))
            continue
        inner = basic_words(text[start:end])
        starts = list(dict.fromkeys([start, *(start + word.start for word in inner[1:])]))
        parts = [text[a:b] for a, b in zip(starts, [*starts[1:], end], strict=True)]
        steps += zip(starts, count(parts), strict=True)
    cuts, held = [0], 0
    for number, (start, pieces) in enumerate(steps):
        if number and held + pieces > length:
            cuts.append(start)
            held = 0
        held += pieces
    return list(zip(cuts, [*cuts[1:], len(text)], strict=True))


def count_words(chunks: list[str]) -> list[int]:
    """How many words each chunk has, at least 1: a :data:`CountPieces` for lengths in words."""
    return list(map(_count_words, chunks))


@lru_cache(maxsize=1 << 18)
def _count_words(chunk: str) -> int:
    return max(1, len(words(chunk)))
