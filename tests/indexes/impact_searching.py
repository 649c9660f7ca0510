"""Anserini's impact indexes and searches, in this process, for comparison."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from adducir.indexes import jvm


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
