"""Rerankers as PyTerrier transformers: ``retriever >> RerankingTransformer("minilm-ce")``."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from adducir.core.checking import checked
from adducir.indexes.documents import DocumentStore
from adducir.indexes.engine import open_index
from adducir.indexes.index import Index
from adducir.rerankers.cached import CachedOrders, CachedScores
from adducir.rerankers.passages import united
from adducir.rerankers.registry import Reranker, open_reranker
from adducir.rerankers.texts import StoredTexts


class RerankingTransformer(pt.Transformer):
    """Puts each query's documents in a new order.

    Input columns: ``qid``, ``query``, ``docno``, and the documents' texts in ``text_attr`` unless
    an index is given; where there is a ``score``, equal scores of the reranker keep its order.
    Output: the same rows, ordered, with ``score`` and ``rank`` (from 0). To rerank the best alone,
    and keep the rest below, write ``(retriever % 100 >> reranker) ^ retriever``.

    Args:
        reranker: A reranker, or its name: see :func:`adducir.rerankers.registry.open_reranker`.
        index: Where texts come from: an index or its folder.
        text_attr: The column with the documents' texts, where no index is given.
        cache: The folder for scores; None for none.
        device: See :func:`adducir.models.machine.choose_device`.
    """

    @checked
    def __init__(
        self,
        reranker: Reranker | Path | str,
        *,
        index: Index | Path | str | None = None,
        text_attr: str = "text",
        cache: Path | str | None = None,
        device: str = "auto",
    ) -> None:
        super().__init__()
        if not isinstance(reranker, Reranker):
            reranker = open_reranker(reranker, device=device)
        self.reranker = reranker
        self.text_attr = text_attr
        self.cache = None if cache is None else Path(cache)
        opened = open_index(index) if isinstance(index, Path | str) else index
        self._texts: StoredTexts | None = None
        if opened is not None:
            store: DocumentStore = opened.documents
            self._texts = StoredTexts(store, reranker.fields or opened.fields)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Rerank every query of the frame."""
        wanted = ["qid", "query", "docno"] + ([] if self._texts else [self.text_attr])
        pt.validate.columns(inp, includes=wanted)
        if "score" in inp.columns:
            inp = inp.sort_values("score", ascending=False, kind="stable")
        groups = [frame for _, frame in inp.groupby("qid", sort=False)]
        if not groups:
            return inp.assign(score=pd.Series(dtype=float), rank=pd.Series(dtype=int))
        ranked = self._ordered(groups) if self.reranker.is_listwise else self._scored(groups)
        return pd.concat(ranked, ignore_index=True)

    def _of(self, frame: pd.DataFrame) -> list[str]:
        if self._texts is not None:
            return self._texts.get([str(docno) for docno in frame["docno"]])
        return [str(text) for text in frame[self.text_attr]]

    def _scored(self, groups: list[pd.DataFrame]) -> list[pd.DataFrame]:
        scorer = CachedScores(self.reranker, self.cache)
        pairs: list[tuple[str, str]] = []
        counts: list[int] = []
        for frame in groups:
            query = str(frame["query"].iloc[0])
            for text in self._of(frame):
                parts = self.reranker.parts(text)
                counts.append(len(parts))
                pairs += [(query, part) for part in parts]
        try:
            found = scorer.scores(pairs, np.repeat(np.arange(len(counts)), counts))
        finally:
            scorer.close()
        scores = united(found, counts, self.reranker.recipe.passages)
        ends = np.cumsum([len(frame) for frame in groups])[:-1]
        ranked = []
        for frame, some in zip(groups, np.split(scores, ends), strict=True):
            order = np.argsort(-some, kind="stable")
            ranked.append(_reordered(frame, order, some[order]))
        return ranked

    def _ordered(self, groups: list[pd.DataFrame]) -> list[pd.DataFrame]:
        orders = CachedOrders(self.reranker, self.cache)
        ranked = []
        try:
            for frame in groups:
                texts = [self.reranker.parts(text)[0] for text in self._of(frame)]
                order = orders.order(str(frame["query"].iloc[0]), texts)
                ranked.append(_reordered(frame, order, 1.0 / np.arange(1, len(order) + 1)))
        finally:
            orders.close()
        return ranked

    def __repr__(self) -> str:
        return f"RerankingTransformer({self.reranker.name!r})"


def _reordered(frame: pd.DataFrame, order: Any, scores: Any) -> pd.DataFrame:
    found: pd.DataFrame = frame.iloc[order].assign(score=scores, rank=np.arange(len(order)))
    return found
