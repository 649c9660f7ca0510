"""Documents longer than a model reads: scored by their first passage, the best one, or the mean.

Dai and Callan, Deeper Text Understanding for IR with Contextual Neural Language Modeling, SIGIR
2019: FirstP, MaxP, and the mean in the place of their SumP, which favours long documents.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from adducir.deepct.passages import passages
from adducir.rerankers.recipe import PassagesPart

CountPieces = Callable[[list[str]], list[int]]


def parts_of(text: str, part: PassagesPart, count_pieces: CountPieces) -> list[str]:
    """The passages of a document that are scored: one at least, which may be empty.

    Args:
        count_pieces: Counts the model's tokens; called only where lengths are in pieces.
    """
    cut = part.cut()
    if cut is None:
        return [text]
    length, overlap = cut
    found = passages(text, count_pieces, length=length, overlap=overlap, unit=part.unit)
    if part.take == "first":
        found = found[:1]
    return [text[one.start : one.end].strip() for one in found]


def united(
    scores: NDArray[np.float64], counts: Sequence[int], part: PassagesPart
) -> NDArray[np.float64]:
    """The scores of documents.

    Args:
        scores: (n,) of the passages of all documents, one document after another.
        counts: How many passages each document has.
    """
    if not len(counts):
        return np.zeros(0)
    starts = np.cumsum(counts) - np.asarray(counts)
    if part.take == "mean":
        means: NDArray[np.float64] = np.add.reduceat(scores, starts) / np.asarray(counts)
        return means
    greatest: NDArray[np.float64] = np.maximum.reduceat(scores, starts)
    return greatest
