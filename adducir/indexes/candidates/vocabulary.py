"""Texts to term numbers, in bulk: by Lucene's analysis or by a Python function."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice, repeat
from typing import NamedTuple, Protocol

import numpy as np

from adducir.core.errors import UsageError
from adducir.core.processes import default_threads
from adducir.indexes import jvm
from adducir.indexes.analysis import Analysis
from adducir.indexes.arrays import Array
from adducir.indexes.feeding import packed
from adducir.indexes.memory.filling import Analyser

UNKNOWN = -1
_TEXTS = 64

Cut = Callable[[str], Sequence[str]]
"""A Python tokeniser: a text's terms, in order, with repetitions."""


def lower_split(text: str) -> list[str]:
    """Lower case, cut at white space: how rank_bm25 is used in the papers' baselines."""
    return text.lower().split()


class Numbers(NamedTuple):
    """The term numbers of n texts.

    Attributes:
        starts: (n + 1,) int64: where each text begins in ``values``.
        values: int32: term numbers, text after text; ``UNKNOWN`` for a term without a number.
    """

    starts: Array
    values: Array


class Vocabulary(Protocol):
    """Gives terms their numbers, from 0 on without gaps."""

    def of_texts(self, texts: Sequence[str], *, grow: bool) -> Numbers:
        """Number the terms of texts; where ``grow``, new terms get numbers, else none."""

    def of_terms(self, lists: Sequence[Sequence[str]], *, grow: bool) -> Numbers:
        """Number ready terms, in the same way."""


class Words:
    """Terms that Python cuts or that are ready.

    Args:
        cut: Makes a text's terms; None where all terms come ready.
    """

    def __init__(self, cut: Cut | None) -> None:
        self.cut = cut
        self._numbers: dict[str, int] = {}

    def of_texts(self, texts: Sequence[str], *, grow: bool) -> Numbers:
        """See :class:`Vocabulary`.

        Raises:
            UsageError: There are texts, but all terms come ready.
        """
        if self.cut is None and texts:
            raise UsageError(
                "these candidates came as ready terms, so queries must, too.",
                hint="Give each query as a list of terms, or as a mapping from terms to weights.",
            )
        return self._number(map(self.cut or str.split, texts), grow)

    def of_terms(self, lists: Sequence[Sequence[str]], *, grow: bool) -> Numbers:
        return self._number(iter(lists), grow)

    def _number(self, lists: Iterator[Sequence[str]], grow: bool) -> Numbers:
        lengths: list[int] = []
        parts = [np.empty(0, dtype=np.int32)]
        numbers = self._numbers
        # A few texts at a time: their terms stay in the processor's cache.
        while some := list(islice(lists, _TEXTS)):
            lengths += map(len, some)
            terms = chain.from_iterable(some)
            if grow:
                found = [numbers.setdefault(term, len(numbers)) for term in terms]
                parts.append(np.array(found, dtype=np.int32))
            else:
                known = map(numbers.get, terms, repeat(UNKNOWN))
                parts.append(np.fromiter(known, np.int32))
        return Numbers(_starts(lengths), np.concatenate(parts))


class QueriedWords(Words):
    """The terms that some queries hold; all other terms of texts count as one.

    What is held then does not grow with the texts. It suits models whose factor of a term does not
    hang on other terms.

    Args:
        queries: Texts.
    """

    def __init__(self, cut: Cut, queries: Sequence[str]) -> None:
        super().__init__(cut)
        self._number(map(cut, queries), grow=True)

    def of_texts(self, texts: Sequence[str], *, grow: bool) -> Numbers:
        """See :class:`Vocabulary`; to candidates, which it is to grow with, it adds that one."""
        found = super().of_texts(texts, grow=False)
        if grow:
            found.values[found.values == UNKNOWN] = len(self._numbers)
        return found


class LuceneTerms:
    """Terms that Java makes of texts, a block of texts a call."""

    def __init__(self, analysis: Analysis) -> None:
        self._analyser = Analyser(analysis)
        self._numbers: dict[str, int] = {}

    def of_texts(self, texts: Sequence[str], *, grow: bool) -> Numbers:
        """See :class:`Vocabulary`; new terms always get numbers, which harms nobody."""
        # A lone surrogate cannot be encoded; no tokeniser makes a term of it or of "?".
        encoded = (("", [text.encode(errors="replace")]) for text in texts)
        blocks = list(packed(encoded, with_docnos=False))
        if len(blocks) > 1:
            with ThreadPoolExecutor(default_threads()) as pool:
                parts = list(pool.map(jvm.released(self._analyse), blocks))
        else:
            parts = [self._analyse(block) for block in blocks]
        empty = np.empty(0, dtype=np.int32)
        sizes = np.concatenate([empty, *(np.diff(starts) for _, starts in parts)])
        return Numbers(_starts(sizes), np.concatenate([empty, *(tokens for tokens, _ in parts)]))

    def of_terms(self, lists: Sequence[Sequence[str]], *, grow: bool) -> Numbers:
        """See :class:`Vocabulary`; terms that Java has not made of a text have no number."""
        first = len(self._numbers)
        new = self._analyser.terms(first)
        self._numbers.update(zip(new, range(first, first + len(new)), strict=True))
        starts = _starts(list(map(len, lists)))
        found = map(self._numbers.get, chain.from_iterable(lists), repeat(UNKNOWN))
        return Numbers(starts, np.fromiter(found, np.int32, int(starts[-1])))

    def _analyse(self, block: tuple[list[str], bytes]) -> tuple[Array, Array]:
        return self._analyser.tokens(len(block[0]), block[1])


def vocabularies(analysis: Analysis | Cut | None) -> Callable[[], Vocabulary]:
    """Gives the vocabulary of each of several sets whose texts are analysed so."""
    if isinstance(analysis, Analysis):
        shared = LuceneTerms(analysis)  # Java remembers what it has seen
        return lambda: shared
    return lambda: Words(analysis)  # a dictionary of one set's words stays in the cache


def _starts(lengths: Sequence[int] | Array) -> Array:
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts
