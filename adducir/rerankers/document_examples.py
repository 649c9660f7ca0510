"""Examples for cross-encoders out of documents alone: one field asks, the others answer.

A document's own text is the positive of its query, such as an argument's premise of its conclusion;
texts of other documents, drawn at random, are the negatives. Nobody has to judge anything, and leak
control keeps apart what a model is tested on, as it does for judged topics.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adducir.corpora.digests import digest_of
from adducir.corpora.documents import Corpus, text_of
from adducir.models.machine import seed_of
from adducir.rerankers.examples import Counts, Example, Leaks, normal
from adducir.rerankers.texts import texts_of
from adducir.study.errors import InputError
from adducir.study.progress import SILENT, Progress

_TRIES = 50
"""Documents looked at for a negative before there is held to be none."""


class _Document(NamedTuple):
    docno: str
    query: str
    digest: str


def document_examples(
    corpus: Corpus,
    query_field: str,
    text_fields: Sequence[str],
    leaks: Leaks,
    counts: Counts,
    *,
    negatives: int,
    most: int | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> list[Example]:
    """Make examples of the documents that may be learnt from.

    No negative is of a document with the same query or with the text of one that has it. Texts are
    held for the examples alone, digests for all documents.

    Args:
        corpus: The documents.
        query_field: The field that is the query.
        text_fields: The fields that make the text; by default the corpus' own. The query's field is
            left out.
        leaks: What is left out; documents with the text of one left out are, too.
        counts: Told of what became of the documents.
        negatives: For each document.
        most: Documents, at most: those whose seeded hash comes first.
        seed: Another one chooses other documents and draws other negatives.
        progress: Told of documents read.

    Raises:
        InputError: The text has no field, or nothing is left to learn from.
    """
    fields = [name for name in text_fields or corpus.default_fields if name != query_field]
    if not fields:
        raise InputError(f"the text has no field but {query_field!r}, which is the query.")
    usable = _usable(corpus, query_field, fields, leaks, counts, progress)
    order = sorted(range(len(usable)), key=lambda n: seed_of(seed, "document", usable[n].docno))
    chosen = sorted(order[:most])
    drawn = [_negatives(usable, number, negatives, seed) for number in chosen]
    wanted = {usable[number].docno for number in (*chosen, *(n for some in drawn for n in some))}
    texts = texts_of(corpus, wanted, fields, progress=progress)
    found = []
    for number, others in zip(chosen, drawn, strict=True):
        query = usable[number].query
        if not others:
            counts.without_positive += 1
            continue
        found.append(Example(query, texts.get([usable[number].docno])[0], 1.0))
        worse = texts.get([usable[other].docno for other in others])
        found += [Example(query, text, 0.0) for text in worse]
    if not found:
        raise InputError(
            "no two documents are left to learn from.",
            path=corpus.source,
            mend=f"Has the query's field a text? Counts: {counts.record()}.",
        )
    counts.count(found)
    return found


def _usable(
    corpus: Corpus,
    query_field: str,
    fields: Sequence[str],
    leaks: Leaks,
    counts: Counts,
    progress: Progress,
) -> list[_Document]:
    """The documents that may be learnt from, in the order of the corpus."""
    found: list[_Document] = []
    barred: set[str] = set()
    progress.start("reading documents", corpus.size_hint(), "documents")
    for document in corpus:
        progress.advance(1)
        query, text = document.fields.get(query_field, ""), text_of(document, fields)
        digest = digest_of([normal(text)])
        if document.docno in leaks.documents:
            counts.left_out_documents += 1
            barred.add(digest)
        elif not query.strip() or not text.strip():
            counts.without_positive += 1
        elif normal(query) in leaks.queries:
            counts.left_out_queries += 1
        else:
            found.append(_Document(document.docno, query, digest))
    progress.finish()
    if leaks.copies:
        kept = [one for one in found if one.digest not in barred]
        counts.left_out_documents += len(found) - len(kept)
        return kept
    return found


def _negatives(usable: Sequence[_Document], number: int, count: int, seed: int) -> list[int]:
    """The numbers of other documents whose text answers another query."""
    own = usable[number]
    draw = np.random.default_rng(seed_of(seed, "negatives", own.docno))
    taken, found = {own.digest}, list[int]()
    for other in draw.integers(0, len(usable), size=_TRIES * count).tolist():
        if len(found) == count:
            break
        one = usable[other]
        if one.digest not in taken and normal(one.query) != normal(own.query):
            found.append(other)
            taken.add(one.digest)
    return found
