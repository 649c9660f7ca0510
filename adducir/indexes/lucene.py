"""Searching a Lucene index in bulk.

All topics go to Java in one call and are searched by several threads; all hits come back as one
block of bytes. Rankings are those of Anserini: score descending, equal scores by docno ascending,
but with Lucene's whole scores, which Anserini rounds to four decimals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adducir.indexes import jvm
from adducir.indexes.analysis import Analysis
from adducir.indexes.build import KIND, LUCENE, default_threads
from adducir.indexes.candidates.variants import Variant
from adducir.indexes.documents import DocumentStore
from adducir.indexes.faults import translated
from adducir.indexes.models import BM25, QLD, Model, RM3Settings
from adducir.study.checking import checked
from adducir.study.errors import ProductError, UsageError
from adducir.study.products import MANIFEST, Manifest
from adducir.study.verified import open_product

Query = str | Mapping[str, float]
"""A query's text, or index terms with their weights."""


@dataclass(frozen=True)
class Hits:
    """The rankings of q queries with n hits in all.

    Attributes:
        counts: (q,) int32: how many hits each query has.
        docnos: (n,) docnos, query after query, best first.
        scores: (n,) float32: Lucene's scores, not increasing within a query.
    """

    counts: np.ndarray
    docnos: pl.Series
    scores: np.ndarray

    def frame(self, qids: Sequence[str]) -> pl.DataFrame:
        """The columns qid, docno and score; ``qids`` names the queries in order."""
        rows = np.repeat(np.arange(len(qids)), self.counts)
        return pl.DataFrame(
            {
                "qid": pl.Series(qids, dtype=pl.String).gather(rows),
                "docno": self.docnos,
                "score": pl.Series(self.scores).cast(pl.Float64),
            }
        )


