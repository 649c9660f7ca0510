"""Merges the postings and documents of parts into those of one index, a stretch at a time.

The files are those of the index that is built at once, byte for byte. In memory are the numbers of
all documents and terms, and one stretch of terms or documents of all parts.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from adducir.indexes.arrays import Array, save
from adducir.indexes.memory.files import POSTINGS, Arrays
from adducir.indexes.memory.forward import LONGEST_CODE, decode_all, encode
from adducir.indexes.memory.inverting import gather
from adducir.indexes.memory.spool import Spool, let_go
from adducir.indexes.memory.writing import new_array

_STRETCH = 1 << 22


class Numbered(NamedTuple):
    """A part whose documents and terms have the whole's numbers.

    Attributes:
        docs: (n,) int32: the number of each document, ascending.
        terms: (v,) int32: the number of each term.
        order: (v,) the part's own numbers of its terms in the order of the whole's.
    """

    arrays: Arrays
    docs: Array
    terms: Array
    order: Array

    @classmethod
    def of(cls, arrays: Arrays, docs: Array, terms: Array) -> "Numbered":
        """A part, given the whole's numbers."""
        return cls(arrays, docs, terms, np.argsort(terms).astype(np.int32))


def merged_postings(
    parts: Sequence[Numbered], offsets: Array
) -> Iterator[tuple[int, int, Array, Array, Array]]:
    """The postings of one term after another, in stretches of terms.

    Args:
        offsets: (V + 1,) where each term's postings begin.

    Yields:
        The first term and one behind the last; which of these terms each posting is of, its
        document, ascending within a term, and its frequency.
    """
    for first, last in _stretches(offsets):
        pieces = [_postings(part, first, last) for part in parts]
        rows, docs, tfs = (np.concatenate(one) for one in zip(*pieces, strict=True))
        # Each piece is in order: a stable sort merges them, many times faster than lexsort.
        order = np.argsort(rows.astype(np.int64) << 32 | docs, kind="stable")
        yield first, last, rows[order], docs[order], tfs[order]
        for part in parts:
            part.arrays.let_go()


def write_merged(folder: Path, parts: Sequence[Numbered], offsets: Array) -> None:
    """Write the files that an index of one piece has and one in parts has not."""
    docs_name, tfs_name, code_name, starts_name = (folder / f"{name}.npy" for name in POSTINGS)
    dtype = np.result_type(np.uint8, *(one.arrays.tfs.dtype for one in parts))
    all_docs = new_array(docs_name, np.int32, int(offsets[-1]))
    all_tfs = new_array(tfs_name, dtype, int(offsets[-1]))
    for first, last, _, docs, tfs in merged_postings(parts, offsets):
        span = slice(offsets[first], offsets[last])
        all_docs[span], all_tfs[span] = docs, tfs
        let_go(all_docs, all_tfs)
    starts = [np.zeros(1, dtype=np.int64)]
    with Spool(folder / ".forward.spool", np.uint8) as spool:
        if dtype.kind == "f":
            starts.append(np.zeros(sum(len(one.docs) for one in parts), dtype=np.int64))
        else:
            for code, ends in _merged_documents(parts, len(offsets) - 1):
                starts.append(starts[-1][-1] + ends)
                spool.append(code)
        save(code_name, spool.close())
    save(starts_name, np.concatenate(starts))


def _merged_documents(parts: Sequence[Numbered], terms: int) -> Iterator[tuple[Array, Array]]:
    """The code of one document after another, and where each ends in it, in stretches."""
    sizes = np.zeros(sum(len(one.docs) for one in parts), dtype=np.int64)
    for one in parts:
        sizes[one.docs] = np.diff(one.arrays.forward_offsets)
    same = np.arange(terms, dtype=np.int32)
    for first, last in _stretches(np.concatenate(([0], np.cumsum(sizes)))):
        pieces = [_documents(one, first, last) for one in parts]
        docs, held, own, tfs = (np.concatenate(one) for one in zip(*pieces, strict=True))
        starts = np.concatenate(([0], np.cumsum(held)))
        out_terms, out_tfs = np.empty_like(own), np.empty_like(tfs)
        bounds, ends = np.empty(len(docs) + 1, np.int64), np.empty(len(docs) + 1, np.int64)
        gather(starts, own, tfs, np.argsort(docs), same, out_terms, out_tfs, bounds)
        code = np.empty(LONGEST_CODE * len(own), dtype=np.uint8)
        encode(bounds, out_terms, out_tfs, code, ends)
        yield code[: ends[-1]], ends[1:]
        for one in parts:
            one.arrays.let_go()


def _documents(part: Numbered, first: int, last: int) -> tuple[Array, Array, Array, Array]:
    """A part's documents from ``first`` to ``last`` - 1: numbers, how many terms, these, tfs."""
    low, high = np.searchsorted(part.docs, (first, last))
    starts = np.asarray(part.arrays.forward_offsets[low : high + 1])
    room = int(starts[-1] - starts[0])
    terms, tfs = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    held = np.empty(high - low, dtype=np.int64)
    count = decode_all(np.asarray(part.arrays.forward), starts, terms, tfs, held)
    return part.docs[low:high], held, part.terms[terms[:count]], tfs[:count]


def _postings(part: Numbered, first: int, last: int) -> tuple[Array, Array, Array]:
    """A part's postings of terms ``first`` to ``last`` - 1: which of these, document, frequency."""
    low, high = np.searchsorted(part.terms, (first, last), sorter=part.order)
    held = part.order[low:high]
    rows, offsets = part.terms[held] - first, part.arrays.offsets
    starts, sizes = offsets[held], offsets[held + 1] - offsets[held]
    before = np.cumsum(sizes) - sizes
    places = np.arange(int(sizes.sum())) + np.repeat(starts - before, sizes)
    return np.repeat(rows, sizes), part.docs[part.arrays.docs[places]], part.arrays.tfs[places]


def _stretches(offsets: Array) -> Iterator[tuple[int, int]]:
    """Ranges of terms (or documents) with about ``_STRETCH`` postings (or bytes) each."""
    cuts = np.searchsorted(offsets, np.arange(0, int(offsets[-1]), _STRETCH))
    bounds = np.unique(np.concatenate((cuts, [len(offsets) - 1]))).tolist()
    return ((int(first), int(last)) for first, last in pairwise(bounds))
