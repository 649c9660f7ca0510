"""From a corpus to a memory index.

Blocks of documents are analysed in several threads. Each block is reduced to (document, term,
frequency) and spooled to disk. Then terms and documents get their final numbers, and a counting
sort over chunks of documents fills the postings: memory holds one chunk and some numbers per
document and term. The files do not depend on the number of threads.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import local
from typing import Any, BinaryIO

import numpy as np
import polars as pl

from adducir.core.errors import InputError, worded
from adducir.core.files import nameless_file
from adducir.core.processes import ahead
from adducir.core.progress import progress
from adducir.corpora.documents import Corpus
from adducir.corpora.token_weights import read_token_weights
from adducir.indexes.analysis import Analysis
from adducir.indexes.arrays import Array, let_go, new_array, save
from adducir.indexes.building import Texts, packed, stored
from adducir.indexes.documents import DocumentWriter
from adducir.indexes.jvm import translated
from adducir.indexes.memory.impact_build import write_impacts
from adducir.indexes.memory.inverting import (
    CHUNK_POSTINGS,
    Spooled,
    bound,
    count_pairs,
    distinct,
    encode,
    gather,
    mark,
    scatter,
)
from adducir.indexes.memory.segment import DOCNOS, FILES, LEVELS, TERMS, common_terms, norms_of
from adducir.indexes.settings import MemorySettings
from adducir.indexes.vocabulary import bulk_analyser

_BLANKS = bytes(range(33))
_NOTHING = 2.0**-150  # what single precision rounds to 0


def write(corpus: Corpus, folder: Path, settings: MemorySettings, threads: int) -> dict[str, Any]:
    """Build an index in an empty folder; returns its counts.

    Token weights that the settings name are the documents' terms; the corpus has the texts, and
    documents without weights count as ``empty``. Words are then analysed like texts, weights of
    words with the same term are added, and a word that becomes several terms passes its weight to
    each; with the language ``pretokenized``, tokens are terms.
    """
    weights, analysis = settings.token_weights, settings.analysis
    arrived = Arrived(folder, np.int32 if weights is None else np.float32)
    with translated(folder):
        with DocumentWriter(folder) as store:
            texts = stored(corpus, settings.fields, store)
            if weights is None:
                with progress().doing("indexing", corpus.size_hint(), "documents"):
                    arrived.take_texts(texts, analysis, threads)
            else:
                arrived.take_weights(weights, {docno for docno, *_ in texts}, analysis)
        as_impacts = weights is not None and analysis.kind.is_pretokenized
        counts, without = arrived.write(folder, as_impacts=as_impacts), len(store) - len(arrived)
        return counts | {"documents": len(store), "empty": counts["empty"] + without}


def _weights_of_terms(source: Path, analysis: Analysis) -> Iterator[tuple[str, dict[str, float]]]:
    documents = read_token_weights(source)
    if analysis.kind.is_pretokenized:
        yield from documents
        return
    terms_of: dict[str, list[str]] = {}
    for docno, weights in documents:
        if new := [word for word in weights if word not in terms_of]:
            terms_of.update(zip(new, analysis.terms(new), strict=True))
        tokens: dict[str, float] = {}
        for word, weight in weights.items():
            for term in terms_of[word]:
                tokens[term] = tokens.get(term, 0) + weight
        yield docno, tokens


class Arrived:
    """Documents as provisional term numbers, spooled to disk; ``dtype``: int32 or float32."""

    def __init__(self, folder: Path, dtype: type[np.number]) -> None:
        self._names: list[str] = []
        self._empty: int | None = None  # documents without text; None: those without a term
        self._docnos: list[str] = []
        self._sizes: list[Array] = [np.empty(0, dtype=np.int64)]
        self._terms, self._tfs = nameless_file(folder), nameless_file(folder)
        self._dtype = dtype

    def __len__(self) -> int:
        return len(self._docnos)

    def _add(self, docnos: Sequence[str], starts: Array, terms: Array, tfs: Array) -> None:
        self._docnos += docnos
        self._sizes.append(np.diff(starts))
        # Not tofile(), which does not notice a full disk at the end.
        self._terms.write(terms.data)
        self._tfs.write(tfs.astype(self._dtype, copy=False).data)

    def take_texts(self, texts: Iterable[Texts], analysis: Analysis, threads: int) -> None:
        analyser, scratch, empty = bulk_analyser(analysis), local(), 0

        def counted() -> Iterator[tuple[str, bytes]]:
            for docno, text, *_ in texts:
                nonlocal empty
                empty += not text.strip(_BLANKS)  # Anserini's rule
                yield docno, text

        def reduced(block: tuple[list[str], bytes]) -> tuple[list[str], Array, Array, Array]:
            docnos, data = block
            tokens, starts = analyser.tokens(len(docnos), data)
            counts = getattr(scratch, "counts", np.empty(0, dtype=np.int32))
            greatest = int(tokens.max(initial=0))
            if len(counts) <= greatest:  # zeros, which ``distinct`` restores
                counts = scratch.counts = np.zeros(max(1 << 17, 2 * greatest), dtype=np.int32)
            return docnos, *distinct(starts, tokens, counts)

        for docnos, *terms in ahead(reduced, packed(counted(), with_docnos=False), threads):
            self._add(docnos, *terms)
            progress().advance(len(docnos))
        self._names, self._empty = analyser.terms(), empty

    def take_weights(self, source: Path, docnos: set[str], analysis: Analysis) -> None:
        numbers: dict[str, int] = {}
        with progress().doing("indexing", None, "documents"):
            for docno, weights in _weights_of_terms(source, analysis):
                if docno not in docnos:
                    raise InputError(
                        f"the weights contain document {docno!r}, which is not in the corpus.",
                        path=source,
                        hint=f"Give the corpus from which {worded('weights')} were computed.",
                    )
                kept = {term: weight for term, weight in weights.items() if weight > _NOTHING}
                terms = [numbers.setdefault(term, len(numbers)) for term in kept]
                starts = np.array([0, len(terms)], dtype=np.int64)
                term_ids = np.array(terms, dtype=np.int32)
                self._add([docno], starts, term_ids, np.fromiter(kept.values(), np.float64))
                progress().advance(1)
        self._names = list(numbers)

    def write(self, folder: Path, *, as_impacts: bool) -> dict[str, int]:
        """Give terms and documents their final numbers, write all files, and return the counts.

        ``as_impacts``: in the layout of token weights. ``indexed`` is Lucene's count: documents
        with text, even if analysis leaves no terms.
        """
        spooled = self._spooled(folder)
        empty = len(self) - len(spooled.order) if self._empty is None else self._empty
        tokens = (write_impacts if as_impacts else _write_segment)(spooled, folder)
        return {
            "indexed": len(self) - empty,
            "empty": empty,
            "terms": len(spooled.offsets) - 1,
            "tokens": tokens,
            "postings": int(spooled.offsets[-1]),
        }

    def _spooled(self, folder: Path) -> Spooled:
        """The final numbers; writes the names and where postings begin."""
        terms = _mapped(self._terms, np.int32)
        tfs = _mapped(self._tfs, self._dtype)
        sizes = np.concatenate(self._sizes)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        docnos, names = (pl.Series(texts, dtype=pl.String) for texts in (self._docnos, self._names))
        full = np.flatnonzero(sizes)
        order = full[docnos.gather(full).arg_sort().to_numpy()]
        frequency = np.zeros(len(self._names), dtype=np.int64)
        is_whole, largest = True, 0.0
        for first in range(0, len(terms), CHUNK_POSTINGS):
            some = slice(first, first + CHUNK_POSTINGS)
            frequency += np.bincount(terms[some], minlength=len(frequency))
            is_whole = is_whole and bool((tfs[some] % 1 == 0).all())
            largest = max(largest, float(tfs[some].max()))
            let_go(terms, tfs)
        by_text = names.arg_sort().to_numpy()
        ranks = np.empty(len(by_text), dtype=np.int32)
        ranks[by_text] = np.arange(len(by_text))
        ranked = by_text[np.argsort(-frequency[by_text], kind="stable")]
        ranked = ranked[frequency[ranked] > 0]
        renumber = np.empty(len(by_text), dtype=np.int32)
        renumber[ranked] = np.arange(len(ranked))
        offsets = np.concatenate([[0], np.cumsum(frequency[ranked])])
        by_text = by_text[frequency[by_text] > 0]
        _write_table(folder / TERMS, {"term": _texts(names, by_text), "number": renumber[by_text]})
        _write_table(folder / DOCNOS, {"docno": _texts(docnos, order)})
        save(folder / FILES["offsets"], offsets)
        return Spooled(order, starts, terms, tfs, ranks, renumber, offsets, largest, is_whole)


def _write_segment(spooled: Spooled, folder: Path) -> int:
    """Write postings, vectors, lengths and bounds; returns the sum of all frequencies."""
    order, offsets, is_whole = spooled.order, spooled.offsets, spooled.is_whole
    vocabulary, total = len(offsets) - 1, int(offsets[-1])
    dtype = np.min_scalar_type(int(spooled.largest)) if is_whole else np.dtype(np.float32)
    docs = new_array(folder / FILES["docs"], np.int32, total)
    own_tfs = new_array(folder / FILES["tfs"], dtype, total)
    vectors = total if is_whole else 0
    forward = new_array(folder / FILES["forward"], np.int32, vectors)
    forward_tfs = new_array(folder / FILES["forward_tfs"], dtype, vectors)
    ends = spooled.ends
    save(folder / FILES["forward_offsets"], ends if is_whole else np.zeros_like(ends))
    lengths = np.zeros(len(order), dtype=np.int32 if is_whole else np.float64)
    occurrences = np.zeros(vocabulary, dtype=np.int64 if is_whole else np.float64)
    cursors = offsets[:-1].copy()
    longest = int(np.diff(spooled.starts).max(initial=0))
    scratch = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int32)

    def gathered(chunk: tuple[int, int]) -> tuple[int, Array, Array, Array]:
        first, last = chunk
        part = slice(ends[first], ends[last])
        some_terms, some_tfs = forward[part], forward_tfs[part]
        if not is_whole:
            some_terms = np.empty(part.stop - part.start, dtype=np.int32)
            some_tfs = np.empty(part.stop - part.start, dtype=dtype)
        of_chunk = spooled.starts, spooled.terms, spooled.tfs, order[first:last]
        gather(*of_chunk, spooled.ranks, spooled.renumber, some_terms, some_tfs, *scratch)
        return first, ends[first : last + 1] - ends[first], some_terms, some_tfs

    for chunk in ahead(gathered, spooled.chunks(), 1):
        scatter(*chunk, cursors, docs, own_tfs, lengths, occurrences)
        let_go(spooled.terms, spooled.tfs, docs, own_tfs, forward, forward_tfs)
    words = len(order) // 64 + 1
    size = common_terms(np.diff(offsets), len(order)) * words
    bits = new_array(folder / FILES["bits"], np.uint64, size)
    before = new_array(folder / FILES["before"], np.uint32, size)
    mark(offsets, docs, words, bits, before)
    let_go(docs, bits, before)
    norms = norms_of(lengths)
    most = np.zeros(vocabulary, dtype=np.float32)
    least = np.full(vocabulary * len(LEVELS), 255, dtype=np.uint8)
    bound(offsets, docs, own_tfs, norms, LEVELS, most, least)
    pairs = _write_codes(folder, docs, own_tfs, norms)
    for name, array in {
        "lengths": lengths,
        "pairs": pairs,
        "norms": norms,
        "greatest_tfs": most,
        "least_norms": least,
        "occurrences": occurrences,
    }.items():
        save(folder / FILES[name], array)
    return int(lengths.sum())


def _write_codes(folder: Path, docs: Array, tfs: Array, norms: Array) -> Array:
    """Write a byte per posting, and return what the bytes mean."""
    out = new_array(folder / FILES["codes"], np.uint8, len(docs))
    counts, codes = np.zeros(1 << 16, dtype=np.int64), np.full(1 << 16, 255, dtype=np.uint8)
    chunks = [slice(at, at + CHUNK_POSTINGS) for at in range(0, len(docs), CHUNK_POSTINGS)]
    if tfs.dtype.kind in "iu":  # weights are rarely equal
        for some in chunks:
            count_pairs(docs[some], tfs[some], norms, counts)
            let_go(docs, tfs)
    pairs: Array = np.argsort(-counts, kind="stable")[: min(255, np.count_nonzero(counts))]
    codes[pairs] = np.arange(len(pairs))
    for some in chunks:
        if len(pairs):
            encode(docs[some], tfs[some], norms, codes, out[some])
        else:
            out[some] = 255
        let_go(docs, tfs, out)
    return pairs.astype(np.int32)


def _mapped(file: BinaryIO, dtype: type[np.number]) -> Array:
    file.flush()
    if not file.tell():
        return np.empty(0, dtype=dtype)
    return np.memmap(file, dtype=dtype, mode="r")


def _texts(texts: pl.Series, places: Array) -> pl.Series:
    """Some texts, written in this order: polars would share the memory of all, as they arrived."""
    return pl.Series(texts.gather(places).to_list(), dtype=pl.String)


def _write_table(path: Path, columns: dict[str, Any]) -> None:
    table = pl.DataFrame(columns)
    with path.open("wb") as file:
        table.write_ipc(file, compression="uncompressed", record_batch_size=max(1, len(table)))
