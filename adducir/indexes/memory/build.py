"""From a corpus to a memory index.

Java tokenises blocks of documents in several threads (:class:`.BulkAnalyser`). Each block is
reduced to (document, term, frequency) and put on disk. When all are in, terms and documents get
their final numbers, and one counting sort over chunks of documents fills the postings: memory holds
a chunk, and numbers for each document and term. The files are the same for any number of threads.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import local
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from adducir.core.artifacts import Manifest, build
from adducir.core.errors import InputError, UsageError
from adducir.core.fingerprint import fingerprint
from adducir.core.processes import default_threads
from adducir.core.progress import progress
from adducir.corpora.documents import Corpus
from adducir.corpora.token_weights import read_token_weights
from adducir.indexes import jvm
from adducir.indexes.analysis import Analysis
from adducir.indexes.arrays import Array, Spool, let_go, mapped, new_array, save
from adducir.indexes.building import (
    IndexSettings,
    documents_with,
    engine_versions,
    packed,
    stored,
)
from adducir.indexes.documents import DocumentWriter
from adducir.indexes.jvm import translated
from adducir.indexes.memory import BUILDER_VERSION, KIND
from adducir.indexes.memory.inverting import (
    LONGEST_CODE,
    bound,
    distinct,
    encode,
    gather,
    scatter,
)
from adducir.indexes.memory.segment import DOCNOS, FILES, LEVELS, TERMS, norms_of
from adducir.indexes.vocabulary import BulkAnalyser

Weighted = tuple[str, Mapping[str, float]]
"""A docno, and the weight of each of the document's tokens."""

_BLANKS = bytes(range(33))
_CHUNK_POSTINGS = 1 << 22
_WEIGHTED_BLOCK = 2000


def build_memory_index(
    corpus: Corpus,
    path: Path,
    settings: IndexSettings | None = None,
    *,
    threads: int | None = None,
    rebuild: bool = False,
) -> Manifest:
    """Build the index, unless ``path`` already holds the one that would be built.

    The other arguments, counts and errors are those of :func:`adducir.indexes.lucene.build_index`.
    A memory index has no positions, always has document vectors and both kinds of length;
    ``accurate_length`` says which of them searches read. Where the settings name ``weights``,
    documents' terms are these; the corpus has the texts, and documents without weights are
    counted as ``empty``. A word is then analysed as the index's texts would be, the weights of
    words with the same term are added, and a word that the analysis cuts into several terms gives
    its weight to each; with the language ``pretokenized`` tokens are terms as they are.
    """
    own = (settings or IndexSettings()).of(corpus)
    if own.separate_fields:
        raise UsageError(
            "a memory index does not keep fields by themselves.", hint="Build a Lucene index."
        )

    def make(folder: Path) -> Mapping[str, Any]:
        documents = documents_with(corpus, own.fields)
        with translated(folder), Arrived(folder) as arrived:
            with DocumentWriter(folder) as store:
                texts = stored(documents, own.fields, store)
                if own.weights is not None:
                    docnos = {docno for docno, _ in texts}
                else:
                    with progress().doing("indexing", corpus.size_hint(), "documents"):
                        arrived.take_texts(texts, own.analysis, threads or default_threads())
            if own.weights is None:
                return {"documents": len(arrived), **arrived.write(folder)}
            arrived.take_weights(_by_term(_read_weights(own.weights, docnos), own.analysis))
            without = len(docnos) - len(arrived)
            counts = arrived.write(folder)
            return counts | {"documents": len(docnos), "empty": counts["empty"] + without}

    return build(
        path,
        kind=KIND,
        recipe=own.recipe(),
        inputs={"corpus": fingerprint(corpus.identity())},
        builder_version=BUILDER_VERSION,
        make=make,
        rebuild=rebuild,
        versions=engine_versions(),
    )


