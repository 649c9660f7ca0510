"""Rerank a run's best documents; the rest follow in their old order.

Scores of a reranker and of the original run are on different scales and never mixed: documents
below the depth get scores below the reranker's lowest, in steps of 1 (after a listwise one, 1/rank
continues). Ties keep the original order. Where passages are folded, depth and order are those of
the documents.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from adducir.core.chunks import TEMPORARY, Chunking
from adducir.core.errors import InputError, UsageError
from adducir.core.progress import progress
from adducir.core.texts import refuse_unless
from adducir.corpora.documents import Corpus, Document, refuse_absent, text_of
from adducir.corpora.passages import read_by
from adducir.corpora.topics import Topics
from adducir.indexes.documents import DocumentStore, DocumentWriter
from adducir.judges.prompting import refuse_empty_queries
from adducir.models.artifacts import read_shard
from adducir.models.machine import choose_device
from adducir.models.work import Arrays, ModelWork, tokens_for
from adducir.rerankers.asked import AskedReranker
from adducir.rerankers.once import Topic, scores_once
from adducir.rerankers.recipe import Reranker
from adducir.runs.folding import Fold, PassageMap
from adducir.runs.run import Run

if TYPE_CHECKING:
    import torch

    from adducir.indexes.index import Index

DEPTH = 100
PAIRS = 1024
"""Documents per chunk, if all topics have as many: the most that a kill can lose."""


class Texts:
    """Documents' texts by docno, from ``find``; picklable."""

    def __init__(
        self, find: Callable[[str], str | None], fields: Sequence[str] = (), source: str = "texts"
    ) -> None:
        self.find, self.fields, self.source = find, tuple(fields), source

    @classmethod
    def stored(
        cls, store: DocumentStore, fields: Sequence[str], source: str = "the index"
    ) -> "Texts":
        """From the store beside an index."""
        return cls(partial(_stored_text, store, tuple(fields)), fields, source)

    def get(self, docnos: Iterable[str]) -> list[str]:
        texts = []
        for docno in docnos:
            if (text := self.find(docno)) is None:
                message = f"the document {docno!r} is not in {self.source}."
                raise InputError(message, hint="Is the run from another corpus?")
            texts.append(text)
        return texts


def _stored_text(store: DocumentStore, fields: Sequence[str], docno: str) -> str | None:
    document = store.find(docno)
    return None if document is None else text_of(document, fields)


def texts_of(corpus: Corpus, docnos: Iterable[str], fields: Sequence[str], folder: Path) -> Texts:
    """Texts, read in one pass into a new folder; a missing one is an error on access."""
    refuse_unless(docnos, "docnos")
    refuse_unless(fields, "fields")
    chosen, missing, fields_seen = tuple(fields) or corpus.default_fields, set(docnos), set[str]()
    folder.mkdir()
    with (
        DocumentWriter(folder) as writer,
        progress().doing("reading texts", corpus.size_hint(), "documents"),
    ):
        for document in corpus:
            progress().advance(1)
            if document.docno in missing:  # the first of duplicates
                missing.remove(document.docno)
                fields_seen |= document.fields.keys()
                texts = {name: document.fields[name] for name in chosen if name in document.fields}
                writer.add(Document(document.docno, texts))
            if not missing:
                break
    refuse_absent(fields, [fields_seen], corpus.source)
    return Texts.stored(DocumentStore(folder), chosen, corpus.source)


def texts_for(
    source: "Index | Corpus",
    docnos: Iterable[str],
    fields: Sequence[str],
    usual_fields: Sequence[str],
    folder: Path,
) -> Texts:
    """The texts of a reader: ``fields``, its usual ones, or else those indexed.

    ``fields`` that a user names also determine a corpus's passages, as those of an index do.
    """
    from adducir.indexes.index import Index

    chosen = tuple(fields or usual_fields)
    if not isinstance(source, Index):
        return texts_of(read_by(source, fields), docnos, chosen, folder / "texts")
    names = (source.documents.get(docno).fields for docno in docnos if chosen)
    refuse_absent(chosen, names, source.path)
    return Texts.stored(source.documents, chosen or source.fields)


@dataclass
class Reranked:
    """A reranked run, and the number of pairs of query and text scored."""

    run: Run
    pairs: int
    seconds: float  # elapsed here
    work_seconds: float  # total over chunks, wherever computed
    settings: dict[str, Any]
    costs: list[dict[str, Any]] = field(default_factory=list)  # per topic, of a model that is asked


def reranked_part(run: Run, depth: int, fold: str | None = None) -> Run:
    """The rows to rerank: the best ``depth``, or the passages of the best documents.

    FirstP reads only their first passages.
    """
    if fold is None:
        return run.top(depth)
    how, docnos = Fold.of(fold), run.frame["docno"]
    passages = PassageMap.of(docnos, how.separator)
    names = passages.names.gather(passages.document).alias("document")
    best = run.fold(fold, depth).frame.select("qid", document="docno")
    rows = run.frame.with_columns(names, first=pl.Series(passages.is_first))
    rows = rows.filter("first") if how.method == "firstp" else rows
    rows = rows.join(best, on=["qid", "document"], how="semi", maintain_order="left")
    return Run(rows.select(run.frame.columns), run.tag, run.path)


def questions_of(run: Run, best: Run, topics: Topics) -> list[Topic]:
    """Each topic's qid, query and the docnos to rerank."""
    queries = dict(zip(topics.qids, topics.texts, strict=True))
    if unknown := [qid for qid in run.qids if qid not in queries]:
        raise InputError(
            f"the run ranks documents for topic {unknown[0]}, which is not in {topics.source}.",
            path=run.path,
            hint="Give the topics that were searched.",
        )
    groups = best.frame.group_by("qid", maintain_order=True).agg("docno").iter_rows()
    return [(qid, queries[qid], docnos) for qid, docnos in groups]


