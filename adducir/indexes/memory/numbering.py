"""Numbers the documents and terms of several parts as one index of all of them would.

Documents are in ascending order of docnos, terms by falling document frequency and then by text.
The files of the whole are those of that one index, byte for byte.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from adducir.indexes.arrays import Array, save
from adducir.indexes.memory.files import DOCNOS, PLACES, TERMS, TOTALS, Arrays, lines_of
from adducir.indexes.memory.merging import Numbered, merged_postings, write_merged
from adducir.indexes.memory.writing import write_lines


def write_whole(
    folder: Path, parts: Sequence[Arrays], folders: Sequence[Path] | None
) -> dict[str, int]:
    """Write the files of the whole.

    Args:
        folder: Where they go.
        parts: The parts, which share no docno.
        folders: Where each part's places go; None to write the postings of all parts to ``folder``.

    Returns:
        How many ``terms``, ``tokens`` and ``postings`` the whole has.
    """
    docs = _number_documents(folder, parts)
    terms, offsets = _number_terms(folder, parts)
    numbered = [Numbered.of(*one) for one in zip(parts, docs, terms, strict=True)]
    lengths = _spread([part.lengths for part in parts], docs)
    norms = _spread([part.norms for part in parts], docs)
    collection = _collection(numbered, offsets, lengths.dtype)
    for name, array in zip(TOTALS, (offsets, lengths, norms, collection), strict=True):
        save(folder / f"{name}.npy", array)
    if folders is None:
        write_merged(folder, numbered, offsets)
    for target, part in zip(folders or (), numbered, strict=folders is not None):
        places = (part.docs, part.terms, _inverse(part.terms, len(collection)))
        for name, array in zip(PLACES, places, strict=True):
            save(target / f"{name}.npy", array)
    counts = (len(collection), lengths.sum(), offsets[-1])
    return dict(zip(("terms", "tokens", "postings"), map(int, counts), strict=True))


def _number_documents(folder: Path, parts: Sequence[Arrays]) -> list[Array]:
    """Write the docnos; gives (n,) int32, the whole's number of each part's documents."""
    docnos = pl.concat([part.docnos for part in parts])
    order = docnos.arg_sort().to_numpy()
    write_lines(folder / DOCNOS, docnos.gather(order))
    numbers = _inverse(order, len(order))
    ends = np.cumsum([0, *(part.documents for part in parts)])
    return [numbers[first:last] for first, last in pairwise(ends)]


def _number_terms(folder: Path, parts: Sequence[Arrays]) -> tuple[list[Array], Array]:
    """Write the terms; gives (v,) int32, the whole's number of each part's terms.

    Returns:
        Also (V + 1,) int64: where each term's postings would begin in one index.
    """
    frames = [_terms(part) for part in parts]
    whole = pl.concat(frames).group_by("term").agg(pl.sum("frequency"))
    whole = whole.sort("frequency", "term", descending=[True, False]).with_row_index("number")
    write_lines(folder / TERMS, whole["term"])
    numbers = whole.select("term", pl.col("number").cast(pl.Int32))
    found = [
        frame.join(numbers, on="term", how="left", maintain_order="left")["number"].to_numpy()
        for frame in frames
    ]
    return found, np.concatenate(([0], np.cumsum(whole["frequency"].to_numpy()))).astype(np.int64)


def _terms(part: Arrays) -> pl.DataFrame:
    """The terms of a part in their order, and in how many of its documents each is."""
    terms = lines_of(part.folder / TERMS, len(part.collection))
    frequencies = np.diff(np.asarray(part.offsets))
    return pl.DataFrame({"term": pl.Series(terms, dtype=pl.String), "frequency": frequencies})


def _inverse(numbers: Array, size: int) -> Array:
    """(size,) int32: where each number stands in ``numbers``; -1 for nowhere."""
    places = np.full(size, -1, dtype=np.int32)
    places[numbers] = np.arange(len(numbers), dtype=np.int32)
    return places


def _spread(values: Sequence[Array], numbers: Sequence[Array]) -> Array:
    """Values of each part's documents in the order of the whole."""
    dtype = np.result_type(*(value.dtype for value in values))
    spread = np.empty(sum(map(len, values)), dtype=dtype)
    for value, places in zip(values, numbers, strict=True):
        spread[places] = value
    return spread


def _collection(parts: Sequence[Numbered], offsets: Array, lengths: np.dtype) -> Array:
    """(V,) the frequency of each term in all documents.

    Weights are added up in the order of the whole's documents, since that shows in the last bits.

    Args:
        lengths: The type of documents' lengths: whole numbers or doubles.
    """
    if lengths != np.float64:
        sums = np.zeros(len(offsets) - 1, dtype=np.int64)
        for part in parts:
            sums[part.terms] += part.arrays.collection
        return sums
    found = np.zeros(len(offsets) - 1)
    for first, last, rows, _, tfs in merged_postings(parts, offsets):
        found[first:last] = np.bincount(rows, tfs, minlength=last - first)
    return found