def build_from_weights(
    documents: Iterable[Weighted],
    path: Path,
    settings: IndexSettings,
    *,
    identity: Mapping[str, Any],
    rebuild: bool = False,
) -> Manifest:
    """Build an index of ready terms and weights, DeepCT's for example.

    Args:
        documents: Docnos, each once, and the weight of each term; weights of 0 or less are left
            out. Terms are taken as they are: ``settings.analysis`` must give the same for
            queries.
        identity: What the documents depend on, for the fingerprint.
    """

    def make(folder: Path) -> Mapping[str, Any]:
        with Arrived(folder) as arrived:
            arrived.take_weights(documents)
            return {"documents": len(arrived), **arrived.write(folder)}

    return build(
        path,
        kind=KIND,
        recipe=settings.recipe() | {"weights": True},
        inputs={"weights": fingerprint(identity)},
        builder_version=BUILDER_VERSION,
        make=make,
        rebuild=rebuild,
        versions=engine_versions(),
    )


def _read_weights(source: Path, docnos: set[str]) -> Iterator[Weighted]:
    for docno, weights in read_token_weights(source):
        if docno not in docnos:
            raise InputError(
                f"there are weights of the document {docno!r}, which the corpus does not have.",
                path=source,
                hint="Give the corpus that the weights were made of.",
            )
        yield docno, weights


def _by_term(documents: Iterable[Weighted], analysis: Analysis) -> Iterator[Weighted]:
    """The same by term; words that are new are analysed a block of documents at a time."""
    if analysis.kind.is_pretokenized:
        yield from documents
        return
    known: dict[str, list[str]] = {}
    rest = iter(documents)
    while block := [document for _, document in zip(range(_WEIGHTED_BLOCK), rest, strict=False)]:
        new = list(dict.fromkeys(w for _, weights in block for w in weights if w not in known))
        known.update(zip(new, analysis.terms(new), strict=True))
        for docno, weights in block:
            found: dict[str, float] = {}
            for word, weight in weights.items():
                for term in known[word]:
                    found[term] = found.get(term, 0) + weight
            yield docno, found


