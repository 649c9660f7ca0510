"""The beginnings of documents for a report, where the experiment file asks for them."""

from collections.abc import Iterable, Iterator, Mapping

import polars as pl

from adducir.core.errors import ArtifactError
from adducir.corpora.documents import text_of
from adducir.experiments.retrieval.corpora import SourceCorpus
from adducir.experiments.retrieval.index_step import IndexStep
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.indexes.documents import DocumentStore

LENGTH = 240
"""Characters of a snippet."""


def snippets(
    study: RetrievalStudy, hits: Mapping[str, Mapping[str, pl.DataFrame]]
) -> dict[str, str]:
    """The first characters of hits, from the indexes of corpora as they are, by docno.

    Args:
        study: Says of which documents: ``none``, the ``judged`` ones, or ``all``.
        hits: By topic set and system, frames (qid, docno, score).
    """
    wanted = study.recipe.table.snippets
    if wanted == "none":
        return {}
    docnos = set(_wanted(study, hits, judged_only=wanted == "judged"))
    found: dict[str, str] = {}
    for index, store in _stores(study):
        for docno in sorted(docnos - found.keys()):
            if docno in store:
                found[docno] = " ".join(text_of(store.get(docno), index.fields).split())[:LENGTH]
    return found


def _wanted(
    study: RetrievalStudy, hits: Mapping[str, Mapping[str, pl.DataFrame]], *, judged_only: bool
) -> Iterable[str]:
    for name, runs in hits.items():
        judged = study.topic_sets[name].qrels.frame.select("qid", "docno")
        for frame in runs.values():
            kept = frame.join(judged, on=["qid", "docno"], how="semi") if judged_only else frame
            yield from kept["docno"].unique().to_list()


def _stores(study: RetrievalStudy) -> Iterator[tuple[IndexStep, DocumentStore]]:
    """The texts beside indexes; a corpus that was expanded no longer reads as it was written."""
    for name, index in study.indexes.items():
        corpus = study.recipe.corpora[study.recipe.indexes[name].corpus]
        if isinstance(corpus, SourceCorpus):
            try:
                yield index, DocumentStore(index.path)
            except ArtifactError:
                continue  # not built, for no run to be made needs it
