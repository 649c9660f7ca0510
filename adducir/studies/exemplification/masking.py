"""A masked span out of a text: the span, and the sentences on both sides."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from adducir.corpora.spans import MaskedSpan
from adducir.studies.exemplification.sentences import Bounds, Sentences
from adducir.studies.exemplification.texts import BOOK, Text

CONTEXT_WORDS = 256
"""Words to keep on each side by default: EGRET cuts to the 256 tokens nearest to the mask."""

_ITALICS = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")


def masked(
    text: Text, sentences: Sentences, start: int, end: int, words: int | None, **extra: Any
) -> MaskedSpan:
    """Mask the characters ``start`` to ``end`` - 1 of a text.

    Args:
        words: Whole sentences are kept on each side until they have so many words; None: all.
        extra: What is known of the span; its place, source and question are added.
    """
    left = _until(sentences.before(start), sentences.text, words)
    right = _until(sentences.after(end), sentences.text, words)
    book = text.kind == BOOK
    place = {"start": start + text.offset, "end": end + text.offset, "source": text.source}
    if text.question is not None:
        place["question"] = text.question
    return MaskedSpan(
        id=f"{text.id}:{start + text.offset}",
        group=text.group,
        left=_clean(sentences.text, reversed(left), book),
        span=_clean(sentences.text, sentences.within(start, end), book),
        right=_clean(sentences.text, right, book),
        extra={**extra, **place},
    )


def _until(pieces: Iterator[Bounds], text: str, words: int | None) -> list[Bounds]:
    """Sentences, nearest first, until they have so many words."""
    if words is None:
        return list(pieces)
    taken: list[Bounds] = []
    count = 0
    while count < words and (piece := next(pieces, None)) is not None:
        taken.append(piece)
        count += len(text[piece[0] : piece[1]].split())
    return taken


def _clean(text: str, pieces: Iterable[Bounds], book: bool) -> tuple[str, ...]:
    """The sentences without line breaks and, in books, without the signs of italics."""
    sentences = (text[start:end] for start, end in pieces)
    if book:
        sentences = (_ITALICS.sub("", sentence) for sentence in sentences)
    narrowed = (" ".join(sentence.split()) for sentence in sentences)
    return tuple(sentence for sentence in narrowed if sentence)
