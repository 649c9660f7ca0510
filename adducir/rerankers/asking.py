"""What a reranker says, computed only where it is not known."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import InputError
from adducir.models.machine import choose_device, device_kind
from adducir.rerankers.cache import Keys, KnownScores, pair_keys
from adducir.rerankers.passages import united
from adducir.rerankers.registry import Reranker
from adducir.rerankers.scoring import Listwise, Pair, Pointwise

Asked = tuple[str, Sequence[str]]
"""A query, and the texts of its documents."""

Ranked = tuple[NDArray[np.int64], NDArray[np.float64]]
"""The numbers of a query's documents, the best first, and their scores in that order."""


class _Asking:
    """A reranker with what is known of it, and what it is asked.

    Attributes:
        computed: Pairs or windows that the model was asked for.
        cached: Those that were known.
    """

    def __init__(self, reranker: Reranker, known: KnownScores) -> None:
        self.reranker = reranker
        self.computed = self.cached = 0
        self._known = known
        self._device = device_kind(choose_device(reranker.device))
        self._keys: list[Keys] = []
        self._values: list[NDArray[np.float64]] = []

    @property
    def new(self) -> tuple[Keys, NDArray[np.float64]]:
        """(n, 2) keys and (n,) scores of what was computed."""
        keys, values = [np.zeros((0, 2), dtype=np.uint64)], [np.zeros(0)]
        return np.concatenate(keys + self._keys), np.concatenate(values + self._values)

    def _keep(self, keys: Keys, values: NDArray[np.float64]) -> None:
        self._keys.append(keys)
        self._values.append(values)


class AskedScores(_Asking):
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
        scores = united(self.scores(pairs), counts, self.reranker.recipe.passages)
        for some in np.split(scores, np.cumsum(sizes)[:-1]):
            order = np.argsort(-some, kind="stable")
            yield order, some[order]

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """(n,) the scores of pairs; each different one that is not known is computed once.

        Raises:
            InputError: A score is not a number.
        """
        keys = pair_keys(pairs, self._device)
        found = self._known.look_up(keys)
        missing = np.flatnonzero(np.isnan(found))
        self.cached += len(pairs) - len(missing)
        model = self.reranker.model if len(missing) else None
        if isinstance(model, Pointwise):
            alike: dict[Pair, list[int]] = {}
            for number in missing.tolist():
                alike.setdefault(pairs[number], []).append(number)
            values = model.scores(list(alike))
            if not np.isfinite(values).all():
                raise InputError(
                    "the model gave a score that is not a finite number.",
                    hint="Are these the weights of a trained reranker? They may be damaged.",
                )
            for places, value in zip(alike.values(), values, strict=True):
                found[places] = value
            self._keep(keys[[places[0] for places in alike.values()]], values)
            self.computed += len(values)
        return found


class AskedOrders(_Asking):
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
        return order

    def _window(self, query: str, texts: Sequence[str]) -> NDArray[np.int64]:
        pairs = [(query, f"{_digest(texts)}:{place}") for place in range(len(texts))]
        keys = pair_keys(pairs, self._device)
        known = self._known.look_up(keys)
        if not np.isnan(known).any():
            self.cached += 1
            return known.astype(np.int64)
        model = self.reranker.model
        if not isinstance(model, Listwise):
            raise TypeError(f"{self.reranker.name} is not listwise.")
        found = model.order(query, texts)
        self.computed += 1
        self._keep(keys, found.astype(np.float64))
        return found


def _digest(texts: Sequence[str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(f"{len(encoded)}:".encode() + encoded)
    return digest.hexdigest()


def asking(reranker: Reranker, known: KnownScores) -> AskedScores | AskedOrders:
    """What a reranker says of documents."""
    kind = AskedOrders if reranker.is_listwise else AskedScores
    return kind(reranker, known)
