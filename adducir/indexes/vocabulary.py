"""From texts to term ids in bulk, with a language's analysis or a Python function."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from adducir.core.errors import UsageError
from adducir.core.processes import default_threads
from adducir.indexes import jvm
from adducir.indexes.analysis import Analysis
from adducir.indexes.arrays import Array
from adducir.indexes.building import packed
from adducir.indexes.kinds import LANGUAGES

if TYPE_CHECKING:
    from adducir.indexes.text.bulk import CompiledBulk

BulkAnalyser: TypeAlias = "LuceneBulk | CompiledBulk"
Tokenizer = Callable[[str], Sequence[str]]
"""A text's terms in order, with repetitions."""


def bulk_analyser(analysis: Analysis) -> BulkAnalyser:
    if analysis.own is None:
        return LuceneBulk(analysis)
    from adducir.indexes.text.bulk import CompiledBulk

    return CompiledBulk(analysis.own)


class LuceneBulk:
    """Texts to term ids, in any number of threads; a term keeps its id."""

    def __init__(self, analysis: Analysis) -> None:
        language = LANGUAGES.make(analysis.language)
        words, stemmer = language.in_parts(analysis.stemmer, analysis.stopwords)
        self._java = jvm.java_class("adducir.BulkTokens")(words, stemmer, language.is_piecewise)

    def tokens(self, texts: int, block: bytes) -> tuple[Array, Array]:
        """All term ids of a block's texts, and (n + 1,) where each text begins."""
        analysed = jvm.released(self._java.analyze)(block)
        numbers = np.frombuffer(analysed.tostring(), dtype="<i4")
        starts = np.zeros(texts + 1, dtype=np.int64)
        np.cumsum(numbers[:texts], out=starts[1:])
        return numbers[texts:], starts

    def terms(self, first: int = 0) -> list[str]:
        """The terms from id ``first`` on."""
        return str(self._java.terms(first).tostring().decode()).split("\n")[:-1]


def lower_split(text: str) -> list[str]:
    """Lower-case and split at white space, like the papers' rank_bm25 baselines."""
    return text.lower().split()


class TermIds(NamedTuple):
    """The term numbers of n texts, -1 for unknown terms; (n + 1,) ``starts`` of each text."""

    starts: Array
    values: Array

    @classmethod
    def of(cls, sizes: Sequence[int], parts: Sequence[Array]) -> "TermIds":
        starts = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes, out=starts[1:])
        return cls(starts, np.concatenate([np.empty(0, dtype=np.int32), *parts]))


class Vocabulary:
    """Terms from a Python tokenizer, or (None) given terms, numbered in order of appearance.

    With ``queries``, only these texts' terms get numbers and all others share one, so that memory
    does not grow with the candidates. This suits models whose term factors are independent (BM25,
    not Okapi).
    """

    def __init__(
        self, tokenizer: Tokenizer | None = None, queries: Sequence[str] | None = None
    ) -> None:
        self._tokenizer = tokenizer
        self._numbers: dict[str, int] = {}
        self._is_closed = False
        if queries is not None:
            self.of_texts(queries, grow=True)
            self._is_closed = True

    def of_texts(self, texts: Sequence[str], *, grow: bool) -> TermIds:
        if self._tokenizer is None and texts:
            raise UsageError(
                "these candidates were given as terms, so queries must also be terms.",
                hint="Give each query as a list of terms, or a mapping from terms to weights.",
            )
        return self._number(map(self._tokenizer or str.split, texts), grow)

    def of_terms(self, lists: Sequence[Sequence[str]], *, grow: bool) -> TermIds:
        return self._number(iter(lists), grow)

    def _number(self, lists: Iterator[Sequence[str]], grow: bool) -> TermIds:
        lengths: list[int] = []
        parts: list[Array] = []
        numbers = self._numbers
        unknown = len(numbers) if grow else -1  # unknown
        # A few texts at a time, whose terms fit the processor's cache.
        while some := list(islice(lists, 64)):
            lengths += map(len, some)
            terms = chain.from_iterable(some)
            if grow and not self._is_closed:
                ids = [numbers.setdefault(term, len(numbers)) for term in terms]
                parts.append(np.array(ids, dtype=np.int32))
            else:
                parts.append(np.fromiter(map(numbers.get, terms, repeat(unknown)), np.int32))
        return TermIds.of(lengths, parts)


class AnalysedVocabulary(Vocabulary):
    """Terms from the analysis of texts; several sets may share one."""

    def __init__(self, analysis: Analysis) -> None:
        super().__init__()
        self._analyser = bulk_analyser(analysis)

    def of_texts(self, texts: Sequence[str], *, grow: bool) -> TermIds:
        # A lone surrogate cannot be encoded; tokenisers drop both it and "?".
        encoded = (("", text.encode(errors="replace")) for text in texts)
        blocks = [(len(docnos), block) for docnos, block in packed(encoded, with_docnos=False)]
        if len(blocks) > 1:
            with ThreadPoolExecutor(default_threads()) as pool:
                parts = list(pool.map(lambda block: self._analyser.tokens(*block), blocks))
        else:
            parts = [self._analyser.tokens(*block) for block in blocks]
        sizes = [size for _, starts in parts for size in np.diff(starts).tolist()]
        return TermIds.of(sizes, [tokens for tokens, _ in parts])

    def of_terms(self, lists: Sequence[Sequence[str]], *, grow: bool) -> TermIds:
        first = len(self._numbers)
        new = self._analyser.terms(first)
        self._numbers.update(zip(new, range(first, first + len(new)), strict=True))
        return self._number(iter(lists), grow=False)


def vocabulary_of(analysis: Analysis | Tokenizer | Vocabulary | None) -> Vocabulary:
    """A vocabulary for one set; by default with the analysis of English."""
    if isinstance(analysis, Vocabulary):
        return analysis
    if analysis is None or isinstance(analysis, Analysis):
        return AnalysedVocabulary(analysis or Analysis())
    return Vocabulary(analysis)
