"""Ranks the gold item among all: exact, in blocks, ties counted.

Equal texts must tie, though their vectors may differ in the last bit when they were encoded in
different batches, and so may a product that a matrix library computes at another place. So each
different text is encoded and scored once, and counts as often as it is there.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import UsageError
from adducir.core.recipe import Kind
from adducir.core.registry import Family
from adducir.corpora.spans import MaskedSpan, candidates_of

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

Scores = Callable[[int, int], Floats]
"""Gives the (n, U) scores of queries ``first`` to ``last`` - 1 with all different candidates."""

SCORES = 1 << 24  # that are held at a time: 64 MB


@dataclass(frozen=True)
class SpanTask:
    """Contexts that share their candidates: all of a collection, or those of one book.

    Attributes:
        spans: The Q contexts.
        texts: The N candidates.
        gold: (Q,) the number of the gold item of each context; -1 where it is hidden.
        keys: Properties of the contexts, each (Q,), to break figures down by.
    """

    spans: Sequence[MaskedSpan]
    texts: Sequence[str]
    docnos: Sequence[str]
    gold: Integers
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def same(self) -> "Distinct":
        return Distinct(self.texts)


@dataclass(frozen=True, eq=False)
class ContextRanks:
    """How many candidates score better than the gold item of each context (Q,), or tie with it.

    It ties with itself, too; ``first`` is the number of the candidate that is ranked first.
    """

    better: Integers
    tied: Integers
    candidates: Integers
    first: Integers | None = None

    @property
    def ranks(self) -> Integers:
        """(Q,) ranks from 1, ties counted against us."""
        return self.better + self.tied


class ContextReader(Kind):
    """Reads contexts that bring their candidates along, such as a book's passages."""

    has_groups: ClassVar[bool] = True

    def files(self, path: Path) -> list[Path]:
        """What is read of a path; it decides what is made again."""
        return [path]

    def tasks(self, path: Path) -> Iterator[SpanTask]:
        """All contexts, by their sets of candidates."""
        raise NotImplementedError


CONTEXTS = Family("contexts", ContextReader, {}, what="reader of contexts")


def task_among(spans: Sequence[MaskedSpan], candidates: Iterable[MaskedSpan]) -> SpanTask:
    """Contexts among candidates, their own among them; spans of one docno are one candidate."""
    texts = candidates_of(candidates)
    numbers = {docno: number for number, docno in enumerate(texts)}
    gold = np.array([numbers[span.docno] for span in spans], dtype=np.int64)
    return SpanTask(spans, list(texts.values()), list(texts), gold)


class Distinct:
    """The U different ones of N values: the first place of each, numbers (N,), counts (U,)."""

    def __init__(self, values: Sequence[Hashable]) -> None:
        numbers: dict[Hashable, int] = {}
        of = [numbers.setdefault(value, len(numbers)) for value in values]
        self.of = np.array(of, dtype=np.int64)
        _, self.firsts = np.unique(self.of, return_index=True)
        self.counts = np.bincount(self.of, minlength=len(self.firsts))

    def picked(self, texts: Sequence[str]) -> list[str]:
        return [texts[number] for number in self.firsts.tolist()]


def by_vectors(contexts: Floats, candidates: Floats) -> Scores:
    """Scores by inner product: of (Q, D) vectors of contexts, (U, D) of candidates."""
    return lambda first, last: contexts[first:last] @ candidates.T


def context_ranks(
    scores: Scores, gold: Integers, counts: Integers, *, block: int = SCORES
) -> ContextRanks:
    """Where (Q,) gold items stand among U different ones, which are there (U,) ``counts`` times."""
    queries, size = len(gold), len(counts)
    if queries and not (gold.min() >= 0 and gold.max() < size):
        raise UsageError(f"a gold item's number is not below {size:,}, the number of candidates.")
    better, tied, tops = (np.zeros(queries, dtype=np.int64) for _ in range(3))
    step = max(1, block // max(size, 1))
    for first in range(0, queries, step):
        last = min(first + step, queries)
        some = scores(first, last)
        gold_scores = some[np.arange(last - first), gold[first:last]][:, None]
        if np.isnan(some).any():
            raise UsageError("a score is not a number.")
        better[first:last] = (some > gold_scores) @ counts
        tied[first:last] = (some == gold_scores) @ counts
        tops[first:last] = some.argmax(axis=1)
    return ContextRanks(better, tied, np.full(queries, counts.sum(), dtype=np.int64), tops)
