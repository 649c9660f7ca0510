"""Writes token weights in the layout of :mod:`.impacts`: called by :mod:`.build`."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from adducir.indexes.arrays import Array, let_go, new_array, save
from adducir.indexes.compiled import inner
from adducir.indexes.memory.impacts import (
    BLOCK,
    IMPACT_FILES,
    LARGEST,
    TYPES,
    WINDOW,
    Impacts,
    Shape,
    steps_of,
)
from adducir.indexes.memory.inverting import CHUNK_POSTINGS, Spooled

_MOST = (1 << 63) - 1


def write_impacts(spooled: Spooled, folder: Path) -> int:
    """Write all weights; returns their sum, as far as an integer of a manifest can hold it."""
    is_exact = spooled.is_whole and spooled.largest <= LARGEST
    offsets, documents = spooled.offsets, len(spooled.order)
    shape = Shape.of(offsets, documents, has_values=not is_exact)
    terms, total, placed = len(offsets) - 1, int(offsets[-1]), shape.placed - shape.columns
    greatest = np.zeros(terms, dtype=np.float32)
    for first in range(0, total, CHUNK_POSTINGS):
        some = slice(first, first + CHUNK_POSTINGS)
        np.maximum.at(greatest, spooled.renumber[spooled.terms[some]], spooled.tfs[some])
        let_go(spooled.terms, spooled.tfs)
    into: dict[str, Array] = {
        name: new_array(folder / IMPACT_FILES[name], TYPES[name], size)
        for name, size in shape.sizes(total, has_values=not is_exact).items()
    }
    steps = np.ones(terms) if is_exact else steps_of(greatest)
    lengths, occurrences, cursors = np.zeros(shape.documents), np.zeros(terms), offsets[:-1].copy()
    impacts, spool = Impacts(shape, offsets, **into), (spooled.starts, spooled.terms, spooled.tfs)
    for first, last in spooled.chunks():
        numbers = spooled.order[first:last], spooled.renumber, cursors, steps
        _scatter(first, *spool, *numbers, impacts, lengths, occurrences)
        let_go(spooled.terms, spooled.tfs, *into.values())
    edges = into["edges"].reshape(placed, shape.windows + 1)
    np.cumsum(edges, axis=1, out=edges)
    if not is_exact:
        counts = into["counts"].reshape(shape.columns, shape.blocks)
        counts[:] = np.cumsum(counts, axis=1, dtype=np.uint32) - counts
    save(folder / IMPACT_FILES["lengths"], lengths)
    save(folder / IMPACT_FILES["occurrences"], occurrences)
    save(folder / IMPACT_FILES["greatest_tfs"], greatest)
    return min(int(lengths.sum()), _MOST)


@inner
def _scatter(
    first_document: int,
    starts: Array,
    terms: Array,
    tfs: Array,
    order: Array,
    renumber: Array,
    cursors: Array,
    steps: Array,
    impacts: Impacts,
    lengths: Array,
    occurrences: Array,
) -> None:
    """Append the documents of the rows ``order``, and count the postings of windows and blocks."""
    shape = impacts.shape
    for row in range(len(order)):
        document = first_document + row
        for i in range(starts[order[row]], starts[order[row] + 1]):
            term, tf = renumber[terms[i]], np.float64(tfs[i])
            step = steps[term]
            byte: Any = min(math.ceil(tf / step), LARGEST)
            if byte * step < tf:
                byte += 1
            at = cursors[term]
            cursors[term] = at + 1
            if term < shape.columns:
                impacts.columns[term * shape.documents + document] = byte
            else:
                impacts.bytes[at - shape.in_columns] = byte
            if shape.columns <= term < shape.placed:
                impacts.places[at - shape.in_columns] = document & (WINDOW - 1)
                row_of_term = (term - shape.columns) * (shape.windows + 1)
                impacts.edges[row_of_term + document // WINDOW + 1] += 1
            elif term >= shape.placed:
                impacts.docs[at - shape.in_windows] = document
            if len(impacts.values):
                impacts.values[at] = tf
                if term < shape.columns:
                    impacts.counts[term * shape.blocks + document // BLOCK] += 1
            lengths[document] += tf
            occurrences[term] += tf
