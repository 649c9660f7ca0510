"""Writes the files of a memory index from documents in the order in which they came."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from adducir.indexes.arrays import Array, save
from adducir.indexes.memory.files import DOCNOS, TERMS
from adducir.indexes.memory.forward import LONGEST_CODE, encode
from adducir.indexes.memory.inverting import gather, scatter
from adducir.indexes.memory.norms import norms_of
from adducir.indexes.memory.spool import Spool, let_go

_CHUNK_POSTINGS = 1 << 22


class ArrivedDocuments:
    """Documents as provisional term numbers, spooled to disk.

    Args:
        folder: Where the spools go; they are gone when the ``with`` block ends.

    Attributes:
        terms: The terms by provisional number; to be set before :func:`write_arrays`.
    """

    def __init__(self, folder: Path) -> None:
        self.terms: list[str] = []
        self.count = 0
        self._docnos: list[str] = []
        self._sizes: list[Array] = []
        self._terms = Spool(folder / ".terms.spool", np.int32)
        self._tfs = Spool(folder / ".tfs.spool", np.uint8)

    def add(self, docnos: list[str], starts: Array, terms: Array, tfs: Array) -> None:
        """Take documents: where each one's terms begin (n + 1,), their numbers, frequencies."""
        self.count += len(docnos)
        self._docnos += docnos
        self._sizes.append(np.diff(starts))
        self._terms.append(terms)
        self._tfs.append(tfs)

    def close(self) -> tuple[list[str], Array, Array, Array]:
        """All docnos, where each document's terms begin (n + 1,), the terms, the frequencies."""
        starts = np.zeros(self.count + 1, dtype=np.int64)
        if self._sizes:
            np.cumsum(np.concatenate(self._sizes), out=starts[1:])
        return self._docnos, starts, self._terms.close(), self._tfs.close()

    def __enter__(self) -> "ArrivedDocuments":
        return self

    def __exit__(self, *error: object) -> None:
        self._terms.__exit__(*error)
        self._tfs.__exit__(*error)


def write_arrays(
    folder: Path, arrived: ArrivedDocuments, empty: int | None = None
) -> dict[str, int]:
    """Give terms and documents their final numbers and write all files.

    Args:
        empty: How many of them have no text; by default those without a term.

    Returns:
        The counts. ``indexed`` is what Lucene counts as its documents: those with text, also if
        no term is left of it; the files hold those with a term.
    """
    docnos, starts, terms, tfs = arrived.close()
    sizes = np.diff(starts)
    full = np.flatnonzero(sizes)
    empty = arrived.count - len(full) if empty is None else empty
    order = full[np.argsort(np.array([docnos[row] for row in full], dtype=object), kind="stable")]
    frequency = _frequencies(terms, len(arrived.terms))
    ranked = _ranked_terms(arrived.terms, frequency)
    renumber = np.empty(len(arrived.terms), dtype=np.int32)
    renumber[ranked] = np.arange(len(ranked), dtype=np.int32)
    write_lines(folder / TERMS, [arrived.terms[term] for term in ranked])
    write_lines(folder / DOCNOS, [docnos[row] for row in order])
    offsets = np.zeros(len(ranked) + 1, dtype=np.int64)
    np.cumsum(frequency[ranked], out=offsets[1:])
    save(folder / "postings.offsets.npy", offsets)
    lengths, collection = _write_postings(folder, starts, terms, tfs, order, renumber, offsets)
    save(folder / "lengths.npy", lengths)
    save(folder / "norms.npy", norms_of(lengths))
    save(folder / "collection.npy", collection)
    return {
        "indexed": arrived.count - empty,
        "empty": empty,
        "terms": len(ranked),
        "tokens": int(lengths.sum()),
        "postings": int(offsets[-1]),
    }


def _ranked_terms(terms: list[str], frequency: Array) -> Array:
    """Provisional numbers in final order: by falling document frequency, then by text.

    Terms of other fields are left out.
    """
    by_text = np.argsort(np.array(terms, dtype=object), kind="stable")
    ranked: Array = by_text[np.argsort(-frequency[by_text], kind="stable")]
    return ranked[frequency[ranked] > 0]


