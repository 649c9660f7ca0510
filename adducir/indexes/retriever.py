"""Retrieval by any engine as plain callables that are PyTerrier transformers where it is installed.

They run without Terrier's Java: ``bm25 >> QueryExpansion(index) >> bm25`` is BM25 with RM3, ``0.1 *
bm25 + dense`` a hybrid; ``pt.Experiment``, ``pt.GridSearch`` and ``pt.KFoldGridSearch`` accept
them. Without PyTerrier or pandas, retrievers rank topics, polars frames and dicts.
"""

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import polars as pl

from adducir.core.errors import UsageError
from adducir.core.texts import items_in, typed
from adducir.corpora.documents import WeightedWords
from adducir.corpora.frames import as_pandas, is_frame
from adducir.corpora.topics import Topics, as_topics
from adducir.indexes.engines import open_index
from adducir.indexes.feedback import FeedbackMethod
from adducir.indexes.hits import Hits
from adducir.indexes.index import Index, Query
from adducir.indexes.kinds import FEEDBACK, MODELS
from adducir.indexes.models import Model
from adducir.indexes.search import queries_of

if TYPE_CHECKING:
    import pandas as pd

HAS_PYTERRIER = find_spec("pyterrier") is not None

if TYPE_CHECKING or HAS_PYTERRIER:
    from pyterrier import Transformer as Transformer
else:

    class Transformer:
        """What PyTerrier's class of the name does outside pipelines."""

        def __call__(self, inp: Any) -> Any:
            """Returns the output of ``transform``."""
            return self.transform(inp)

        def search(self, query: str, qid: str = "1") -> Any:
            """Returns the output for one query."""
            return self({qid: query})


def refuse_without(frame: Any, *columns: str) -> None:
    """Refuse a frame that lacks columns, with the error that ``pt.inspect`` understands."""
    if HAS_PYTERRIER:
        import pyterrier as pt

        pt.validate.columns(frame, includes=list(columns))
    elif missing := [name for name in columns if name not in frame.columns]:
        raise UsageError(f"the input lacks the column {missing[0]!r}.")


class _OverIndex(Transformer):
    """A transformer with a kind's hyperparameters as attributes, for grid searches."""

    hyperparameters: ClassVar[Mapping[str, float]] = {}
    _is_dense = False

    def __init__(self, index: Index, depth: int | None, threads: int | None, kind: Any) -> None:
        super().__init__()
        self.index = index
        if self._is_dense is bool(self.index.default_model):
            message = f"{type(self).__name__} cannot search this index."
            right_class = LexicalRetriever if self._is_dense else DenseRetriever
            raise UsageError(message, hint=f"Use {right_class.__name__}.")
        self.depth, self.threads = depth, threads
        self._kind: Any = type(kind)
        for name, value in kind or ():
            setattr(self, name, value)

    def _made(self) -> Any:
        """The kind with the current hyperparameters; None for a dense index."""
        fields = getattr(self._kind, "model_fields", ())
        return self._kind(**{name: getattr(self, name) for name in fields})

    def _stated(self) -> list[str]:
        """What tells two transformers apart, as arguments."""
        kind = self._made()
        return [repr(str(self.index.path)), *([] if kind is None else [repr(kind)])]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._stated())})"


class _Retriever(_OverIndex):
    """Ranks documents for the queries of a frame, of topics or of a dict."""

    transform_inputs: ClassVar = [["qid", "query"], ["qid", "query", "docno"]]
    feedback: FeedbackMethod | None = None

    def _stated(self) -> list[str]:
        feedback = [] if self.feedback is None else [f"feedback={self.feedback!r}"]
        return [*super()._stated(), *feedback, f"depth={self.depth}"]

    def _found(self, queries: Sequence[Query]) -> Hits:
        how: Any = {"feedback": self.feedback, "depth": self.depth, "threads": self.threads}
        return self.index.search(queries, self._made(), **how)

    def _queries(self, topics: "pd.DataFrame") -> list[Query]:
        return list(topics["query"].map(str))

    def transform(self, inp: "pd.DataFrame") -> "pd.DataFrame":
        """Rank the collection for each query; or score the documents of a column ``docno``."""
        import pandas as pd

        refuse_without(inp, "qid", "query")
        if "docno" in inp.columns:
            return self._scored(inp)
        topics = inp.drop(columns=["docid", "score", "rank"], errors="ignore")
        topics = topics.drop_duplicates(subset="qid").reset_index(drop=True)
        hits = self._found(self._queries(topics))
        rows = topics.loc[np.repeat(np.arange(len(topics)), hits.counts)].reset_index(drop=True)
        return rows.assign(
            docno=pd.Series(hits.docnos.to_list(), dtype=str),  # also of an empty frame
            score=hits.scores.astype(np.float64),
            rank=np.concatenate([np.empty(0, dtype=np.int64), *map(np.arange, hits.counts)]),
        )

    def _scored(self, inp: "pd.DataFrame") -> "pd.DataFrame":
        """The same rows, each query's best first; other columns stay."""
        by_query = inp.groupby("qid", sort=False)
        groups = by_query.ngroup().to_numpy()
        rows = np.argsort(groups, kind="stable")
        scores = self.index.score(
            self._queries(inp.drop_duplicates(subset="qid")),
            [list(map(str, docnos)) for docnos in by_query["docno"].agg(list)],
            self._made(),
            feedback=self.feedback,
            threads=self.threads,
        )
        kept = inp.drop(columns=["score", "rank"], errors="ignore").iloc[rows]
        kept = kept.assign(score=np.concatenate([np.empty(0), *scores]), _group=groups[rows])
        kept = kept.sort_values(
            ["_group", "score", "docno"], ascending=[True, False, True], kind="stable"
        )
        ranks = kept.groupby("_group").cumcount().astype(np.int64)
        return kept.drop(columns="_group").assign(rank=ranks).reset_index(drop=True)

    def __call__(self, inp: Any) -> Any:
        """Rank the documents for each query.

        Args:
            inp: Topics, their file, a polars or Arrow frame or a dict ``{qid: query}``; or what
                PyTerrier takes, such as a pandas frame. A frame's ``docno`` are scored alone.

        Returns:
            A frame with ``qid``, ``query``, ``docno``, ``score`` and ``rank`` (from 0): pandas for
            pandas, else polars.
        """
        is_other_frame = is_frame(inp) and not hasattr(inp, "iloc")
        if not is_other_frame and not isinstance(inp, Topics | Mapping | str | os.PathLike):
            items_in(inp, "queries", "topics, a file, a data frame or a dict")  # or refuse it
            return super().__call__(inp)
        if is_other_frame and "docno" in (given := pl.DataFrame(inp)).columns:
            return pl.DataFrame(self.transform(as_pandas(given)).to_dict("list"))
        topics = as_topics(inp)
        hits = self._found(queries_of(self.index, topics))
        frame = hits.to_polars(topics.qids)
        queries = pl.Series("query", topics.queries, dtype=pl.String)
        frame.insert_column(1, queries.gather(np.repeat(np.arange(len(topics)), hits.counts)))
        return frame.with_columns(rank=pl.int_range(pl.len()).over("qid"))


class DenseRetriever(_Retriever):
    """Ranks documents for each query by the inner product of vectors.

    Input columns: ``qid`` and ``query``; with ``docno``, exactly those documents are scored.
    Output: at most ``depth`` rows per query, with ``docno``, ``score`` and ``rank`` (from 0). The
    encoder of a folder runs on ``device``.

    Example:
        >>> index = ad.build_index(pets, "vectors", ad.DenseSettings(encoder="minilm"))
        >>> ad.DenseRetriever(index, depth=1)({"1": "a kitten"})["docno"].to_list()
        ['x']
    """

    _is_dense = True

    @typed
    def __init__(
        self,
        index: Index | Path | str,
        *,
        depth: int | None = 1000,
        threads: int | None = None,
        device: str = "auto",
    ) -> None:
        opened = index if isinstance(index, Index) else open_index(index, device=device)
        super().__init__(opened, depth, threads, None)
        self.device = device

    def _queries(self, topics: "pd.DataFrame") -> list[Query]:
        if {"query_0", "query_toks"} <= set(topics.columns):
            raise UsageError(
                "the queries were expanded to weighted terms, which a dense index does not search.",
                hint="Reset them first: pt.rewrite.reset().",
            )
        return super()._queries(topics)


