"""Lexical retrieval, by Lucene or in memory, as PyTerrier transformers.

They run without Terrier's Java: ``bm25 >> rm3 >> bm25`` is BM25 with RM3 feedback, and
``pt.Experiment``, ``pt.GridSearch`` and ``pt.KFoldGridSearch`` take them as they are.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from adducir.indexes.candidates.variants import Variant
from adducir.indexes.engine import Index, open_index
from adducir.indexes.lucene import Hits, Query
from adducir.indexes.models import BM25, QLD, Model, RM3Settings
from adducir.study.checking import checked
from adducir.study.errors import UsageError


def ranked(inp: pd.DataFrame, search: Callable[[list[Query]], Hits]) -> pd.DataFrame:
    """What a search finds for each query of a frame, as PyTerrier has it.

    Args:
        inp: With the columns ``qid`` and ``query``, and perhaps ``query_toks``.
        search: Finds the hits of queries.

    Returns:
        One row a hit, with ``docno``, ``score``, ``rank`` (from 0) and the query's other columns.
    """
    pt.validate.columns(inp, includes=["qid", "query"])
    topics = inp.drop(columns=["docno", "docid", "score", "rank"], errors="ignore")
    topics = topics.drop_duplicates(subset="qid").reset_index(drop=True)
    hits = search(list(topics["query_toks" if "query_toks" in topics else "query"]))
    found = topics.loc[np.repeat(np.arange(len(topics)), hits.counts)].reset_index(drop=True)
    ranks = [np.arange(count) for count in hits.counts]
    return found.assign(
        docno=hits.docnos.to_list(),
        score=hits.scores.astype(np.float64),
        rank=np.concatenate(ranks) if ranks else np.array([], dtype=np.int64),
    )


def _opened(index: Index | Path | str) -> Index:
    return open_index(index) if isinstance(index, Path | str) else index


class LexicalRetriever(pt.Transformer):
    """Ranks documents for each query.

    Input columns: ``qid`` and ``query``; where there is a column ``query_toks`` (index terms and
    weights, as :class:`RM3` makes it), that is searched instead of the text. Output: one row a
    hit, with ``docno``, ``score`` and ``rank`` (from 0).

    Args:
        index: An index of either engine, or its folder.
        model: ``bm25`` or ``qld``; or a model itself, with its own parameters (a memory index
            takes the variants of BM25 too).
        k1: BM25's saturation.
        b: BM25's length weight.
        mu: QLD's smoothing.
        depth: Hits a query, at most; None for all documents that hold a term of the query.
        threads: Threads; by default one a core.
    """

    @checked
    def __init__(
        self,
        index: Index | Path | str,
        model: str | Model | Variant = "bm25",
        *,
        k1: float = 0.9,
        b: float = 0.4,
        mu: float = 1000.0,
        depth: int | None = 1000,
        threads: int | None = None,
    ) -> None:
        super().__init__()
        self.index = _opened(index)
        self.model = model
        self.k1 = k1
        self.b = b
        self.mu = mu
        self.depth = depth
        self.threads = threads

    def _model(self) -> Any:
        # Made anew for each call: PyTerrier's grid search sets the attributes between calls.
        if not isinstance(self.model, str):
            return self.model
        if self.model == "bm25":
            return BM25(self.k1, self.b)
        if self.model == "qld":
            return QLD(self.mu)
        raise UsageError(f"there is no model {self.model!r}.", mend="Choose bm25 or qld.")

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Search every query of the frame."""

        def search(queries: list[Query]) -> Hits:
            model = self._model()
            return self.index.search(queries, model, depth=self.depth, threads=self.threads)

        return ranked(inp, search)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.index.path.name!r}, {self._model()})"


LuceneRetriever = LexicalRetriever
"""The name from when Lucene was the only engine."""


class RM3(pt.Transformer):
    """Expands each query by terms of its best documents: ``retriever >> RM3(index) >> retriever``.

    Input columns: ``qid``, ``query``, ``docno``, ``score``. Output: one row a query, with
    ``query_toks`` (index terms and weights, which :class:`LexicalRetriever` searches) and
    ``query`` unchanged.

    Args:
        index: An index of either engine with document vectors, or its folder.
        fb_terms: How many terms the relevance model keeps.
        fb_docs: How many documents it is estimated from.
        original_query_weight: The weight of the original query, 0 to 1.
    """

    @checked
    def __init__(
        self,
        index: Index | Path | str,
        *,
        fb_terms: int = 10,
        fb_docs: int = 10,
        original_query_weight: float = 0.5,
    ) -> None:
        super().__init__()
        self.index = _opened(index)
        self.fb_terms = fb_terms
        self.fb_docs = fb_docs
        self.original_query_weight = original_query_weight

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Expand every query of the frame."""
        pt.validate.columns(inp, includes=["qid", "query", "docno", "score"])
        rm3 = RM3Settings(self.fb_terms, self.fb_docs, self.original_query_weight)
        ordered = inp.sort_values(["score", "docno"], ascending=[False, True], kind="stable")
        rows: list[dict[str, Any]] = []
        for qid, ranking in ordered.groupby("qid", sort=False):
            query = str(ranking["query"].iloc[0])
            feedback = list(zip(ranking["docno"], ranking["score"], strict=True))
            weights = self.index.expand_from(query, feedback, rm3)
            rows.append({"qid": qid, "query": query, "query_toks": weights})
        return pd.DataFrame(rows, columns=["qid", "query", "query_toks"])

    def __repr__(self) -> str:
        return f"RM3({self.fb_terms}, {self.fb_docs}, {self.original_query_weight})"
