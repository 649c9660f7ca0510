"""What all engines' indexes share: queries in, hits out, feedback in between."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Required, TypeVar

import numpy as np
import polars as pl
from typing_extensions import TypedDict

from adducir.core.errors import ArtifactError, UsageError, worded
from adducir.core.manifests import Manifest, checked, refuse_replaced
from adducir.core.processes import MOST_THREADS, SPAN, default_threads, in_threads
from adducir.core.texts import refuse_half_characters, refuse_unless, refuse_unless_count, typed
from adducir.corpora.documents import WeightedWords, text_of
from adducir.indexes.analysis import Analysis, counted_terms, refuse_unless_weights, words_of
from adducir.indexes.hits import Hits
from adducir.indexes.kinds import FEEDBACK, MODELS

if TYPE_CHECKING:
    from adducir.indexes.documents import DocumentStore
    from adducir.indexes.feedback import FeedbackMethod, Terms, Weights
    from adducir.indexes.models import Model
    from adducir.runs.folding import Fold

T = TypeVar("T")
Query = str | Mapping[str, float]
"""A query's text, its words with weights (:class:`.WeightedWords`), or index terms with weights."""
Array = np.ndarray[tuple[int], np.dtype[Any]]
Ranked = tuple[Array, Array, Array]
"""Hits by document numbers: (q,) int32 counts, (n,) int32 documents and their scores."""
Scored = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class TermFacts:
    """A term of an index."""

    term: str
    df: int
    """Documents that contain it."""
    cf: float
    """Its occurrences in all documents, or the sum of its weights."""
    postings: pl.DataFrame
    """docno and tf, by document number."""


_MOST_SCORES = 1 << 26  # held at once


class _AnalysisSettings(TypedDict, total=False):
    stemmer: Required[str]
    stopwords: Required[str | list[str]]
    language: str
    lucene: int


class _Recipe(TypedDict, total=False):
    """What a manifest says about how an index was built, besides what only its engine reads."""

    fields: list[str]
    accurate_length: bool
    analysis: _AnalysisSettings
    kind: str


