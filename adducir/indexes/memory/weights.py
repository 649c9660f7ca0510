"""Documents of ready tokens and weights on their way into a memory index.

Where the index has a language, each different token is a word, analysed once as the index's texts
would be: stemmed, stop words dropped; the weights of words with the same term are added, and a word
that the analysis cuts into several terms gives its weight to each. Where texts come as ready tokens
(language ``pretokenized``), tokens are terms as they are.

Weights are single precision, as models compute them, and whole numbers where all are.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from adducir.core.errors import InputError
from adducir.core.progress import progress
from adducir.corpora.token_weights import read_token_weights
from adducir.indexes.analysis import Analysis
from adducir.indexes.memory.writing import ArrivedDocuments

_BLOCK = 2000

Weighted = tuple[str, Mapping[str, float]]
"""A docno, and the weight of each of the document's tokens."""


def read_weights(source: Path, corpus: Container[str]) -> Iterator[Weighted]:
    """The documents of a source of token weights.

    Args:
        source: See :mod:`adducir.corpora.token_weights`.
        corpus: The docnos of the corpus.

    Raises:
        InputError: As :func:`.read_token_weights`, or a docno is not of the corpus.
    """
    for docno, weights in read_token_weights(source):
        if docno not in corpus:
            raise InputError(
                f"there are weights of the document {docno!r}, which the corpus does not have.",
                path=source,
                hint="Give the corpus that the weights were made of.",
            )
        yield docno, weights


def by_term(documents: Iterable[Weighted], analysis: Analysis) -> Iterator[Weighted]:
    """The same by term; words that are new are analysed block by block."""
    if analysis.is_pretokenized:
        yield from documents
        return
    known: dict[str, list[str]] = {}
    block: list[Weighted] = []
    for document in documents:
        block.append(document)
        if len(block) >= _BLOCK:
            yield from _analysed(block, known, analysis)
            block = []
    yield from _analysed(block, known, analysis)


def take_weights(documents: Iterable[Weighted], arrived: ArrivedDocuments) -> int:
    """Spool documents; weights of 0 or less are left out.

    Returns:
        How many documents there are.

    Raises:
        InputError: A docno comes twice.
    """
    numbers: dict[str, int] = {}
    seen: set[str] = set()
    with progress().doing("indexing", None, "documents"):
        for docno, weights in documents:
            if docno in seen:
                what = f"the docno {docno!r} comes twice."
                raise InputError(what, hint="Give each document once.")
            seen.add(docno)
            kept = [(term, weight) for term, weight in weights.items() if weight > 0]
            terms = [numbers.setdefault(term, len(numbers)) for term, _ in kept]
            values = np.array([weight for _, weight in kept], dtype=np.float64)
            is_whole = len(values) and (values == np.floor(values)).all()
            starts = np.array([0, len(terms)], dtype=np.int64)
            tfs = values.astype(np.int64 if is_whole else np.float32)
            arrived.add([docno], starts, np.array(terms, dtype=np.int32), tfs)
            progress().advance(1)
    arrived.terms = list(numbers)
    return len(seen)


def _analysed(
    block: list[Weighted], known: dict[str, list[str]], analysis: Analysis
) -> Iterator[Weighted]:
    new = list(dict.fromkeys(w for _, weights in block for w in weights if w not in known))
    known.update(zip(new, analysis.terms(new), strict=True))
    for docno, weights in block:
        found: dict[str, float] = {}
        for word, weight in weights.items():
            for term in known[word]:
                found[term] = found.get(term, 0) + weight
        yield docno, found