def _write_postings(
    folder: Path,
    starts: Array,
    terms: Array,
    tfs: Array,
    order: Array,
    renumber: Array,
    offsets: Array,
) -> tuple[Array, Array]:
    """Write postings and forward files, a chunk of documents at a time.

    Returns:
        (N,) document lengths and (V,) collection frequencies.
    """
    whole = tfs.dtype.kind in "iu"
    total = int(offsets[-1])
    docs = new_array(folder / "postings.docs.npy", np.int32, total)
    out_tfs = new_array(folder / "postings.tfs.npy", tfs.dtype, total)
    lengths = np.zeros(len(order), dtype=np.int32 if whole else np.float64)
    collection = np.zeros(len(offsets) - 1, dtype=np.int64 if whole else np.float64)
    forward_offsets = np.zeros(len(order) + 1, dtype=np.int64)
    cursors = offsets[:-1].copy()
    sizes = np.diff(starts)[order]

    def gathered(span: tuple[int, int]) -> _Gathered:
        return _gathered(starts, terms, tfs, order[slice(*span)], renumber)

    with Spool(folder / ".forward.spool", np.uint8) as forward:
        for first, chunk in _ahead(gathered, _chunks(sizes)):
            last = first + len(chunk.bounds) - 1
            rest = (cursors, docs, out_tfs, lengths, collection)
            scatter(first, chunk.bounds, chunk.terms, chunk.tfs, *rest)
            forward.append(chunk.code)
            forward_offsets[first + 1 : last + 1] = forward_offsets[first] + chunk.code_ends
            let_go(terms, tfs, docs, out_tfs)
        save(folder / "forward.bytes.npy", forward.close())
    save(folder / "forward.offsets.npy", forward_offsets)
    return lengths, collection


class _Gathered(NamedTuple):
    """A chunk of documents in their final order, with their terms' final numbers.

    Attributes:
        bounds: (n + 1,) where each document's terms begin.
        terms: (p,) their numbers, ascending within a document.
        tfs: (p,) the frequency of each.
        code: The documents as :mod:`.forward` has them; empty for weights.
        code_ends: (n,) where each document ends there.
    """

    bounds: Array
    terms: Array
    tfs: Array
    code: Array
    code_ends: Array


def _gathered(starts: Array, terms: Array, tfs: Array, rows: Array, renumber: Array) -> _Gathered:
    size = int((starts[rows + 1] - starts[rows]).sum())
    mine, mine_tfs = np.empty(size, dtype=np.int32), np.empty(size, dtype=tfs.dtype)
    bounds = np.empty(len(rows) + 1, dtype=np.int64)
    gather(starts, terms, tfs, rows, renumber, mine, mine_tfs, bounds)
    encoded = np.zeros(len(rows) + 1, dtype=np.int64)
    if tfs.dtype.kind == "f":
        return _Gathered(bounds, mine, mine_tfs, np.empty(0, dtype=np.uint8), encoded[1:])
    code = np.empty(LONGEST_CODE * size, dtype=np.uint8)
    encode(bounds, mine, mine_tfs, code, encoded)
    return _Gathered(bounds, mine, mine_tfs, code[: encoded[-1]], encoded[1:])


def _ahead(
    gathered: Callable[[tuple[int, int]], _Gathered], spans: list[tuple[int, int]]
) -> Iterator[tuple[int, _Gathered]]:
    """Each chunk and its first document; the next chunk is made in another thread meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        coming = deque(pool.submit(gathered, span) for span in spans[:1])
        for place, (first, _) in enumerate(spans):
            coming.extend(pool.submit(gathered, span) for span in spans[place + 1 : place + 2])
            yield first, coming.popleft().result()


def _frequencies(terms: Array, count: int) -> Array:
    """(count,) in how many documents each term is."""
    found = np.zeros(count, dtype=np.int64)
    for first in range(0, len(terms), _CHUNK_POSTINGS):
        found += np.bincount(terms[first : first + _CHUNK_POSTINGS], minlength=count)
        let_go(terms)
    return found


def _chunks(sizes: Array) -> list[tuple[int, int]]:
    """Ranges of documents with about ``_CHUNK_POSTINGS`` terms each."""
    ends = np.cumsum(sizes)
    cuts = np.searchsorted(ends, np.arange(_CHUNK_POSTINGS, int(sizes.sum()), _CHUNK_POSTINGS))
    bounds = np.unique(np.concatenate(([0], cuts + 1, [len(sizes)])))
    return [(int(a), int(b)) for a, b in pairwise(bounds) if a < b]


def new_array(path: Path, dtype: np.dtype | type, size: int) -> Array:
    """An array in a new file, mapped for writing."""
    if size == 0:  # an empty file cannot be mapped
        save(path, np.empty(0, dtype=dtype))
        return np.empty(0, dtype=dtype)
    mapped: Array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(size,))
    return mapped


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write each text as a line."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