class Arrived:
    """Documents as provisional term numbers, spooled to disk until all are there."""

    def __init__(self, folder: Path) -> None:
        self._names: list[str] = []
        self._empty: int | None = None  # documents without text; None: those without a term
        self._docnos: list[str] = []
        self._sizes: list[Array] = [np.empty(0, dtype=np.int64)]
        self._terms = Spool(folder / ".terms.spool", np.int32)
        self._tfs = Spool(folder / ".tfs.spool", np.uint8)

    def __len__(self) -> int:
        return len(self._docnos)

    def __enter__(self) -> "Arrived":
        return self

    def __exit__(self, *error: object) -> None:
        self._terms.__exit__(*error)
        self._tfs.__exit__(*error)

    def _add(self, docnos: Sequence[str], starts: Array, terms: Array, tfs: Array) -> None:
        self._docnos += docnos
        self._sizes.append(np.diff(starts))
        self._terms.append(terms)
        self._tfs.append(tfs)

    def take_texts(
        self, texts: Iterable[tuple[str, list[bytes]]], analysis: Analysis, threads: int
    ) -> None:
        """Take documents as texts, analysed in threads, a few blocks ahead."""
        analyser, scratch, empty = BulkAnalyser(analysis), local(), 0

        def counted() -> Iterator[tuple[str, list[bytes]]]:
            for docno, (text,) in texts:
                nonlocal empty
                empty += not text.strip(_BLANKS)  # Anserini's rule
                yield docno, [text]

        def reduced(docnos: list[str], block: bytes) -> tuple[list[str], Array, Array, Array]:
            tokens, starts = analyser.tokens(len(docnos), block)
            counts = getattr(scratch, "counts", np.empty(0, dtype=np.int32))
            greatest = int(tokens.max(initial=0))
            if len(counts) <= greatest:  # zeros, which ``distinct`` leaves zero
                counts = scratch.counts = np.zeros(max(1 << 17, 2 * greatest), dtype=np.int32)
            terms, tfs = np.empty(len(tokens), np.int32), np.empty(len(tokens), np.int32)
            seen = np.empty(int(np.diff(starts).max(initial=0)), dtype=np.int32)
            found = np.empty_like(starts)
            distinct(starts[:-1], starts[1:], tokens, counts, seen, terms, tfs, found)
            return docnos, found, terms[: found[-1]], tfs[: found[-1]]

        pending: deque[Future[tuple[list[str], Array, Array, Array]]] = deque()

        def take_first() -> None:
            block = pending.popleft().result()
            self._add(*block)
            progress().advance(len(block[0]))

        with ThreadPoolExecutor(threads) as pool:
            for docnos, block in packed(counted(), with_docnos=False):
                pending.append(pool.submit(jvm.released(reduced), docnos, block))
                if len(pending) > 2 * threads:
                    take_first()
            while pending:
                take_first()
        self._names, self._empty = analyser.terms(), empty

    def take_weights(self, documents: Iterable[Weighted]) -> None:
        """Take documents of ready terms; weights of 0 or less are left out.

        Weights are single precision, as models compute them, and whole numbers where all are.
        """
        numbers: dict[str, int] = {}
        seen: set[str] = set()
        with progress().doing("indexing", None, "documents"):
            for docno, weights in documents:
                if docno in seen:
                    what = f"the docno {docno!r} is duplicated."
                    raise InputError(what, hint="Give each document once.")
                seen.add(docno)
                kept = {term: weight for term, weight in weights.items() if weight > 0}
                terms = [numbers.setdefault(term, len(numbers)) for term in kept]
                tfs = np.fromiter(kept.values(), np.float64)
                is_whole = len(tfs) and (tfs == np.floor(tfs)).all()
                starts = np.array([0, len(terms)], dtype=np.int64)
                rounded = tfs.astype(np.int64 if is_whole else np.float32)
                self._add([docno], starts, np.array(terms, dtype=np.int32), rounded)
                progress().advance(1)
        self._names = list(numbers)

    def write(self, folder: Path) -> dict[str, int]:
        """Give terms and documents their final numbers and write all files.

        Returns:
            The counts. ``indexed`` is what Lucene counts as its documents: those with text, also if
            no term is left of it; the files hold those with a term.
        """
        terms, tfs, sizes = self._terms.close(), self._tfs.close(), np.concatenate(self._sizes)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        full = np.flatnonzero(sizes)
        empty = len(self) - len(full) if self._empty is None else self._empty
        docnos = np.array([self._docnos[row] for row in full], dtype=object)
        order = full[np.argsort(docnos, kind="stable")]
        frequency = np.zeros(len(self._names), dtype=np.int64)
        for first in range(0, len(terms), _CHUNK_POSTINGS):
            some = terms[first : first + _CHUNK_POSTINGS]
            frequency += np.bincount(some, minlength=len(frequency))
            let_go(terms)
        by_text = np.argsort(np.array(self._names, dtype=object), kind="stable")
        ranked = by_text[np.argsort(-frequency[by_text], kind="stable")]
        ranked = ranked[frequency[ranked] > 0]
        renumber = np.empty(len(self._names), dtype=np.int32)
        renumber[ranked] = np.arange(len(ranked), dtype=np.int32)
        offsets = np.concatenate([[0], np.cumsum(frequency[ranked])])
        by_text = by_text[frequency[by_text] > 0]
        names = pl.Series([self._names[term] for term in by_text], dtype=pl.String)
        _write_table(folder / TERMS, {"term": names, "number": renumber[by_text]})
        named = pl.Series([self._docnos[row] for row in order], dtype=pl.String)
        _write_table(folder / DOCNOS, {"docno": named})
        save(folder / FILES["offsets"], offsets)
        documents = _Documents(starts, terms, tfs, order, renumber)
        lengths, occurrences = documents.write(folder, offsets)
        save(folder / FILES["lengths"], lengths)
        norms = norms_of(lengths)
        save(folder / FILES["norms"], norms)
        most = np.zeros(len(ranked), dtype=np.float32)
        least = np.full(len(ranked) * len(LEVELS), 255, dtype=np.uint8)
        docs, tfs = (np.asarray(mapped(folder / FILES[name])) for name in ("docs", "tfs"))
        bound(offsets, docs, tfs, norms, LEVELS, most, least)
        save(folder / FILES["greatest_tfs"], most)
        save(folder / FILES["least_norms"], least)
        save(folder / FILES["occurrences"], occurrences)
        return {
            "indexed": len(self) - empty,
            "empty": empty,
            "terms": len(ranked),
            "tokens": int(lengths.sum()),
            "postings": int(offsets[-1]),
        }


