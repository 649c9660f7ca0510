"""Rerankers as PyTerrier transformers: ``retriever >> RerankingTransformer("minilm-ce")``."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from adducir.indexes.engines import open_index
from adducir.indexes.index import Index
from adducir.indexes.retriever import Transformer, refuse_without
from adducir.models.running import Running
from adducir.rerankers.recipe import Reranker, open_reranker
from adducir.rerankers.rerank import PAIRS, Texts

if TYPE_CHECKING:
    import pandas as pd


class RerankingTransformer(Transformer):
    """Reranks each query's documents.

    Input columns: ``qid``, ``query``, ``docno``, and the documents' texts in ``text_attr`` unless
    an index is given; with a ``score``, ties of the reranker keep its order. Output: the same rows,
    sorted, with ``score`` and ``rank`` (from 0). To rerank only the best and keep the rest below,
    write ``(retriever % 100 >> reranker) ^ retriever``.

    ``reranker`` may be a name (:func:`adducir.rerankers.recipe.open_reranker`), ``index`` a folder.
    """

    def __init__(
        self,
        reranker: Reranker | Path | str,
        *,
        index: Index | Path | str | None = None,
        text_attr: str = "text",
        device: str = "auto",
    ) -> None:
        super().__init__()
        if not isinstance(reranker, Reranker):
            reranker = open_reranker(reranker, running=Running(device))
        self.reranker, self.text_attr, self.device = reranker, text_attr, device
        self.index = open_index(index) if isinstance(index, Path | str) else index
        self._texts: Texts | None = None
        if self.index is not None:
            fields = reranker.fields or self.index.fields
            self._texts = Texts.stored(self.index.documents, fields)

    def transform(self, inp: "pd.DataFrame") -> "pd.DataFrame":
        columns = ["qid", "query", "docno"] + ([] if self._texts else [self.text_attr])
        refuse_without(inp, *columns)
        if "score" in inp.columns:
            inp = inp.sort_values("score", ascending=False, kind="stable")
        inp = inp.iloc[inp.groupby("qid", sort=False).ngroup().argsort(kind="stable")]
        texts = inp[self.text_attr] if self._texts is None else self._texts.get(inp["docno"])
        pairs = list(zip(inp["query"].map(str), map(str, texts), strict=True))
        groups = inp.groupby("qid", sort=False).ngroup().to_numpy()
        cuts = np.arange(0, len(pairs), PAIRS)
        if self.reranker.recipe.is_listwise:
            cuts = np.flatnonzero(np.diff(groups, prepend=-1))
        ends = [*cuts[1:], len(pairs)]
        values = [self.reranker.scores(pairs[a:b]) for a, b in zip(cuts, ends, strict=False)]
        scores = np.concatenate([np.zeros(0), *values])
        order = np.lexsort((-scores, groups))
        ranked = inp.iloc[order].assign(score=scores[order]).reset_index(drop=True)
        return ranked.assign(rank=ranked.groupby("qid", sort=False).cumcount())

    def __repr__(self) -> str:
        source = (
            f"text_attr={self.text_attr!r}" if self.index is None else repr(str(self.index.path))
        )
        return f"RerankingTransformer({self.reranker.name!r}, {source})"
