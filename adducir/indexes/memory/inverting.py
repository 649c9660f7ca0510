"""From documents as term numbers to postings and back-references, block by block.

While documents come in, each block is reduced to (document, term, frequency) and put on disk.
When all are in, terms and documents get their final numbers, and one counting sort over the blocks
fills the postings. Memory holds one block, and numbers for each document and term.
"""

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.memory.compiled import kernel


@kernel
def distinct(
    begins: Array,
    ends: Array,
    tokens: Array,
    counts: Array,
    seen: Array,
    out_terms: Array,
    out_tfs: Array,
    out_starts: Array,
) -> None:
    """Reduce each document's tokens to distinct terms with frequencies.

    Args:
        begins: (n,) where each document's tokens begin.
        ends: (n,) where they end.
        tokens: Term numbers.
        counts: (V,) int32 zeros, left as zeros: room to count in.
        seen: (longest document,) int32: room for a document's terms.
        out_terms: int32, written: distinct terms of each document, in order of appearance.
        out_tfs: int32, written: their frequencies.
        out_starts: (n + 1,) int64, written: where each document begins in ``out_terms``.
    """
    place = 0
    out_starts[0] = 0
    for document in range(len(begins)):
        found = 0
        for i in range(begins[document], ends[document]):
            term = tokens[i]
            if counts[term] == 0:
                seen[found] = term
                found += 1
            counts[term] += 1
        for i in range(found):
            term = seen[i]
            out_terms[place] = term
            out_tfs[place] = counts[term]
            counts[term] = 0
            place += 1
        out_starts[document + 1] = place


@kernel
def gather(
    starts: Array,
    terms: Array,
    tfs: Array,
    order: Array,
    renumber: Array,
    out_terms: Array,
    out_tfs: Array,
    out_starts: Array,
) -> None:
    """Take documents in ``order``, with renumbered terms, each document's terms ascending."""
    place = 0
    out_starts[0] = 0
    for row in range(len(order)):
        first, last = starts[order[row]], starts[order[row] + 1]
        size = last - first
        keys = np.empty(size, dtype=np.int64)  # a term, and where it is in the document
        for i in range(size):
            keys[i] = (np.int64(renumber[terms[first + i]]) << 32) | i
        keys.sort()
        for i in range(size):
            out_terms[place + i] = keys[i] >> 32
            out_tfs[place + i] = tfs[first + (keys[i] & 0xFFFFFFFF)]
        place += size
        out_starts[row + 1] = place


@kernel
def scatter(
    first_document: int,
    starts: Array,
    terms: Array,
    tfs: Array,
    cursors: Array,
    docs: Array,
    out_tfs: Array,
    lengths: Array,
    collection: Array,
) -> None:
    """Append the documents of a block to the postings; ``cursors`` (V,) move on.

    Their frequencies are added to their ``lengths`` (N,) and to the terms' ``collection`` (V,).
    """
    for row in range(len(starts) - 1):
        for i in range(starts[row], starts[row + 1]):
            term = terms[i]
            place = cursors[term]
            docs[place] = first_document + row
            out_tfs[place] = tfs[i]
            cursors[term] = place + 1
            lengths[first_document + row] += tfs[i]
            collection[term] += tfs[i]