class Index(ABC):
    """An index of any engine.

    Attributes:
        manifest: What the index was built from; None for a plain Lucene folder.
        accurate_length: Whether the index was built for BM25 with exact lengths.
        analysis: How documents and queries become terms.
        fields: The fields that are indexed, joined.
        default_model: The name of the default model; empty if its encoder is the model.

    Example:
        >>> hits = ad.open_index("pets").search(["cats", "dogs"], "bm25", depth=1)
        >>> hits.counts.tolist(), [*hits.to_dict()]
        ([1, 1], ['1', '2'])
    """

    default_model: str = "bm25"
    counted: type = Counter

    def __init__(self, path: Path, manifest: Manifest | None) -> None:
        self.path, self.manifest = path, manifest
        recipe = checked(path, _Recipe, manifest.recipe if manifest else {})
        self.fields: tuple[str, ...] = tuple(recipe.get("fields", ()))
        self.accurate_length = bool(recipe.get("accurate_length"))
        settings: Any = recipe.get("analysis", {})
        self.analysis = Analysis.from_settings(settings) if settings else Analysis()
        is_other = "language" in settings  # every Lucene stems English alike
        if is_other and self.analysis.settings().get("lucene") != settings.get("lucene"):
            raise ArtifactError(
                "its texts were analysed by another version of Lucene, which stems differently.",
                path=path,
                hint=f"Build it again ({worded('rebuild', 'true')}).",
            )

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process opens it anew.
        return _reopened, (type(self), (self.path.absolute(),), self.manifest)

    def __len__(self) -> int:
        return len(self.docnos)

    def text_loader(self, fields: str | Sequence[str] = "*", *, verbose: bool = False) -> Any:
        """The transformer returned by ``pt.text.get_text(index)``: documents' fields as columns.

        ``*`` is every field and ``text``, by default the indexed fields. ``verbose`` is ignored.
        """
        import pyterrier as pt

        def loaded(frame: Any) -> Any:
            documents = [self.documents.get(docno) for docno in frame["docno"]]
            fields_of: dict[str, Sequence[str]]
            fields_of = {name: [name] for document in documents for name in document.fields}
            seen = ", ".join(fields_of)
            fields_of.setdefault("text", self.fields)
            names = fields_of if fields == "*" else [fields] if isinstance(fields, str) else fields
            if unknown := [name for name in names if documents and name not in fields_of]:
                message = f"the documents lack the field {unknown[0]!r}."
                raise UsageError(message, hint=f"The fields are {seen}.")
            texts = {name: [text_of(each, fields_of[name]) for each in documents] for name in names}
            return frame.assign(**texts)

        return pt.apply.generic(loaded)

    @property
    def takes_weights(self) -> bool:
        """Whether queries' token weights, where they have some, are searched, not their texts."""
        return bool(self.default_model) and self.analysis.kind.is_pretokenized

    @property
    def identity(self) -> dict[str, Any]:
        identity = {"fingerprint": self.manifest.fingerprint} if self.manifest else {}
        return {"name": self.path.name, **identity}

    @property
    @abstractmethod
    def docnos(self) -> pl.Series:
        """Every docno, by document number."""

    @cached_property
    def documents(self) -> "DocumentStore":
        from adducir.indexes.documents import DocumentStore

        return self._read_now(lambda: DocumentStore(self.path))

    def _read_now(self, read: Callable[[], T]) -> T:
        """What is read from the folder only now, which must still be the opened index."""
        try:
            return read()
        finally:  # which is why it may have failed
            refuse_replaced(self.path, self.manifest)

    @typed
    def search(
        self,
        queries: "Sequence[Query]",
        model: "Model | str | None" = None,
        *,
        feedback: "FeedbackMethod | str | None" = None,
        depth: int | None = 1000,
        fold: "Fold | str | None" = None,
        threads: int | None = None,
    ) -> Hits:
        """Rank the documents for each query; equal scores in order of docnos.

        On a dense index, the encoder is the model: ``model`` is ignored, and ``feedback`` and
        weighted terms are refused.

        Args:
            queries: Texts, or weighted index terms (not with ``feedback``).
            model: A retrieval model or its name; by default the index's.
            feedback: A method or its name, to expand each query first.
            depth: Maximum hits per query; None for all documents that contain a query term.
            fold: Rank (and count) documents by their passages (:mod:`adducir.runs.folding`).
            threads: By default one per core.

        Raises:
            UsageError: The index or its engine lacks something.
        """
        count, chosen = _at_least_one(threads), self._model(model)
        weighted = self._weighted(queries, chosen, feedback, threads)

        def rank(some: Sequence[int], depth: int | None) -> Ranked:
            return self._rank([weighted[place] for place in some], chosen, depth, count)

        if depth is not None:
            refuse_unless_count(depth, "`depth`")
        if fold is not None:
            from adducir.runs.folding import Fold, PassageMap, folded

            how = Fold.of(fold)
            passages = PassageMap.of(self.docnos, how.separator)
            counts, docs, scores = folded(passages, how, rank, len(weighted), depth)
            names = passages.names.gather(passages.document[docs]).alias("docno")
            return Hits(counts, names, scores, self.docnos.gather(docs))
        counts, docs, scores = rank(range(len(weighted)), depth)
        # For an array, polars imports numpy.ma, which takes longer than a few hits.
        # And gather() would plan a query, which takes longer than some thousand hits.
        docnos = self.docnos[docs.tolist() if len(docs) <= SPAN else docs]
        return Hits(counts, docnos, scores)

    @typed
    def score(
        self,
        queries: "Sequence[Query]",
        docnos: Sequence[Sequence[str]],
        model: "Model | str | None" = None,
        *,
        feedback: "FeedbackMethod | str | None" = None,
        threads: int | None = None,
    ) -> list[Scored]:
        """Score given documents, instead of the collection, for each query.

        Args:
            queries: As in :meth:`search`.
            docnos: The documents of each query.

        Returns:
            The (n,) scores of each query's documents in their order, those of :meth:`search`; 0 for
            a document without a query term.

        Raises:
            UsageError: A document is not in the index, or as in :meth:`search`.
        """
        count, chosen = _at_least_one(threads), self._model(model)
        numbers = [np.array(list(map(self.number, some)), dtype=np.int64) for some in docnos]
        weighted = self._weighted(queries, chosen, feedback, threads)
        if len(weighted) != len(numbers):
            raise UsageError(f"`docnos` has {len(numbers)} lists for {len(weighted)} queries.")
        return self._score(weighted, numbers, chosen, count)

    def _model(self, model: "Model | str | None") -> "Model":
        return MODELS.chosen(self.default_model if model is None else model)

    def _score(
        self, weighted: Any, numbers: Sequence[Array], model: "Model", threads: int
    ) -> list[Scored]:
        """The scores of each query's documents: from rankings of all, unless an engine has more."""
        scored, size = list[Scored](), max(1, _MOST_SCORES // max(1, len(self)))
        for first in range(0, len(weighted), size):
            some = weighted[first : first + size]
            counts, docs, scores = self._rank(some, model, None, threads)
            ends = np.cumsum(counts)
            for place, end in enumerate(ends.tolist()):
                part = slice(end - int(counts[place]), end)
                of_all = np.zeros(len(self), dtype=np.float64)
                of_all[docs[part]] = scores[part]
                scored.append(of_all[numbers[first + place]])
        return scored

    @typed
    def term(self, term: str) -> TermFacts:
        """What the index knows of a term (as :meth:`Analysis.terms` gives it, stemmed).

        Raises:
            UsageError: The index lacks documents' terms.
        """
        refuse_half_characters([term], "a term")
        docs, tfs = self._postings_of(term)
        names = self.docnos.gather(docs)
        postings = pl.DataFrame({"docno": names, "tf": tfs}, schema_overrides={"docno": pl.String})
        return TermFacts(term, len(docs), tfs.sum().item() if len(docs) else 0, postings)

    def _postings_of(self, term: str) -> tuple[Array, Array]:
        """The documents with a term, ascending, and its frequency in each."""
        self._refuse_without_vectors()
        _, docs, _ = self._rank([{term: 1.0}], MODELS.make("bm25"), None, 1)
        docs = np.sort(docs)
        vocabulary, sizes, terms, tfs = self._vectors(docs)
        is_own = (vocabulary.names == term).to_numpy()[terms]
        rows = np.repeat(np.arange(len(docs)), sizes)[is_own]
        return docs[rows], tfs[is_own]

    @typed
    def vector(self, docno: str) -> dict[str, float]:
        """A document's terms with their frequencies or weights, the most frequent first.

        Raises:
            UsageError: The document is not in the index, or the index lacks documents' terms.
        """
        self._refuse_without_vectors()
        vocabulary, _, terms, tfs = self._vectors(np.array([self.number(docno)], dtype=np.int32))
        pairs = zip(vocabulary.names.gather(terms).to_list(), tfs.tolist(), strict=True)
        return dict(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))

    def facts(self) -> dict[str, Any]:
        """The index's kind, fields, settings and counts, as its manifest has them."""
        facts: dict[str, Any] = {"path": str(self.path), "documents": len(self)}
        if self.manifest is not None:
            recipe, counts = self.manifest.recipe, self.manifest.counts
            facts = {**facts, "artifact": self.manifest.kind, **recipe, **counts}
        return facts

    def _weighted(
        self,
        queries: Sequence[Query],
        model: "Model",
        feedback: "FeedbackMethod | str | None",
        threads: int | None,
    ) -> Any:
        """Each query as index terms with weights or counts."""
        refuse_unless(queries, "`queries`")
        if feedback is not None:
            queries = self.expand(queries, model, feedback, threads=threads)
        refuse_half_characters(chain.from_iterable(map(words_of, queries)), "a query")
        weighted, texts = list[Any](), [query for query in queries if isinstance(query, str)]
        terms_of_texts = iter(self.analysis.terms(texts))
        for query in queries:
            if isinstance(query, str):
                weighted.append(self.counted(next(terms_of_texts)))
                continue
            refuse_unless_weights(query)
            is_text = isinstance(query, WeightedWords)
            weighted += counted_terms(self.analysis, [query]) if is_text else [query]
        return weighted

    @typed
    def expand(
        self,
        queries: "Sequence[Query]",
        model: "Model | str | None" = None,
        feedback: "FeedbackMethod | str" = "rm3",
        *,
        documents: Sequence[Sequence[tuple[str, float]]] | None = None,
        threads: int | None = None,
    ) -> "list[Weights]":
        """Each text's query after feedback: index terms and weights, descending.

        Feedback reads what the model finds, or each query's ``documents`` with their scores of 0 or
        more, best first.
        """
        from adducir.indexes.feedback import TermVectors

        refuse_unless(queries, "`queries`")
        texts = [query for query in queries if isinstance(query, str | WeightedWords)]
        if len(texts) < len(queries):
            raise UsageError("feedback expands a query's text or words, not weighted terms.")
        if model is not None and documents is not None:
            raise UsageError("`model` has no effect with `documents`: nothing is searched.")
        chosen, method = self._model(model), FEEDBACK.chosen(feedback)
        self._refuse_without_vectors()  # before anything is searched
        refuse_half_characters(chain.from_iterable(map(words_of, texts)), "a query")
        terms_of, threads = counted_terms(self.analysis, texts), _at_least_one(threads)
        if documents is None:
            counts, docs, scores = self._rank(terms_of, chosen, method.depth, threads)
        else:
            if len(documents) != len(texts):
                raise UsageError(f"`documents` has {len(documents)} lists, not {len(texts)}.")
            best = [pair for some in documents for pair in some[: method.depth]]
            counts = np.array([len(some[: method.depth]) for some in documents])
            docs = np.array([self.number(docno) for docno, _ in best], dtype=np.int32)
            scores = np.array([score for _, score in best], dtype=np.float32)
            if not (scores >= 0).all():
                raise UsageError("feedback weighs documents by scores, which must be 0 or more.")
        starts = np.concatenate(([0], np.cumsum(counts)))
        expanded: list[Weights] = [{} for _ in texts]

        def work(first: int, last: int) -> None:
            some, part = slice(first, last), slice(starts[first], starts[last])
            terms, *vectors = self._vectors(docs[part])
            found_terms = TermVectors(counts[some], scores[part], *vectors)
            expanded[some] = method.in_bulk(terms_of[some], found_terms, terms)

        in_threads(work, len(texts), threads)
        return expanded

    def _rank(
        self,
        queries: Sequence[Mapping[str, float]],
        model: "Model",
        depth: int | None,
        threads: int,
    ) -> Ranked:
        raise NotImplementedError

    def _vectors(self, docs: Array) -> "tuple[Terms, Array, Array, Array]":
        """Terms, their count per document, their numbers and their frequencies in it."""
        raise NotImplementedError

    def _refuse_without_vectors(self) -> None:
        """Refuse feedback if the index lacks documents' terms."""
        raise UsageError(
            "this index lacks documents' terms, which feedback and weighted queries need.",
            hint="Use a Lucene or memory index, and combine the runs with 'adducir fuse'.",
        )

    def close(self) -> None:  # noqa: B027  (most engines have nothing to let go of)
        """Close the files."""

    def settings(self, model: "Model", feedback: "FeedbackMethod | None") -> dict[str, Any]:
        variant = model.variant(exact_lengths=self.accurate_length)
        return {
            **MODELS.settings(model, "model"),
            **({"variant": variant} if variant else {}),
            "feedback": FEEDBACK.settings(feedback, "method") if feedback else None,
        }

    @cached_property
    def _orders(self) -> Array:
        return self.docnos.rank("ordinal").to_numpy()  # places in alphabetical order

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {docno: number for number, docno in enumerate(self.docnos)}

    def number(self, docno: str) -> int:
        if docno not in self._numbers:
            raise UsageError(f"the index {self.path} does not contain the document {docno!r}.")
        return self._numbers[docno]


def _at_least_one(threads: int | None) -> int:
    """The number of threads to use: one per core by default."""
    if threads is not None:
        refuse_unless_count(threads, "`threads`", MOST_THREADS)
    return threads or default_threads()


def _reopened(kind: type[Index], arguments: tuple[Any, ...], manifest: Manifest | None) -> Index:
    index = kind(*arguments)
    refuse_replaced(index.path, manifest)
    return index
