"""The beginnings of documents for a report, where the experiment file asks for them."""

from collections.abc import Iterable, Iterator, Mapping

import polars as pl

from adducir.core.errors import ArtifactError
from adducir.corpora.documents import text_of
from adducir.deepct.expanded import WEIGHTED, ExpandedCorpus
from adducir.experiments.retrieval.index_step import IndexStep
from adducir.experiments.retrieval.study import RetrievalStudy
from adducir.indexes.documents import DocumentStore

LENGTH = 240
"""Characters of a snippet."""


def snippets(
    study: RetrievalStudy, hits: Mapping[str, Mapping[str, pl.DataFrame]]
) -> dict[str, str]:
    """The first characters of hits, as they stand beside the indexes, by docno.

    Args:
        study: Says of which documents: ``none``, the ``judged`` ones, or ``all``.
        hits: By topic set and system, frames (qid, docno, score).
    """
    wanted = study.recipe.table.snippets
    if wanted == "none":
        return {}
    docnos = set(_wanted(study, hits, judged_only=wanted == "judged"))
    found: dict[str, str] = {}
    for store, fields in _stores(study):
        for docno in sorted(docnos - found.keys()):
            if docno in store:
                found[docno] = " ".join(text_of(store.get(docno), fields).split())[:LENGTH]
    return found


def _wanted(
    study: RetrievalStudy, hits: Mapping[str, Mapping[str, pl.DataFrame]], *, judged_only: bool
) -> Iterable[str]:
    for name, runs in hits.items():
        judged = study.topic_sets[name].qrels.frame.select("qid", "docno")
        for frame in runs.values():
            kept = frame.join(judged, on=["qid", "docno"], how="semi") if judged_only else frame
            yield from kept["docno"].unique().to_list()


def _stores(
    study: RetrievalStudy,
) -> Iterator[tuple[DocumentStore, tuple[str, ...]]]:
    """The texts beside indexes, with the fields that are read; of weighted words, those weighted.

    Indexes of corpora as they are come first.
    """
    later: list[tuple[IndexStep, tuple[str, ...]]] = []
    for name, index in study.indexes.items():
        corpus = study.corpora[study.recipe.indexes[name].corpus].corpus
        if isinstance(corpus, ExpandedCorpus):
            read = [corpus.settings.text if one == WEIGHTED else (one,) for one in index.fields]
            later.append((index, tuple(dict.fromkeys(one for many in read for one in many))))
        else:
            yield from opened(index, index.fields)
    for index, fields in later:
        yield from opened(index, fields)


def opened(
    index: IndexStep, fields: tuple[str, ...]
) -> Iterator[tuple[DocumentStore, tuple[str, ...]]]:
    """The store beside an index, with fields; nothing where the index is not there."""
    try:
        yield DocumentStore(index.path), fields
    except ArtifactError:
        return  # not built, for no run to be made needs it