class _Chunk(NamedTuple):
    """Documents in their final order, with their terms' final numbers.

    Attributes:
        starts: (n + 1,) where each document's terms begin.
        terms: (p,) their numbers, ascending within a document.
        tfs: (p,) the frequency of each.
        code: The documents as vectors; empty for weights.
        code_ends: (n,) where each document ends there.
    """

    starts: Array
    terms: Array
    tfs: Array
    code: Array
    code_ends: Array


class _Documents(NamedTuple):
    """All documents as they arrived, the order that they are to have, and their terms' numbers."""

    starts: Array
    terms: Array
    tfs: Array
    order: Array
    renumber: Array

    def write(self, folder: Path, offsets: Array) -> tuple[Array, Array]:
        """Write postings and vectors; returns documents' lengths and terms' occurrences."""
        is_whole = self.tfs.dtype.kind in "iu"
        total, count = int(offsets[-1]), len(self.order)
        docs = new_array(folder / FILES["docs"], np.int32, total)
        tfs = new_array(folder / FILES["tfs"], self.tfs.dtype, total)
        lengths = np.zeros(count, dtype=np.int32 if is_whole else np.float64)
        occurrences = np.zeros(len(offsets) - 1, dtype=np.int64 if is_whole else np.float64)
        ends = np.zeros(count + 1, dtype=np.int64)
        cursors = offsets[:-1].copy()
        ranges = self._ranges()
        # The next chunk is made in another thread meanwhile.
        with ThreadPoolExecutor(1) as pool, Spool(folder / ".forward.spool", np.uint8) as forward:
            coming = deque(pool.submit(self._chunk, *some) for some in ranges[:1])
            for place, (first, last) in enumerate(ranges):
                coming.extend(pool.submit(self._chunk, *some) for some in ranges[place + 1 :][:1])
                chunk = coming.popleft().result()
                into = cursors, docs, tfs, lengths, occurrences
                scatter(first, chunk.starts, chunk.terms, chunk.tfs, *into)
                forward.append(chunk.code)
                ends[first + 1 : last + 1] = ends[first] + chunk.code_ends
                let_go(self.terms, self.tfs, docs, tfs)
            save(folder / FILES["forward"], forward.close())
        save(folder / FILES["forward_offsets"], ends)
        return lengths, occurrences

    def _ranges(self) -> list[tuple[int, int]]:
        """Ranges of documents with about ``_CHUNK_POSTINGS`` terms each."""
        ends = np.cumsum(np.diff(self.starts)[self.order])
        cuts = np.searchsorted(ends, np.arange(_CHUNK_POSTINGS, self.starts[-1], _CHUNK_POSTINGS))
        bounds = np.unique(np.concatenate(([0], cuts + 1, [len(self.order)]))).tolist()
        return [(first, last) for first, last in pairwise(bounds) if first < last]

    def _chunk(self, first: int, last: int) -> _Chunk:
        rows = self.order[first:last]
        size = int((self.starts[rows + 1] - self.starts[rows]).sum())
        terms, tfs = np.empty(size, dtype=np.int32), np.empty(size, dtype=self.tfs.dtype)
        starts = np.empty(len(rows) + 1, dtype=np.int64)
        gather(self.starts, self.terms, self.tfs, rows, self.renumber, terms, tfs, starts)
        ends = np.zeros(len(rows) + 1, dtype=np.int64)
        if tfs.dtype.kind == "f":
            return _Chunk(starts, terms, tfs, np.empty(0, dtype=np.uint8), ends[1:])
        code = np.empty(LONGEST_CODE * size, dtype=np.uint8)
        encode(starts, terms, tfs, code, ends)
        return _Chunk(starts, terms, tfs, code[: ends[-1]], ends[1:])


def _write_table(path: Path, columns: dict[str, Any]) -> None:
    table = pl.DataFrame(columns)
    with path.open("wb") as file:
        table.write_ipc(file, compression="uncompressed", record_batch_size=max(1, len(table)))
