"""Anserini in this process, for comparison: feedback, and searches of impacts."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adducir.indexes import jvm
from adducir.indexes.jvm import java_class
from adducir.indexes.lucene import LuceneIndex

FIELD = "contents"
_FIRST = 50  # Anserini's rerankCutoff


class Anserini:
    """Searches by BM25 with Anserini's defaults, then by one of its rerankers.

    Args:
        index: The index.
        reranker: A class of ``io.anserini.rerank.lib``.
        arguments: Those of its constructor behind analyser, parser and field.
    """

    def __init__(self, index: LuceneIndex, reranker: str, *arguments: Any) -> None:
        folder = java_class("java.nio.file.Paths").get(str(index.path / "lucene"))
        directory = java_class("org.apache.lucene.store.FSDirectory").open(folder)
        reader = java_class("org.apache.lucene.index.DirectoryReader").open(directory)
        self._searcher = java_class("org.apache.lucene.search.IndexSearcher")(reader.getContext())
        bm25 = java_class("org.apache.lucene.search.similarities.BM25Similarity")(0.9, 0.4)
        self._searcher.setSimilarity(bm25)
        self._analyzer = java_class(
            "io.anserini.analysis.DefaultEnglishAnalyzer"
        ).newDefaultInstance()
        kind = java_class(f"io.anserini.rerank.lib.{reranker}")
        self._reranker = kind(self._analyzer, None, FIELD, *arguments)
        self._docnos = index.docnos

    def search(self, text: str) -> tuple[dict[str, np.float32], list[str], list[float]]:
        """The expanded query (empty where the class does not show), docnos and scores."""
        docs, context = self._first(text)
        found = self._reranker.rerank(docs, context)
        terms = context.feedbackTerms
        names = [] if terms is None else list(terms.keySet().toArray())
        weights = {str(one): np.float32(terms.get(one)) for one in names}
        docnos = [self._docnos[int(doc)] for doc in found.lucene_docids]
        return weights, docnos, [float(score) for score in found.scores]

    def _first(self, text: str) -> tuple[Any, Any]:
        generator = java_class("io.anserini.search.query.BagOfWordsQueryGenerator")()
        query = generator.buildQuery(FIELD, self._analyzer, text)
        order = java_class("io.anserini.search.SearchCollection").BREAK_SCORE_TIES_BY_DOCID
        top = self._searcher.search(query, _FIRST, order, True)
        docs = java_class("io.anserini.search.ScoredDocs").fromTopDocs(top, self._searcher)
        settings = java_class("io.anserini.search.SearchCollection$Args")()
        settings.hits = 1000
        tokens = java_class("io.anserini.analysis.AnalyzerUtils").analyze(self._analyzer, text)
        context = java_class("io.anserini.rerank.RerankerContext")(
            self._searcher, "", query, None, text, tokens, None, settings
        )
        return docs, context


def lucene_impacts(
    weights: Path, queries: Sequence[Mapping[str, float]]
) -> Iterator[dict[str, float]]:
    """Index documents' whole weights as Anserini does with ``-impact -pretokenized``, and search.

    Args:
        weights: JSON lines, alone in a folder that is made for them.
        queries: Whole weights.

    Yields:
        The score of each document by docno.
    """
    folder = weights.parent / "impacts"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "w.json").write_text(
        weights.read_text().replace(".0,", ",").replace(".0}", "}")
    )
    args = ["-collection", "JsonVectorCollection", "-input", str(folder / "in")]
    args += ["-index", str(folder / "index"), "-generator", "DefaultLuceneDocumentGenerator"]
    jvm.java_class("io.anserini.index.IndexCollection").main(
        [*args, "-threads", "1", "-impact", "-pretokenized"]
    )
    searcher = jvm.java_class("io.anserini.search.SimpleImpactSearcher")(str(folder / "index"))
    for query in queries:
        arguments = jvm.java_class("java.util.HashMap")()
        for token, weight in query.items():
            arguments.put(token, int(weight))
        yield {hit.docid: hit.score for hit in searcher.search(arguments, 300)}