class LexicalRetriever(_Retriever):
    """Ranks documents for each query.

    Input columns: ``qid`` and ``query``; a column ``query_toks`` (index terms and weights) is
    searched instead of the text if it comes from :class:`QueryExpansion` or the index is one of
    token weights, as ``adducir search`` does. With ``docno``, exactly those documents are scored,
    one without a query term with 0, and other columns stay. Output: one row per hit, with
    ``docno``, ``score`` and ``rank`` (from 0).

    Args:
        model: A retrieval model or its name; by default the index's.
        feedback: A feedback method or its name, to search twice in one step.
        depth: Maximum hits per query; None for all documents with a query term.
        hyperparameters: The model's; they become attributes.

    Example:
        >>> bm25 = ad.LexicalRetriever("pets", "bm25", k1=1.2)
        >>> sorted(bm25({"1": "cats"})["docno"])
        ['x', 'z']
    """

    @typed
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
        model = opened.default_model or "bm25" if model is None else model
        kind: Any = MODELS.chosen(model, hyperparameters)
        super().__init__(opened, depth, threads, kind)
        self.feedback = None if feedback is None else FEEDBACK.chosen(feedback)

    @property
    def model(self) -> Model:
        """The model with the current hyperparameters; PyTerrier copies transformers by it."""
        return cast("Model", self._made())

    def _queries(self, topics: "pd.DataFrame") -> list[Query]:
        texts = super()._queries(topics)
        if "query_toks" not in topics:
            return texts
        takes = Mapping if "query_0" in topics or self.index.takes_weights else WeightedWords
        pairs = zip(topics["query_toks"], texts, strict=True)
        return [terms if isinstance(terms, takes) else text for terms, text in pairs]


class QueryExpansion(_OverIndex):
    """Expands queries with their best documents: ``retriever >> QueryExpansion(...) >> retriever``.

    Input columns: ``qid``, ``query``, ``docno``, ``score``. Output: one row per query, with
    ``query_toks`` (index terms and weights, which :class:`LexicalRetriever` searches), ``query``
    unchanged and also as ``query_0``, from where ``pt.rewrite.reset`` takes it, and the columns of
    queries: those that begin with ``q`` or are the same in all rows of every query.

    Args:
        feedback: A feedback method or its name.
        hyperparameters: The method's; they become attributes.

    Example:
        >>> rm3 = ad.QueryExpansion("pets", "rm3", fb_docs=2)
        >>> rm3.feedback.fb_docs
        2
    """

    @typed
    def __init__(
        self,
        index: Index | Path | str,
        feedback: str | FeedbackMethod = "rm3",
        **hyperparameters: float,
    ) -> None:
        opened = index if isinstance(index, Index) else open_index(index)
        super().__init__(opened, None, None, FEEDBACK.chosen(feedback, hyperparameters))

    @property
    def feedback(self) -> FeedbackMethod:
        """The method with the current hyperparameters."""
        return cast("FeedbackMethod", self._made())

    def transform(self, inp: "pd.DataFrame") -> "pd.DataFrame":
        refuse_without(inp, "qid", "query", "docno", "score")
        ordered = inp.sort_values(["score", "docno"], ascending=[False, True], kind="stable")
        rankings = dict([*ordered.groupby("qid", sort=False)])
        texts = [str(ranking["query"].iloc[0]) for ranking in rankings.values()]
        rows = [[*zip(some["docno"], some["score"], strict=True)] for some in rankings.values()]
        weights = self.index.expand(texts, feedback=self._made(), documents=rows)
        queries = inp[self._query_columns(inp)].drop_duplicates(subset="qid")
        names = ["query"]  # query becomes query_0, query_0 query_1, and so on
        while names[-1] in queries.columns:
            names.append(f"query_{len(names) - 1}")
        renamed = queries.rename(columns=dict(pairwise(names)))
        renamed.insert(1, "query", queries["query"])
        expanded = dict(zip(rankings, weights, strict=True))
        renamed["query_toks"] = renamed["qid"].map(expanded.get).astype(object)
        return renamed.reset_index(drop=True)

    @staticmethod
    def _query_columns(inp: "pd.DataFrame") -> list[str]:
        of_documents, queries = {"docno", "docid", "score", "rank"}, inp.groupby("qid", sort=False)
        has_several = len(inp) > queries.ngroups
        return [
            name
            for name in inp.columns
            if name[:1] == "q"
            or name.startswith("stashed_results_")
            or (
                name not in of_documents
                and has_several
                and inp[name].map(repr).groupby(inp["qid"]).nunique().max() == 1
            )
        ]
