"""The one shape of a context with a masked span, and its file.

A file of spans is JSONL, gzipped where its name ends in ``.gz``, one span a line::

    {"id": "5abc-1:0", "group": "5abc", "left": ["Some fish live in salt and in fresh water",
     ...], "span": ["(e.g. flounder)."], "right": [...], "candidate": "5abc-1:0", "extra": {...}}

``candidate``, ``negatives`` (a list of texts) and ``extra`` may be missing; other keys may not
stand there.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adducir.core.errors import InputError, UsageError
from adducir.core.json_lines import json_values
from adducir.corpora.records import are_texts, check_keys, read_records, write_records

_TEXTS = ("left", "span", "right")
_REQUIRED = ("id", "group", *_TEXTS)
_NEGATIVES = "negatives"
_KEYS = frozenset((*_REQUIRED, "candidate", _NEGATIVES, "extra"))
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class MaskedSpan:
    """A span of a text, and the text around it.

    Attributes:
        id: Names the span, and as qid its context; no white space, unique in a file.
        group: The book or the question it comes from. Splits keep groups whole, and negatives of
            a batch are drawn inside a group where a study wants that.
        left: Sentences before the span, in reading order, so the nearest is the last. That one
            may be a fragment: the beginning of the sentence that the span is cut from.
        span: The sentences of the masked text, at least one.
        right: Sentences after the span; the first may be the rest of the span's own sentence.
        candidate: The docno of the gold item among the candidates, where those are apart.
        negatives: Texts that do not belong in the gap though they look so, for training: hard
            negatives, the hardest first.
        extra: What else is known (marker, offsets, source, kind), of JSON's types.
    """

    id: str
    group: str
    left: tuple[str, ...]
    span: tuple[str, ...]
    right: tuple[str, ...]
    candidate: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    negatives: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The masked text, its sentences joined by blanks."""
        return " ".join(self.span)


def context(
    span: MaskedSpan,
    left: int | None = None,
    right: int | None = None,
    words: int | None = None,
) -> tuple[str, str]:
    """The text on either side of the mask, cut to what is nearest to it.

    A fragment of the span's own sentence counts as a sentence. Words are what white space parts;
    a cut may fall inside a sentence.

    Args:
        left: Sentences to keep on the left; None: all; 0: none.
        right: Sentences to keep on the right, likewise.
        words: At most so many words of each side, taken after the cut to sentences; None: all.

    Returns:
        The left and the right text, sentences joined by blanks; ``""`` where nothing is left.

    Raises:
        UsageError: A number is negative.
    """
    for name, value in (("left", left), ("right", right), ("words", words)):
        if value is not None and value < 0:
            raise UsageError(f"{name} must be 0 or more, not {value}.")
    before = " ".join(span.left if left is None else span.left[max(0, len(span.left) - left) :])
    after = " ".join(span.right[:right])
    if words is None:
        return before, after
    return _last_words(before, words), _first_words(after, words)


def candidates_of(spans: Iterable[MaskedSpan], path: Path | None = None) -> dict[str, str]:
    """The texts of all different candidates, by their docnos, in order of appearance.

    Raises:
        InputError: A candidate has two texts.
    """
    texts: dict[str, str] = {}
    for span in spans:
        docno = span.candidate or span.id
        if texts.setdefault(docno, span.text) != span.text:
            raise two_texts(docno, path)
    return texts


def two_texts(docno: str, path: Path | None = None) -> InputError:
    """The error for a candidate that has two texts."""
    return InputError(f"the candidate {docno!r} has two texts.", path=path)


def _first_words(text: str, count: int) -> str:
    ends = [match.end() for match in _WORD.finditer(text)]
    return text if len(ends) <= count else text[: ends[count - 1] if count else 0]


def _last_words(text: str, count: int) -> str:
    starts = [match.start() for match in _WORD.finditer(text)]
    return text if len(starts) <= count else text[starts[-count] if count else len(text) :]


def read_spans(path: Path) -> Iterator[MaskedSpan]:
    """Yield the spans of a file in its order; blank lines are ignored.

    Raises:
        InputError: A line is not a span, or an id comes twice; with file and line.
    """
    yield from read_records(path, json_values(path), _span_of)


def write_spans(spans: Iterable[MaskedSpan], path: Path) -> int:
    """Write spans as JSONL, whole or not at all; see :func:`.write_records`."""
    return write_records(spans, path, _record_of)


def _record_of(span: MaskedSpan) -> dict[str, Any]:
    record: dict[str, Any] = {"id": span.id, "group": span.group}
    record |= {name: list(getattr(span, name)) for name in _TEXTS}
    if span.candidate is not None:
        record["candidate"] = span.candidate
    if span.negatives:
        record[_NEGATIVES] = list(span.negatives)
    if span.extra:
        record["extra"] = dict(span.extra)
    _check(record)
    return record


def _span_of(record: Any) -> MaskedSpan:
    """The span of a JSON value.

    Raises:
        UsageError: It is none.
    """
    _check(record)
    left, span, right = (tuple(record[name]) for name in _TEXTS)
    extra = record.get("extra") or {}
    negatives = tuple(record.get(_NEGATIVES, ()))
    return MaskedSpan(
        record["id"], record["group"], left, span, right, record.get("candidate"), extra, negatives
    )


def _check(record: Any) -> None:
    check_keys(record, "span", _REQUIRED, _KEYS)
    for key in _TEXTS:
        if not are_texts(record[key]):
            raise UsageError(f"{key!r} must be a list of sentences.")
    if not are_texts(record.get(_NEGATIVES, [])):
        raise UsageError(f"{_NEGATIVES!r} must be a list of texts.")
    if not any(text.strip() for text in record["span"]):
        raise UsageError("the masked text is empty.")
    # Ids become the qids and docnos of TREC runs, which hold no white space.
    for key in ("id", "candidate"):
        value = record.get(key)
        if key == "candidate" and value is None:
            continue
        if not isinstance(value, str) or value.split() != [value] or "\0" in value:
            raise UsageError(f"{key!r} must be text without white space, not {value!r}.")
    if not isinstance(record["group"], str) or not record["group"].strip():
        raise UsageError(f"'group' must name a book or a question, not {record['group']!r}.")
    if not isinstance(record.get("extra", {}), dict | None):
        kind = type(record["extra"]).__name__
        raise UsageError(f"'extra' must be a JSON object, not a {kind}.")
