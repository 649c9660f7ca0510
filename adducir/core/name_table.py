"""Where names stand among many, at sixteen bytes a name, in memory or in a file."""

from array import array
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

Digests = NDArray[np.uint64]


def digest_of(name: str) -> int:
    """64 bits of a BLAKE2b digest: the same in each process and version of Python."""
    found = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(found, "little")


class NameTable:
    """Finds the numbers of names by binary search.

    The names themselves are not kept: whoever asks compares with the name at a number, since two
    may have one digest.

    Args:
        table: (2, n) uint64: digests, ascending, and the number of each.
    """

    def __init__(self, table: NDArray[Any]) -> None:
        self.table = table
        self._digests, self._numbers = np.asarray(table)  # a mapped array's own class is slow

    @classmethod
    def of_digests(cls, digests: "array[int] | Digests") -> "NameTable":
        """The table of names by their digests; the numbers are their places here."""
        found = np.asarray(digests, dtype=np.uint64)
        order = np.argsort(found, kind="stable")
        return cls(np.stack([found[order], order.astype(np.uint64)]))

    @classmethod
    def of(cls, names: Iterable[str]) -> "NameTable":
        """The table of names, which are numbered from 0 on."""
        return cls.of_digests(array("Q", map(digest_of, names)))

    def numbers(self, name: str) -> list[int]:
        """The numbers that a name may have, hardly ever more than one; ascending."""
        digests, wanted = self._digests, np.uint64(digest_of(name))
        first = end = int(digests.searchsorted(wanted))
        while end < len(digests) and digests[end] == wanted:
            end += 1
        found: list[int] = self._numbers[first:end].tolist()
        return found
