"""Masked spans from texts: EGRET's examples in context, and sentences for pretraining.

Each exemplifying unit is a masked span (EGRET paper, sections 2.1 and 3.1, Table 1). Units with the
same words are one candidate, so that no right answer counts as wrong. The inverse cloze task
(Lee, Chang and Toutanova, ACL 2019) masks any sentence, and needs no labels.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from adducir.core.errors import UsageError
from adducir.core.many_texts import TextFile
from adducir.core.texts import same_words
from adducir.corpora.spans import MaskedSpan
from adducir.studies.exemplification.texts import SourceText
from adducir.studies.exemplification.units import Bounds, Sentences, find_units
from adducir.training.data import same_number

_ITALICS = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")


@dataclass
class Tally:
    """Counts of an extraction, filled while its spans are read; ``words`` are per side."""

    texts: int = 0
    groups: set[str] = field(default_factory=set)
    spans: int = 0
    candidates: int = 0
    words: Counter[str] = field(default_factory=Counter)
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)


def extract_examples(
    texts: Iterable[SourceText],
    tally: Tally,
    *,
    words: int = 256,
    min_words: int = 1,
    max_words: int = 256,
    strict: bool = True,
) -> Iterator[MaskedSpan]:
    """Yield the exemplifying units of texts with contexts of at least ``words`` words per side.

    A unit is a duplicate if an earlier one has the same words and the same sentence to its left.
    Only digests are kept: the probability of a collision is n^2 / 2^65.
    """
    seen, numbers, first_ids = set[int](), dict[int, int](), TextFile()
    for text in texts:
        tally.texts += 1
        sentences = Sentences(text.content)
        for unit in find_units(sentences, min_words, max_words, strict=strict):
            if unit.reason is not None:
                tally.dropped[unit.reason] += 1
                continue
            description = {"kind": "example", "form": unit.form, "marker": unit.marker.kind}
            span = _masked(text, sentences, unit.start, unit.end, words, **description)
            key = same_number(same_words(span.text))
            whole = same_number(f"{key} {same_words(span.left[-1] if span.left else '')}")
            if whole in seen:
                tally.dropped["duplicate"] += 1
                continue
            seen.add(whole)
            number = numbers.setdefault(key, len(numbers))
            if number == len(first_ids):
                first_ids.append(span.id)
            tally.groups.add(span.group)
            tally.spans += 1
            tally.candidates = len(first_ids)
            tally.kinds[unit.form, unit.marker.kind] += 1
            for side in ("left", "span", "right"):
                tally.words[side] += sum(len(sentence.split()) for sentence in getattr(span, side))
            yield replace(span, candidate=first_ids[number])


def mask_sentences(
    texts: Iterable[SourceText],
    *,
    every: int = 10,
    longest: int = 1,
    words: int = 256,
    min_words: int = 8,
    max_words: int = 60,
) -> Iterator[MaskedSpan]:
    """Yield masked runs of sentences, evenly over each text.

    The first is about ``every`` / 2 sentences from the start, or in the middle of a shorter text;
    lengths cycle from 1 to ``longest``. ``max_words`` is per sentence.
    """
    if every <= longest:
        raise UsageError(
            f"masks of up to {longest} sentences would meet, {every} sentences apart.",
            hint=f"Let `every` be more than {longest}.",
        )
    if min_words > max_words * longest:
        raise UsageError(
            f"a mask cannot have {min_words} words: it has at most {longest} sentences of "
            f"{max_words} words each."
        )
    for text in texts:
        sentences = Sentences(text.content)
        count = len(sentences.paragraphs)
        bounds = [bound for number in range(count) for bound in sentences.of_paragraph(number)]
        last = len(bounds) - 1
        for number, first in enumerate(range(max(1, min(every // 2, last // 2)), last, every)):
            past = min(first + 1 + number % longest, last)
            start, end = bounds[first][0], bounds[past - 1][1]
            length = len(text.content[start:end].split())
            if min_words <= length <= max_words * (past - first):
                yield _masked(text, sentences, start, end, words, kind="cloze")


def _masked(
    text: SourceText, sentences: Sentences, start: int, end: int, words: int, **extra: Any
) -> MaskedSpan:
    place = {"start": start + text.offset, "end": end + text.offset, "source": text.source}
    if text.question is not None:
        place["question"] = text.question

    def nearest(side: Iterator[Bounds]) -> list[Bounds]:
        taken: list[Bounds] = []
        count = 0
        while count < words and (piece := next(side, None)) is not None:
            taken.append(piece)
            count += len(text.content[slice(*piece)].split())
        return taken

    def cleaned(pieces: Iterable[Bounds]) -> tuple[str, ...]:
        sentences_ = (text.content[first:past] for first, past in pieces)
        if text.is_book:
            sentences_ = (_ITALICS.sub("", sentence) for sentence in sentences_)
        return tuple(filter(None, (" ".join(sentence.split()) for sentence in sentences_)))

    return MaskedSpan(
        id=f"{text.id}:{start + text.offset}",
        group=text.group,
        left=cleaned(reversed(nearest(sentences.before(start)))),
        span=cleaned(sentences.within(start, end)),
        right=cleaned(nearest(sentences.after(end))),
        extra={**extra, **place},
    )
