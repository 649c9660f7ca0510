"""Examples for cross-encoders out of documents alone: one field asks, the others answer.

A document's own text is the positive of its query, such as an argument's premise of its conclusion;
texts of other documents, drawn at random, are the negatives. Nobody has to judge anything, and leak
control keeps apart what a model is tested on, as it does for judged topics.
"""

from array import array
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from adducir.core.errors import InputError
from adducir.core.progress import progress
from adducir.corpora.digests import digest_of
from adducir.corpora.documents import Corpus, text_of
from adducir.models.machine import seed_of
from adducir.rerankers.examples import Counts, Example, Leaks, normal
from adducir.rerankers.texts import texts_of

_TRIES = 50
"""Documents looked at for a negative before there is held to be none."""


class _Documents:
    """The documents that may be learnt from: their docnos, and digests of queries and texts."""

    def __init__(self) -> None:
        self.docnos: list[str] = []
        self.queries, self.texts = array("Q"), array("Q")

    def add(self, docno: str, query: str, text: int) -> None:
        self.docnos.append(docno)
        self.queries.append(_short(query))
        self.texts.append(text)

    def without(self, barred: set[int]) -> "_Documents":
        """Those whose text is none of some."""
        kept = _Documents()
        for docno, query, text in zip(self.docnos, self.queries, self.texts, strict=True):
            if text not in barred:
                kept.docnos.append(docno)
                kept.queries.append(query)
                kept.texts.append(text)
        return kept


def document_examples(
    corpus: Corpus,
    query_field: str,
    text_fields: Sequence[str],
    leaks: Leaks,
    counts: Counts,
    folder: Path,
    *,
    negatives: int,
    most: int | None = None,
    seed: int = 0,
) -> Iterator[Example]:
    """Make examples of the documents that may be learnt from, document by document.

    No negative is of a document with the same query or with the text of one that has it. Held in
    memory are the docnos of all documents with digests of 16 bytes; texts lie in a file.

    Args:
        query_field: The field that is the query.
        text_fields: The fields that make the text; by default the corpus' own. The query's field is
            left out.
        leaks: What is left out; documents with the text of one left out are, too.
        folder: An empty folder, where texts are kept.
        negatives: For each document.
        most: Documents, at most: those whose seeded hash comes first.

    Raises:
        InputError: The text has no field, or nothing is left to learn from.
    """
    fields = [name for name in text_fields or corpus.default_fields if name != query_field]
    if not fields:
        raise InputError(f"the text has no field but {query_field!r}, which is the query.")
    usable = _usable(corpus, query_field, fields, leaks, counts)
    docnos = usable.docnos
    order = sorted(range(len(docnos)), key=lambda n: seed_of(seed, "document", docnos[n]))
    chosen = sorted(order[:most])
    drawn = [_negatives(usable, number, negatives, seed) for number in chosen]
    wanted = {docnos[number] for number in (*chosen, *(n for some in drawn for n in some))}
    found = partial(texts_of, corpus, wanted)
    texts = found(fields, folder=folder / "texts")
    queries = found([query_field], folder=folder / "queries")
    is_empty = True
    for number, others in zip(chosen, drawn, strict=True):
        if not others:
            counts.without_positive += 1
            continue
        is_empty = False
        ((query,), own) = queries.get([docnos[number]]), [number, *others]
        for label, text in zip(
            [1.0, *[0.0] * len(others)], texts.get([docnos[one] for one in own]), strict=True
        ):
            yield Example(query, text, label)
    if is_empty:
        raise InputError(
            "no two documents are left to learn from.",
            path=corpus.source,
            hint=f"Has the query's field a text? Counts: {counts.record()}.",
        )


def _usable(
    corpus: Corpus, query_field: str, fields: Sequence[str], leaks: Leaks, counts: Counts
) -> _Documents:
    """The documents that may be learnt from, in the order of the corpus."""
    found = _Documents()
    barred: set[int] = set()
    progress().start("reading documents", corpus.size_hint(), "documents")
    for document in corpus:
        progress().advance(1)
        query, text = document.fields.get(query_field, ""), text_of(document, fields)
        digest = _short(text)
        if document.docno in leaks.documents:
            counts.left_out_documents += 1
            barred.add(digest)
        elif not query.strip() or not text.strip():
            counts.without_positive += 1
        elif normal(query) in leaks.queries:
            counts.left_out_queries += 1
        else:
            found.add(document.docno, query, digest)
    progress().finish()
    if leaks.copies:
        kept = found.without(barred)
        counts.left_out_documents += len(found.docnos) - len(kept.docnos)
        return kept
    return found


def _negatives(usable: _Documents, number: int, count: int, seed: int) -> list[int]:
    """The numbers of other documents whose text answers another query."""
    query = usable.queries[number]
    draw = np.random.default_rng(seed_of(seed, "negatives", usable.docnos[number]))
    taken, found = {usable.texts[number]}, list[int]()
    for other in draw.integers(0, len(usable.docnos), size=_TRIES * count).tolist():
        if len(found) == count:
            break
        if usable.texts[other] not in taken and usable.queries[other] != query:
            found.append(other)
            taken.add(usable.texts[other])
    return found


def _short(text: str) -> int:
    """Eight bytes that show a text from others, whatever hides that it is the same."""
    return int(digest_of([normal(text)])[:16], 16)