class LuceneIndex:
    """An index that ``adducir index`` built, or a plain folder of Anserini's.

    Args:
        path: The product's folder, or a folder that Lucene itself wrote; the latter is taken to
            be of Anserini's default analysis and one-byte lengths.

    Raises:
        ProductError: No index, a damaged one, or one of another Lucene.
        MachineError: No Java.
    """

    default_model = "bm25"

    @checked
    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.manifest = _manifest(self.path)
        recipe: Mapping[str, Any] = self.manifest.recipe if self.manifest else {}
        self.accurate_length = bool(recipe.get("accurate_length", False))
        self.fields = tuple(recipe.get("fields", ()))
        self.analysis = (
            Analysis.from_settings(recipe["analysis"]) if "analysis" in recipe else Analysis()
        )
        self._bridge = jvm.java_class("adducir.BulkSearcher")
        with translated(self.path):
            folder = self.path / LUCENE if self.manifest else self.path
            # Java keeps the working folder it was started in; Python's may have changed.
            self._java = self._bridge(str(folder.absolute()), self.analysis.java)
            self.has_vectors = bool(self._java.hasVectors())

    def __len__(self) -> int:
        """How many documents can be found (those without text are not indexed)."""
        return len(self.docnos)

    @property
    def identity(self) -> dict[str, Any]:
        """What the index is, for fingerprints and run metadata."""
        if self.manifest:
            return {"name": self.path.name, "fingerprint": self.manifest.fingerprint}
        return {"name": self.path.name}

    @cached_property
    def docnos(self) -> pl.Series:
        """Every docno, in the order of Lucene's document numbers."""
        with translated(self.path):
            joined = jvm.bytes_of(self._java.docnos()).decode()
        return pl.Series("docno", joined.split("\n")[:-1], dtype=pl.String)

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
            model: BM25 or QLD.
            rm3: Expand each query by relevance feedback first.
            depth: Hits a query, at most; None for all documents that hold a term of the query.
            threads: Java threads; by default one a core.

        Raises:
            UsageError: ``rm3`` on an index without vectors or with weighted queries; QLD on
                exact lengths; a variant of BM25; ``depth`` below 1.
        """
        if depth is not None and depth < 1:
            raise UsageError(f"a depth must be 1 or more, not {depth}.")
        similarity = self._similarity(model)
        with translated(self.path):
            packed = self._java.search(
                *self._queries(queries, rm3),
                similarity,
                self._rm3(rm3),
                rm3.fb_docs if rm3 else 0,
                depth or max(1, len(self)),
                threads or default_threads(),
            )
        return self._unpacked(np.frombuffer(jvm.bytes_of(packed), dtype="<i4"), len(queries))

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
        with translated(self.path):
            expanded = self._java.expand(
                *self._queries(queries, rm3),
                self._similarity(model),
                self._rm3(rm3),
                rm3.fb_docs,
                threads or default_threads(),
            )
        return [_weights(lines) for lines in expanded]

    def expand_from(
        self, query: str, feedback: Sequence[tuple[str, float]], rm3: RM3Settings
    ) -> dict[str, float]:
        """The query that RM3 makes of ``query`` and given documents, best first, with scores.

        Raises:
            UsageError: The index has no vectors, or does not hold one of the documents.
        """
        numbers = self._numbers
        unknown = next((docno for docno, _ in feedback if docno not in numbers), None)
        if unknown is not None:
            raise UsageError(f"the index {self.path} holds no document {unknown!r}.")
        best = feedback[: rm3.fb_docs]
        with translated(self.path):
            lines = self._java.expandFrom(
                query,
                [numbers[docno] for docno, _ in best],
                [float(score) for _, score in best],
                self._rm3(rm3),
            )
        return _weights(lines)

    def close(self) -> None:
        """Let go of the files."""
        self._java.close()

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {docno: number for number, docno in enumerate(self.docnos)}

    def _similarity(self, model: Model | Variant) -> Any:
        if not isinstance(model, BM25 | QLD):
            raise UsageError(
                f"{self.path} is an index of Lucene, which has no model {model.name!r}.",
                mend="Build one with 'adducir index --engine memory', or choose bm25 or qld.",
            )
        if isinstance(model, QLD):
            if self.accurate_length:
                raise UsageError(
                    f"{self.path} holds exact lengths, which only BM25 reads.",
                    mend="Search it with bm25, or build an index without --accurate-length.",
                )
            return self._bridge.qld(model.mu)
        return self._bridge.bm25(model.k1, model.b, self.accurate_length)

    def _rm3(self, rm3: RM3Settings | None) -> Any:
        if rm3 is None:
            return None
        if not self.has_vectors:
            raise UsageError(
                f"{self.path} holds no document vectors, which RM3 reads.",
                mend="Build it again with --vectors, or search without --rm3.",
            )
        plain = self.analysis.has_plain_feedback
        return self._java.rm3(rm3.fb_terms, rm3.fb_docs, rm3.original_query_weight, plain)

    def _queries(
        self, queries: Sequence[Query], rm3: RM3Settings | None
    ) -> tuple[list[str], list[Any]]:
        texts, built = [], []
        for query in queries:
            if isinstance(query, str):
                texts.append(query)
                built.append(self._java.textQuery(query))
            elif rm3 is None:
                texts.append("")
                weights = [float(weight) for weight in query.values()]
                built.append(self._bridge.weightedQuery(list(query), weights))
            else:
                raise UsageError("RM3 expands a query's text, not weighted terms.")
        return texts, built

    def _unpacked(self, packed: np.ndarray, queries: int) -> Hits:
        hits = (len(packed) - queries) // 2
        counts, rest = packed[:queries], packed[queries:]
        scores = rest[hits:].view("<f4")
        return Hits(counts, self.docnos.gather(rest[:hits]), scores)


def _manifest(path: Path) -> Manifest | None:
    if (path / MANIFEST).is_file():
        return open_product(path, KIND)
    if path.is_dir() and any(path.glob("segments_*")):
        return None
    raise ProductError(
        "there is no index here." if path.exists() else "there is no such index.",
        path=path,
        mend="Build one with 'adducir index SOURCE --output indexes/NAME'.",
    )


def _weights(lines: str) -> dict[str, float]:
    pairs = (line.split("\t") for line in lines.splitlines())
    weights = ((term, float(weight)) for term, weight in pairs)
    return dict(sorted(weights, key=lambda pair: (-pair[1], pair[0])))
