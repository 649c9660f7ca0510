"""Lucene's one-byte document lengths (``SmallFloat.intToByte4`` and ``byte4ToInt``).

Lengths up to 40 are exact; above, four significant bits are kept, rounded down: 57 becomes 56, 500
becomes 472, 2,000 becomes 1,944.
"""

import numpy as np

from adducir.indexes.arrays import Array

_EXACT = 24  # 255 less the code of the greatest int


def _decoded(code: int) -> int:
    rest = code - _EXACT
    if rest < 0:
        return code
    bits, shift = rest & 7, (rest >> 3) - 1
    return _EXACT + (bits if shift < 0 else (bits | 8) << shift)


LENGTHS: Array = np.array([_decoded(code) for code in range(256)], dtype=np.int64)
"""(256,) the length that each byte stands for, ascending."""


def norms_of(lengths: Array) -> Array:
    """The byte of each length: the greatest whose length is not above it.

    Args:
        lengths: Numbers of tokens, 0 or more; fractions are cut off.

    Returns:
        uint8, as long as ``lengths``.
    """
    whole = np.asarray(lengths).astype(np.int64)
    codes: Array = (np.searchsorted(LENGTHS, whole, side="right") - 1).astype(np.uint8)
    return codes
