"""Expanding queries over a memory index: RM3 for many queries at once, others term by term.

Anserini's hash maps decide in which order norms are summed. Doubles hold such sums of floats
exactly unless one is over a million times another, so that order shows nowhere. Documents whose
score is negative, which Lucene's never is, add nothing.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import islice, pairwise

import numpy as np

from adducir.core.errors import UsageError
from adducir.indexes.arrays import Array, damaged
from adducir.indexes.feedback import (
    RM3,
    Collection,
    Document,
    FeedbackMethod,
    Weights,
    expanded,
    heaviest_first,
)
from adducir.indexes.kinds import FEEDBACK
from adducir.indexes.memory.ranking import Ranked, in_threads
from adducir.indexes.memory.segment import FILES, SavedSegment

_COMMON = np.float32(0.1)
_LEAST_NORM = np.float32(0.001)


class Feedback:
    """Expands queries; ``documents``: as Lucene counts; ``plain``: new terms are ``[a-z0-9]+``."""

    def __init__(self, segment: SavedSegment, documents: int, *, plain: bool) -> None:
        self._segment, self._documents, self._plain = segment, documents, plain

    def check(self, method: FeedbackMethod) -> None:
        if "memory" not in method.engines:
            raise UsageError(
                f"a memory index has no feedback {FEEDBACK.name_of(type(method))!r}.",
                hint="Build a Lucene index, or choose another method.",
            )

    def weights(
        self, queries: Sequence[Counter[str]], found: Ranked, method: FeedbackMethod, threads: int
    ) -> list[Weights]:
        self.check(method)
        made: list[Weights] = [{} for _ in queries]
        starts = found.starts

        def expand(first: int, last: int) -> None:
            part = slice(starts[first], starts[last])
            ranked = Ranked(found.counts[first:last], found.docs[part], found.scores[part])
            some = queries[first:last]
            if isinstance(method, RM3):
                made[first:last] = self._rm3(some, ranked, method)
            else:
                made[first:last] = self._by_name(some, ranked, method)

        in_threads(expand, len(queries), threads)
        return made

    def _vectors(self, docs: Array) -> tuple[Array, Array, Array]:
        """How many terms each document has, their numbers and their frequencies."""
        segment = self._segment
        offsets, numbers, frequencies = map(
            np.asarray, (segment.forward_offsets, segment.forward, segment.forward_tfs)
        )
        parts = [slice(*offsets[doc : doc + 2].tolist()) for doc in docs.tolist()]
        none = np.empty(0, dtype=np.int32)
        terms = np.concatenate([none, *(numbers[part] for part in parts)])
        tfs = np.concatenate([none, *(frequencies[part] for part in parts)])
        if len(terms) and not (terms.min() >= 0 and terms.max() < len(segment.occurrences)):
            raise damaged(segment.folder / FILES["forward"])
        return offsets[docs + 1] - offsets[docs], terms, tfs

    def _by_name(
        self, queries: Sequence[Counter[str]], found: Ranked, method: FeedbackMethod
    ) -> list[Weights]:
        segment = self._segment
        sizes, terms, tfs = self._vectors(found.docs)
        names = self._segment.terms.gather(terms).to_list()
        pairs = iter(zip(names, tfs.tolist(), strict=True))
        documents = [
            Document(score, dict(islice(pairs, size)))
            for score, size in zip(found.scores.tolist(), sizes.tolist(), strict=True)
        ]
        every = list({*names, *(term for query in queries for term in query)})
        held = zip(every, segment.numbers(every).tolist(), strict=True)
        counts = segment.frequencies
        frequencies = {term: int(counts[number]) for term, number in held if number >= 0}
        starts = found.starts
        each = (documents[starts[n] : starts[n + 1]] for n in range(len(queries)))
        return expanded(
            method, queries, each, Collection(self._documents, self._plain, frequencies)
        )

    @cached_property
    def _eligible(self) -> Array:
        """(V,) which terms RM3 takes."""
        names = self._segment.terms
        share = self._segment.frequencies.astype(np.float32) / np.float32(self._documents)
        # Java counts characters beyond the first 65,536 as two.
        sizes = names.str.len_chars() + names.str.count_matches("[\U00010000-\U0010ffff]")
        allowed = names.str.contains("^[a-z0-9]{2,20}$") if self._plain else sizes.is_between(2, 20)
        return np.asarray(allowed.to_numpy() & (share <= _COMMON))

    def _rm3(self, queries: Sequence[Counter[str]], found: Ranked, method: RM3) -> list[Weights]:
        sizes, terms, tfs = self._vectors(found.docs)
        rows = np.repeat(np.arange(len(sizes)), sizes)
        kept = self._eligible[terms]
        # A document's most frequent terms stand first.
        kept[kept] = _places(rows[kept]) < method.fb_terms
        rows, terms, values = rows[kept], terms[kept], tfs[kept].astype(np.float32)
        norms = np.bincount(rows, values, minlength=len(sizes)).astype(np.float32)
        values = values / norms[rows] * np.maximum(found.scores, 0).astype(np.float32)[rows]
        some = norms[rows] > _LEAST_NORM
        numbers = np.repeat(np.arange(len(queries)), found.counts)[rows[some]]
        pairs, places = np.unique((numbers << 32) + terms[some], return_inverse=True)
        sums = np.zeros(len(pairs), dtype=np.float32)
        np.add.at(sums, places, values[some])

        numbers, terms = pairs >> 32, pairs & 0xFFFFFFFF
        best = np.lexsort((self._segment.ranks[terms], -sums, numbers))
        best = best[_places(numbers) < method.fb_terms]
        numbers, terms, sums = numbers[best], terms[best], sums[best]
        totals = np.bincount(numbers, sums, minlength=len(queries))[numbers]
        some = totals > 0
        numbers, sums, totals = numbers[some], sums[some], totals[some]
        names = self._segment.terms.gather(terms[some]).to_list()
        own = np.float32(method.original_query_weight)
        shares = (sums / totals).astype(np.float32).astype(np.float64)
        model = (1.0 - np.float64(own)) * shares
        doubles, floats = model.tolist(), model.astype(np.float32).tolist()
        ends = np.searchsorted(numbers, np.arange(len(queries) + 1)).tolist()
        made = []
        for query, (first, last) in zip(queries, pairwise(ends), strict=True):
            known = dict(zip(names[first:last], doubles[first:last], strict=True))
            weights = dict(zip(names[first:last], floats[first:last], strict=True))
            for term, count in query.items():
                share = float(own * np.float32(count / query.total()))
                weights[term] = float(np.float32(share + known.get(term, 0.0)))
            made.append(heaviest_first(weights))
        return made


def _places(rows: Array) -> Array:
    """The place of each row among those of its number, which stand together."""
    counts = np.bincount(rows)
    return np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
