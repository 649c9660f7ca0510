"""What a collection shows the formulas of retrieval models."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[tuple[int], np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Statistics:
    """A collection of R terms and D documents. Without a document, all of it is empty.

    Attributes:
        documents: N, the documents, those without a term included.
        filled: The documents that have a term.
        tokens: The sum of all lengths.
        frequencies: (R,) n: the documents that hold each term, 1 or more.
        occurrences: (R,) how often each term occurs.
        lengths: (D,) dl: terms of each document.
    """

    documents: int
    filled: int
    tokens: int
    frequencies: "Array"
    occurrences: "Array"
    lengths: "Array"


def relative_lengths(
    statistics: Statistics, b: float, documents: int, factor: float = 1.0
) -> "Array":
    """(D,) factor (1 - b + b dl / avgdl); avgdl counts as 1 where no document has a term."""
    average = statistics.tokens / documents if statistics.tokens else 1.0
    relative: Array = factor * (1 - b + b * statistics.lengths / average)
    return relative


def logarithms(frequencies: "Array", of: "Callable[[Array], Array]") -> "Array":
    """(R,) ln(of(n)) for each n in ``frequencies``.

    The logarithm is the C library's, as Python's; NumPy's may differ in the last bit.
    """
    import numpy as np

    counts = np.arange(1, int(frequencies.max(initial=0)) + 1)
    logs = np.array(list(map(math.log, of(counts).tolist())), dtype=np.float64)
    found: Array = logs[frequencies - 1]
    return found
