"""Retrieval by any engine as plain callables that are PyTerrier transformers where it is installed.

They run without Terrier's Java: ``bm25 >> QueryExpansion(index) >> bm25`` is BM25 with RM3, ``0.1 *
bm25 + dense`` a hybrid; ``pt.Experiment``, ``pt.GridSearch`` and ``pt.KFoldGridSearch`` accept
them. Without PyTerrier or pandas, retrievers rank topics, polars frames and dicts.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from adducir.core.errors import UsageError
from adducir.core.recipe import Kind
from adducir.core.registry import Family
from adducir.corpora.topics import Topics
from adducir.indexes.engines import open_index
from adducir.indexes.feedback import FeedbackMethod
from adducir.indexes.index import Index
from adducir.indexes.kinds import FEEDBACK, MODELS
from adducir.indexes.models import Model
from adducir.indexes.search import queries_of
from adducir.indexes.transformers import Transformer, refuse_without

if TYPE_CHECKING:
    import pandas as pd


class _OverIndex(Transformer):
    """A transformer with a kind's hyperparameters as attributes, for grid searches."""

    _is_dense = False

    def __init__(
        self,
        index: Index | Path | str,
        *,
        depth: int | None = 1000,
        threads: int | None = None,
        device: str = "auto",
        kind: Kind | None = None,
    ) -> None:
        super().__init__()
        self.index = index if isinstance(index, Index) else open_index(index, device=device)
        if self._is_dense is bool(self.index.default_model):
            what = f"{type(self).__name__} cannot search this index."
            other = LexicalRetriever if self._is_dense else DenseRetriever
            raise UsageError(what, hint=f"Use {other.__name__}.")
        self.depth, self.threads = depth, threads
        self._kind: Any = type(kind)
        for name, value in kind or ():
            setattr(self, name, value)

    def _made(self) -> Any:
        return self._kind(**{name: getattr(self, name) for name in self._kind.model_fields})

    def __repr__(self) -> str:
        made = f", {self._made()!r}" if issubclass(self._kind, Kind) else ""
        return f"{type(self).__name__}({self.index.path.name!r}{made})"

    def _ranked(
        self, inp: "pd.DataFrame", model: Any = None, feedback: FeedbackMethod | None = None
    ) -> "pd.DataFrame":
        refuse_without(inp, "qid", "query")
        topics = inp.drop(columns=["docno", "docid", "score", "rank"], errors="ignore")
        topics = topics.drop_duplicates(subset="qid").reset_index(drop=True)
        queries = list(topics["query_toks" if "query_toks" in topics else "query"])
        hits = self.index.search(
            queries, model, feedback=feedback, depth=self.depth, threads=self.threads
        )
        found = topics.loc[np.repeat(np.arange(len(topics)), hits.counts)].reset_index(drop=True)
        ranks = [np.arange(count) for count in hits.counts]
        return found.assign(
            docno=hits.docnos.to_list(),
            score=hits.scores.astype(np.float64),
            rank=np.concatenate(ranks) if ranks else np.array([], dtype=np.int64),
        )


def _chosen(family: Family[Any], kind: str | Kind, hyperparameters: Mapping[str, Any]) -> Kind:
    if isinstance(kind, str):
        made: Kind = family.make(kind, hyperparameters)
        return made
    return type(kind)(**{**kind.model_dump(), **hyperparameters})


class _Retriever(_OverIndex):
    """Ranks documents for the queries of a frame, of topics or of a dict."""

    feedback: FeedbackMethod | None = None

    def _model(self) -> Any:
        """The retrieval model of the index's search."""

    def transform(self, inp: "pd.DataFrame") -> "pd.DataFrame":
        return self._ranked(inp, self._model(), self.feedback)

    def __call__(self, inp: Any) -> Any:
        """Rank the documents for each query.

        Args:
            inp: Topics, a polars frame or a dict ``{qid: query}``; or what PyTerrier takes, such as
                a pandas frame.

        Returns:
            A frame with ``qid``, ``query``, ``docno``, ``score`` and ``rank`` (from 0): pandas for
            pandas, else polars.
        """
        if not isinstance(inp, Topics | pl.DataFrame | Mapping):
            return super().__call__(inp)
        topics = inp if isinstance(inp, Topics) else Topics.of(inp)
        hits = self.index.search(
            queries_of(self.index, topics),
            self._model(),
            feedback=self.feedback,
            depth=self.depth,
            threads=self.threads,
        )
        frame = hits.frame(topics.qids)
        queries = pl.Series("query", topics.queries, dtype=pl.String)
        frame.insert_column(1, queries.gather(np.repeat(np.arange(len(topics)), hits.counts)))
        return frame.with_columns(rank=pl.int_range(pl.len()).over("qid"))


class DenseRetriever(_Retriever):
    """Ranks documents for each query by the inner product of vectors.

    Input columns: ``qid`` and ``query``. Output: at most ``depth`` rows per query, with ``docno``,
    ``score`` and ``rank`` (from 0). The encoder of a folder runs on ``device``.
    """

    _is_dense = True


class LexicalRetriever(_Retriever):
    """Ranks documents for each query.

    Input columns: ``qid`` and ``query``; a column ``query_toks`` (index terms and weights, from
    :class:`QueryExpansion`) is searched instead of the text. Output: one
    row per hit, with ``docno``, ``score`` and ``rank`` (from 0).

    Args:
        model: A retrieval model or its name; by default the index's.
        feedback: A feedback method or its name, to search twice in one step.
        depth: Maximum hits per query; None for all documents with a query term.
        hyperparameters: The model's; they become attributes.
    """

    def __init__(
        self,
        index: Index | Path | str,
        model: str | Model | None = None,
        *,
        feedback: str | FeedbackMethod | None = None,
        depth: int | None = 1000,
        threads: int | None = None,
        **hyperparameters: float,
    ) -> None:
        opened = index if isinstance(index, Index) else open_index(index)
        kind = _chosen(MODELS, model or opened.default_model or "bm25", hyperparameters)
        super().__init__(opened, depth=depth, threads=threads, kind=kind)
        self.feedback = FEEDBACK.make(feedback) if isinstance(feedback, str) else feedback

    def _model(self) -> Any:
        return self._made()


class QueryExpansion(_OverIndex):
    """Expands queries with their best documents: ``retriever >> QueryExpansion(...) >> retriever``.

    Input columns: ``qid``, ``query``, ``docno``, ``score``. Output: one row per query, with
    ``query_toks`` (index terms and weights, which :class:`LexicalRetriever` searches) and ``query``
    unchanged.

    Args:
        feedback: A feedback method or its name.
        hyperparameters: The method's; they become attributes.
    """

    def __init__(
        self,
        index: Index | Path | str,
        feedback: str | FeedbackMethod = "rm3",
        **hyperparameters: float,
    ) -> None:
        super().__init__(index, depth=None, kind=_chosen(FEEDBACK, feedback, hyperparameters))

    def transform(self, inp: "pd.DataFrame") -> "pd.DataFrame":
        import pandas as pd

        refuse_without(inp, "qid", "query", "docno", "score")
        method = self._made()
        ordered = inp.sort_values(["score", "docno"], ascending=[False, True], kind="stable")
        rows: list[dict[str, Any]] = []
        for qid, ranking in ordered.groupby("qid", sort=False):
            query = str(ranking["query"].iloc[0])
            documents = list(zip(ranking["docno"], ranking["score"], strict=True))
            weights = self.index.expand_from(query, documents, method)
            rows.append({"qid": qid, "query": query, "query_toks": weights})
        return pd.DataFrame(rows, columns=["qid", "query", "query_toks"])
