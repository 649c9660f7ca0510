"""Masked spans: a piece of a text and its context, and files of spans.

A file is JSONL, gzipped if its name ends in ``.gz``, with one span per line::

    {"id": "5abc-1:0", "group": "5abc", "left": ["Some fish live in salt and in fresh water",
     ...], "span": ["(e.g. flounder)."], "right": [...], "candidate": "5abc-1:0", "extra": {...}}

``candidate``, ``negatives`` (a list of texts) and ``extra`` are optional; other keys are refused.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, StringConstraints, TypeAdapter
from pydantic.dataclasses import dataclass

from adducir.core.errors import InputError
from adducir.core.texts import same_words
from adducir.corpora.records import Id, parsed_as, read_records, write_records

_WORD = re.compile(r"\S+")


def _has_text(sentences: tuple[str, ...]) -> tuple[str, ...]:
    if not any(map(str.strip, sentences)):
        raise ValueError("the masked text is empty")
    return sentences


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class MaskedSpan:
    """A span of a text, and the text around it.

    Attributes:
        id: Names the span and, as qid, its context; unique in a file.
        group: Its book or question, which splits keep together.
        left: Sentences before it, in reading order; the last may be a fragment of the span's own.
        span: The sentences of the masked text.
        right: Sentences after it; the first may be the rest of the span's own.
        candidate: The docno of the gold item among the candidates, if it is not ``id``.
        negatives: Plausible texts that do not fit the gap, hardest first.
        extra: Other facts (marker, offsets, source, kind), as JSON values.
    """

    id: Id
    group: Annotated[str, StringConstraints(pattern=r"\S")]
    left: tuple[str, ...]
    span: Annotated[tuple[str, ...], AfterValidator(_has_text)]
    right: tuple[str, ...]
    candidate: Id | None = None
    negatives: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def text(self) -> str:
        return " ".join(self.span)

    @property
    def docno(self) -> str:
        return self.candidate or self.id


_SPAN = TypeAdapter(MaskedSpan)


def read_spans(*paths: Path) -> Iterator[MaskedSpan]:
    """The spans of files in order; ids are unique within a file."""
    for path in paths:
        yield from read_records(path, parsed_as(MaskedSpan))


def write_spans(spans: Iterable[MaskedSpan], path: Path) -> int:
    return write_records(
        spans, path, lambda span: _SPAN.dump_python(span, mode="json", exclude_defaults=True)
    )


def context(
    span: MaskedSpan, left: int | None = None, right: int | None = None, words: int | None = None
) -> tuple[str, str]:
    """The text on either side of the mask: the nearest sentences, cut to the nearest words."""
    before = " ".join(span.left if left is None else span.left[max(0, len(span.left) - left) :])
    after = " ".join(span.right[:right])
    if words is None:
        return before, after
    starts = [word.start() for word in _WORD.finditer(before)]
    if len(starts) > words:
        before = before[starts[-words] :] if words else ""
    ends = [word.end() for word in _WORD.finditer(after)]
    if len(ends) > words:
        after = after[: ends[words - 1]] if words else ""
    return before, after


def context_text(span: MaskedSpan) -> str:
    """All text around the mask, by which contexts count as the same query."""
    return " ".join(filter(None, context(span)))


def candidates_of(spans: Iterable[MaskedSpan], path: Path | None = None) -> dict[str, str]:
    """Each candidate's first text by docno, in order of appearance; its words are the same."""
    texts: dict[str, str] = {}
    for span in spans:
        first = texts.setdefault(span.docno, span.text)
        if first != span.text and same_words(first) != same_words(span.text):
            raise InputError(f"the candidate {span.docno!r} has two texts.", path=path)
    return texts
