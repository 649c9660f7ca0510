"""What a reranker says, computed only where it is not in the cache."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import MachineError
from adducir.core.progress import SILENT, Progress
from adducir.rerankers.cache import ScoreCache, pair_keys
from adducir.rerankers.passages import united
from adducir.rerankers.registry import Reranker
from adducir.rerankers.scoring import Listwise, Pair, Pointwise

Asked = tuple[str, Sequence[str]]
"""A query, and the texts of its documents."""

Ranked = tuple[NDArray[np.int64], NDArray[np.float64]]
"""The numbers of a query's documents, the best first, and their scores in that order."""


class _Counting:
    """A reranker with its cache, and counts of what was asked.

    Attributes:
        computed: Pairs or windows that the model was asked for.
        cached: Those that were known.
    """

    def __init__(
        self, reranker: Reranker, folder: Path | None, progress: Progress = SILENT
    ) -> None:
        self.reranker = reranker
        self.computed = self.cached = 0
        self._progress = progress
        self._cache = None
        if folder is not None:
            self._cache = ScoreCache(folder, reranker.identity, progress)

    def close(self) -> None:
        """Write what is not in a shard yet."""
        if self._cache is not None:
            self._cache.flush()

    def _report(self) -> None:
        if self.cached:
            self._progress.detail(f"{self.cached:,} from the cache")


class CachedScores(_Counting):
    """Scores of pairs."""

    def ranked(self, asked: Iterable[Asked]) -> Iterator[Ranked]:
        """The order of each query's documents by the scores of their passages, all at once."""
        pairs: list[Pair] = []
        counts: list[int] = []
        sizes: list[int] = []
        for query, texts in asked:
            sizes.append(len(texts))
            for text in texts:
                parts = self.reranker.parts(text)
                counts.append(len(parts))
                pairs += [(query, part) for part in parts]
        found = self.scores(pairs, np.repeat(np.arange(len(counts)), counts))
        scores = united(found, counts, self.reranker.recipe.passages)
        for some in np.split(scores, np.cumsum(sizes)[:-1]):
            order = np.argsort(-some, kind="stable")
            yield order, some[order]

    def scores(self, pairs: Sequence[Pair], documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n,) the scores of pairs, as they would be computed.

        Args:
            pairs: Queries and passages.
            documents: (n,) numbers from 0: which document each passage is of. The progress goes on
                by one when all passages of a document have their score.

        Raises:
            MachineError: A score is not a number.
        """
        keys = pair_keys(pairs)
        found = np.full(len(pairs), np.nan)
        if self._cache is not None:
            found = self._cache.look_up(keys)
        missing = np.flatnonzero(np.isnan(found))
        self.cached += len(pairs) - len(missing)
        waiting = np.bincount(documents[missing], minlength=int(documents.max(initial=-1)) + 1)
        self._report()
        self._progress.advance(int((waiting == 0).sum()))
        model = self.reranker.model if len(missing) else None
        if isinstance(model, Pointwise):
            self._compute(model, pairs, keys, missing, documents, waiting, found)
        return found

    def _compute(
        self,
        model: Pointwise,
        pairs: Sequence[Pair],
        keys: NDArray[np.uint64],
        missing: NDArray[np.int64],
        documents: NDArray[np.int64],
        waiting: NDArray[np.int64],
        found: NDArray[np.float64],
    ) -> None:
        """Fill in what is missing, each different pair once, and keep it."""
        alike: dict[Pair, list[int]] = {}
        for number in missing.tolist():
            alike.setdefault(pairs[number], []).append(number)
        places = list(alike.values())
        for numbers, values in model.scored(list(alike)):
            if not np.isfinite(values).all():
                raise MachineError(
                    "the model gave a score that is no finite number.",
                    hint="Compute with `precision: float32`.",
                )
            firsts = np.array([places[number][0] for number in numbers])
            if self._cache is not None:
                self._cache.put(keys[firsts], values)
            self.computed += len(values)
            filled = 0
            for number, value in zip(numbers, values, strict=True):
                for place in places[number]:
                    found[place] = value
                    waiting[documents[place]] -= 1
                    filled += int(waiting[documents[place]] == 0)
            self._progress.advance(filled)


class CachedOrders(_Counting):
    """Orders of lists, window by window."""

    def ranked(self, asked: Iterable[Asked]) -> Iterator[Ranked]:
        """The order of each query's documents by their first passages, one query after another."""
        for query, texts in asked:
            order = self.order(query, [self.reranker.parts(text)[0] for text in texts])
            yield order, 1.0 / np.arange(1, len(order) + 1)

    def order(self, query: str, texts: Sequence[str]) -> NDArray[np.int64]:
        """The numbers of texts, the best first, after windows from the bottom up."""
        order = np.arange(len(texts))
        for first, end in self.reranker.windows(len(texts)):
            inside = order[first:end]
            order[first:end] = inside[self._window(query, [texts[n] for n in inside])]
            self._report()
            self._progress.advance(1)
        return order

    def _window(self, query: str, texts: Sequence[str]) -> NDArray[np.int64]:
        keys = pair_keys([(query, f"{_digest(texts)}:{place}") for place in range(len(texts))])
        if self._cache is not None:
            known = self._cache.look_up(keys)
            if not np.isnan(known).any():
                self.cached += 1
                return known.astype(np.int64)
        model = self.reranker.model
        if not isinstance(model, Listwise):
            raise TypeError(f"{self.reranker.name} is not listwise.")
        found = model.order(query, texts)
        self.computed += 1
        if self._cache is not None:
            self._cache.put(keys, found.astype(np.float64))
        return found


def _digest(texts: Sequence[str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(f"{len(encoded)}:".encode() + encoded)
    return digest.hexdigest()


def cached(
    reranker: Reranker, folder: Path | None, progress: Progress = SILENT
) -> CachedScores | CachedOrders:
    """What a reranker says of documents; ``folder`` is the cache's, None for none."""
    kind = CachedOrders if reranker.is_listwise else CachedScores
    return kind(reranker, folder, progress)
