"""Rerankers as PyTerrier transformers: ``retriever >> RerankingTransformer("minilm-ce")``."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyterrier as pt

from adducir.indexes.engines import open_index
from adducir.indexes.index import Index
from adducir.rerankers.registry import Reranker, open_reranker
from adducir.rerankers.rerank import Candidates, reorder
from adducir.rerankers.texts import KnownTexts, StoredTexts


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
        self.reranker, self.text_attr = reranker, text_attr
        self.cache = None if cache is None else Path(cache)
        self._texts: StoredTexts | None = None
        if index is not None:
            opened = open_index(index) if isinstance(index, Path | str) else index
            self._texts = StoredTexts(opened.documents, reranker.fields or opened.fields)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Rerank every query of the frame."""
        wanted = ["qid", "query", "docno"] + ([] if self._texts else [self.text_attr])
        pt.validate.columns(inp, includes=wanted)
        if "score" in inp.columns:
            inp = inp.sort_values("score", ascending=False, kind="stable")
        groups = [frame for _, frame in inp.groupby("qid", sort=False)]
        if not groups:
            return inp.assign(score=pd.Series(dtype=float), rank=pd.Series(dtype=int))
        texts, asked = dict[str, str](), list[Candidates]()
        for frame in groups:
            own = (
                frame[self.text_attr].map(str)
                if self._texts is None
                else self._texts.get(frame["docno"].map(str))
            )
            # A document may have another text for each query: a row is named by its number.
            rows = {f"{len(texts) + number}": text for number, text in enumerate(own)}
            texts |= rows
            qid, query = (str(frame[name].iloc[0]) for name in ("qid", "query"))
            asked.append(Candidates(qid, query, list(rows)))
        found = reorder(asked, KnownTexts(texts), self.reranker, cache=self.cache)
        ends = np.cumsum(found.sizes)[:-1]
        ranked = [
            frame.iloc[order].assign(score=scores, rank=np.arange(len(order)))
            for frame, order, scores in zip(
                groups, np.split(found.order, ends), np.split(found.scores, ends), strict=True
            )
        ]
        return pd.concat(ranked, ignore_index=True)

    def __repr__(self) -> str:
        return f"RerankingTransformer({self.reranker.name!r})"