def rerank(
    run: Run,
    topics: Topics,
    texts: Texts,
    reranker: Reranker,
    *,
    depth: int = DEPTH,
    fold: str | None = None,
    tag: str | None = None,
    chunking: Chunking = TEMPORARY,
) -> Reranked:
    """Rerank the best documents of each topic; ``chunking``: where, and beside which output.

    Topics missing from the run are ignored; the default tag is the old one plus the reranker's.
    """
    if depth < 1:
        raise UsageError(f"the depth must be at least 1, not {depth}.")
    reranker.check()
    if statement := reranker.statement:
        progress().note(f"{reranker.name}: {statement}")
    began, best = time.perf_counter(), reranked_part(run, depth, fold)
    is_listwise, running = reranker.recipe.is_listwise, reranker.running
    tokens = running.tokens or reranker.recipe.batch_tokens
    running = replace(running, tokens=tokens)
    asking = questions_of(run, best, topics)
    asked, costs = dict[str, Any](), list[dict[str, Any]]()
    with reranker.using_threads():
        if isinstance(reranker, AskedReranker):
            refuse_empty_queries({qid: query for qid, query, _ in asking})
            questions = [(query, texts.get(docnos)) for _, query, docnos in asking]
            verdicts = reranker.verdicts(questions, chunking.output)
            progress().note(f"{reranker.name}: {verdicts.whole}")
            values = np.concatenate([np.zeros(0), *(one.scores for one in verdicts.verdicts)])
            seconds, asked = verdicts.seconds, verdicts.settings(reranker.llm)
            costs = verdicts.costs([qid for qid, *_ in asking], reranker.llm)
        elif reranker.recipe.is_late and asking:
            values, seconds = scores_once(reranker, asking, texts.get, running, chunking)
        else:
            # Batches never mix topics' windows.
            size = 1 if is_listwise else max(1, PAIRS // max(1, best.depth))
            work = _Reranking(
                size=size, running=running, reranker=reranker, topics=asking, texts=texts
            )
            with chunking.made(work) as chunks:
                parts = [np.zeros(0), *(read_shard(path)["scores"] for path in chunks.files)]
                values, seconds = np.concatenate(parts), chunks.seconds
    pairs = len(values)
    if fold is not None:
        order = np.lexsort((-values, best.topics))
        rows = best.frame.with_columns(score=pl.Series(values))[order]
        folded = Run(rows, best.tag).fold(fold, strict=False).frame
        run = run.fold(fold)
        best = run.top(depth)
        kept = best.frame.join(folded, on=["qid", "docno"], how="left", maintain_order="left")
        values = kept["score_right"].to_numpy()
    below = run.ranks >= depth
    scores = np.empty(len(run))
    scores[~below] = values
    if is_listwise:
        scores[below] = 1.0 / (run.ranks[below] + 1)
    elif below.any():
        lowest = np.minimum.reduceat(values, np.flatnonzero(best.ranks == 0))
        scores[below] = lowest[run.topics[below]] - (run.ranks[below] - depth + 1)
    order = np.lexsort((-scores, run.topics))
    frame = run.frame.with_columns(score=pl.Series(scores))[order]
    return Reranked(
        Run(frame, tag or f"{run.tag}-{Path(reranker.name).stem}"),
        pairs,
        time.perf_counter() - began,
        seconds,
        {
            "name": reranker.name,
            "weights": reranker.identity["weights"],
            **reranker.recipe.fingerprint_inputs,
            **({"read": reranker.identity["read"]} if "read" in reranker.identity else {}),
            **reranker.identity.get("origin", {}),
            "depth": depth,
            **({} if fold is None else {"fold": str(Fold.of(fold))}),
            "fields": list(texts.fields),
            "score scale": reranker.scale,
            **(
                asked
                or {"batch": {"padded tokens": tokens or tokens_for(choose_device(running.device))}}
            ),
            "below the depth": "the order of the candidates, scores below the lowest",
            "candidates": {"tag": run.tag, **({"run": run.path.name} if run.path else {})},
        },
        costs,
    )


@dataclass(frozen=True, kw_only=True)
class _Reranking(ModelWork):
    """The scores of each topic's documents."""

    reranker: Reranker
    topics: Sequence[Topic]
    texts: Texts
    doing: ClassVar[str] = "reranking"
    unit: ClassVar[str] = "topics"

    @property
    def total(self) -> int:
        return len(self.topics)

    def identity(self) -> Mapping[str, Any]:
        return {"reranker": self.reranker.identity, **super().identity()}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "topics": ()}  # a worker is given its own

    def items(self, *, check: bool) -> Iterator[Topic]:
        return iter(self.topics)

    def describe(self, item: Topic) -> tuple[str, bytes]:
        qid, query, docnos = item
        content = [query, list(docnos), self.texts.get(docnos)]
        return qid, json.dumps(content).encode("ascii")

    def load(self, device: "torch.device") -> Callable[[Sequence[Topic]], Arrays]:
        reranker = self.reranker.on(device)
        _ = reranker.model  # one that cannot be loaded is not a fault of the first topics

        def arrays(topics: Sequence[Topic]) -> Arrays:
            pairs = [(query, text) for _, query, names in topics for text in self.texts.get(names)]
            return {"scores": reranker.scores(pairs)}

        return arrays
