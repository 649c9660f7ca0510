"""Searching a memory index; everything that :class:`adducir.indexes.LuceneIndex` does, faster."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adducir.indexes.analysis import Analysis
from adducir.indexes.build import default_threads
from adducir.indexes.candidates.variants import Variant
from adducir.indexes.documents import DocumentStore
from adducir.indexes.faults import translated
from adducir.indexes.lucene import Hits, Query
from adducir.indexes.memory import engine_backend
from adducir.indexes.memory.build import KIND
from adducir.indexes.memory.files import Arrays, damaged
from adducir.indexes.memory.rm3 import Feedback
from adducir.indexes.memory.searching import Ranked, Searcher, Terms
from adducir.indexes.memory.variants import rank_variant
from adducir.indexes.models import BM25, QLD, Model, RM3Settings
from adducir.study.checking import checked
from adducir.study.errors import UsageError
from adducir.study.verified import open_product


class MemoryIndex:
    """An index that ``adducir index --engine memory`` built.

    Scores and rankings are Lucene's, see :mod:`.scoring`, and RM3 is Anserini's, see :mod:`.rm3`.

    Args:
        path: The product's folder.
        backend: ``numba`` or ``numpy``; by default what is there, see :func:`engine_backend`.

    Attributes:
        accurate_length: Whether BM25 sees exact lengths. The index holds both kinds; the recipe's
            choice can be changed between searches.
        default_model: The name of the model for what it holds: ``impact`` for weights of ready
            tokens, otherwise ``bm25``.

    Raises:
        ProductError: No memory index, or a damaged one.
    """

    @checked
    def __init__(self, path: Path | str, *, backend: str | None = None) -> None:
        self.path = Path(path)
        self.manifest = open_product(self.path, KIND)
        recipe = self.manifest.recipe
        self.backend = backend or engine_backend()
        self.accurate_length = bool(recipe.get("accurate_length", False))
        self.fields = tuple(recipe.get("fields", ()))
        self.analysis = Analysis.from_settings(recipe["analysis"])
        is_of_impacts = "weights" in recipe and self.analysis.is_pretokenized
        self.default_model = "impact" if is_of_impacts else "bm25"
        self._arrays = Arrays.open(self.path)
        self.has_vectors = len(self._arrays.forward) > 0 or self._arrays.documents == 0
        self._searcher = Searcher(self._arrays, self.backend)

    def __len__(self) -> int:
        """How many documents can be found (those without a term are not indexed)."""
        return self._arrays.documents

    @property
    def identity(self) -> dict[str, Any]:
        """What the index is, for fingerprints and run metadata."""
        return {"name": self.path.name, "fingerprint": self.manifest.fingerprint}

    @property
    def docnos(self) -> pl.Series:
        """Every docno, in ascending order."""
        return self._arrays.docnos

    @cached_property
    def documents(self) -> DocumentStore:
        """The documents' texts."""
        return DocumentStore(self.path)

    @checked
    def search(
        self,
        queries: Sequence[Query],
        model: Model | Variant,
        *,
        rm3: RM3Settings | None = None,
        depth: int | None = 1000,
        threads: int | None = None,
    ) -> Hits:
        """Rank the documents for each query.

        Args:
            queries: Texts, or weighted index terms (these take no ``rm3``).
            model: BM25, QLD, or a variant of BM25; scores of a variant are double precision.
            rm3: Expand each query by relevance feedback first.
            depth: Hits a query, at most; None for all documents that hold a term of the query.
            threads: Threads; by default one a core.

        Raises:
            UsageError: ``rm3`` on an index of weights or with weighted queries; a negative weight;
                ``depth`` below 1.
        """
        if depth is not None and depth < 1:
            raise UsageError(f"a depth must be 1 or more, not {depth}.")
        threads = threads or default_threads()
        if rm3 is None:
            terms = Terms.of(self._weights(queries), self._arrays.numbers)
        else:
            terms, _ = self._expanded(self._texts(queries), model, rm3, threads)
        ranked = self._rank(terms, model, depth, threads)
        docnos = self.docnos.gather(ranked.docs)
        return Hits(ranked.counts.astype(np.int32), docnos, ranked.scores)

    @checked
    def expand(
        self,
        queries: Sequence[str],
        model: Model | Variant,
        rm3: RM3Settings,
        *,
        threads: int | None = None,
    ) -> list[dict[str, float]]:
        """The query that RM3 makes of each query: index terms and weights, heaviest first.

        Raises:
            UsageError: As :meth:`search`.
        """
        expanded, own = self._expanded(queries, model, rm3, threads or default_threads())
        return self._named(expanded, own, rm3)

    def expand_from(
        self, query: str, feedback: Sequence[tuple[str, float]], rm3: RM3Settings
    ) -> dict[str, float]:
        """The query that RM3 makes of ``query`` and given documents, best first, with scores.

        Raises:
            UsageError: The index holds weights, or not one of the documents, or a score is
                negative.
        """
        best = feedback[: rm3.fb_docs]
        docs = np.array([self._number(docno) for docno, _ in best], dtype=np.int32)
        scores = np.array([score for _, score in best], dtype=np.float32)
        if not (scores >= 0).all():
            raise UsageError("RM3 weighs documents by their scores, which must be 0 or more.")
        own = self._shares([query])
        terms = Terms.of(own, self._arrays.numbers)
        ranked = Ranked(np.array([len(docs)]), docs, scores)
        return self._named(self._feedback.expanded(terms, ranked, rm3, 1), own, rm3)[0]

    def close(self) -> None:
        """Nothing needs to be closed."""

    @cached_property
    def _feedback(self) -> Feedback:
        if not self.has_vectors:
            raise UsageError(
                f"{self.path} holds weighted terms; RM3 reads documents' frequencies.",
                mend="Search without --rm3, or expand from an index of the texts.",
            )
        plain = self.analysis.has_plain_feedback
        return Feedback(self._arrays, self._arrays.documents, plain=plain)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {docno: number for number, docno in enumerate(self.docnos)}

    def _number(self, docno: str) -> int:
        if docno not in self._numbers:
            raise UsageError(f"the index {self.path} holds no document {docno!r}.")
        return self._numbers[docno]

    def _rank(
        self, terms: Terms, model: Model | Variant, depth: int | None, threads: int
    ) -> Ranked:
        try:
            if isinstance(model, BM25 | QLD):
                return self._searcher.rank(
                    terms, model, accurate=self.accurate_length, depth=depth, threads=threads
                )
            corpus = int(self.manifest.counts.get("documents", self._arrays.documents))
            return rank_variant(self._arrays, corpus, terms, model, depth=depth, threads=threads)
        except IndexError as error:  # a document number that there is not
            raise damaged(self.path / "postings.docs.npy") from error

    def _expanded(
        self, queries: Sequence[str], model: Model | Variant, rm3: RM3Settings, threads: int
    ) -> tuple[Terms, list[dict[str, float]]]:
        """The expanded queries, and the share that each term has in its own query."""
        feedback = self._feedback
        counted = self._counts(queries)
        terms = Terms.of(counted, self._arrays.numbers)
        ranked = self._rank(terms, model, rm3.fb_docs, threads)
        own = _as_shares(counted)
        shares = Terms.of(own, self._arrays.numbers)
        return feedback.expanded(shares, ranked, rm3, threads), own

    def _named(
        self, expanded: Terms, own: Sequence[Mapping[str, float]], rm3: RM3Settings
    ) -> list[dict[str, float]]:
        """Terms and weights by name, with the query's terms that are not in the index."""
        names, numbers = self._arrays.terms, self._arrays.numbers
        share = np.float32(rm3.original_query_weight)
        queries = []
        for query, shares in enumerate(own):
            span = slice(expanded.starts[query], expanded.starts[query + 1])
            weights = {
                names[number]: float(weight)
                for number, weight in zip(
                    expanded.numbers[span], expanded.weights[span], strict=True
                )
            }
            for term, weight in shares.items():
                if term not in numbers:
                    weights[term] = float(share * np.float32(weight))
            queries.append(dict(sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))))
        return queries

    def _texts(self, queries: Sequence[Query]) -> list[str]:
        texts = [query for query in queries if isinstance(query, str)]
        if len(texts) < len(queries):
            raise UsageError("RM3 expands a query's text, not weighted terms.")
        return texts

    def _weights(self, queries: Sequence[Query]) -> list[Mapping[str, float]]:
        """Every query as terms and weights; a text's terms weigh as often as they occur."""
        counts = iter(self._counts([query for query in queries if isinstance(query, str)]))
        weighted: list[Mapping[str, float]] = []
        for query in queries:
            if isinstance(query, str):
                weighted.append(next(counts))
            else:
                _check(query)
                weighted.append(query)
        return weighted

    def _counts(self, texts: Sequence[str]) -> list[Counter[str]]:
        with translated(self.path):
            return [Counter(terms) for terms in self.analysis.terms(texts)]

    def _shares(self, texts: Sequence[str]) -> list[dict[str, float]]:
        return _as_shares(self._counts(texts))


def _as_shares(counts: Sequence[Counter[str]]) -> list[dict[str, float]]:
    return [
        {term: count / total for term, count in query.items()}
        for query in counts
        for total in [query.total()]
    ]


def _check(query: Mapping[str, float]) -> None:
    for term, weight in query.items():
        if not 0 <= weight < float("inf"):
            raise UsageError(f"the weight of {term!r} must be 0 or more, not {weight}.")
