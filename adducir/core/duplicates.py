"""Which of many names come twice, at eight bytes a name."""

from array import array
from bisect import bisect_left

import numpy as np

_FEW = 1 << 15


class Names:
    """Takes names one by one, and shows at the end which came twice."""

    def __init__(self) -> None:
        self._hashes = array("q")

    def add(self, name: str) -> None:
        """Take a name."""
        self._hashes.append(hash(name))

    def suspects(self) -> frozenset[int]:
        """The hashes of the names that came twice; hardly ever that of two names that differ."""
        hashes = np.sort(np.frombuffer(self._hashes, dtype=np.int64))
        return frozenset(hashes[1:][hashes[1:] == hashes[:-1]].tolist())


class Seen:
    """Which names came before, known at once, at about ten bytes a name: by their hashes."""

    def __init__(self) -> None:
        self._sorted = array("q")
        self._new: set[int] = set()

    def add(self, name: str) -> bool:
        """Take a name; whether it came before. Hardly ever true of one that did not."""
        found = hash(name)
        place = bisect_left(self._sorted, found)
        known = place < len(self._sorted) and self._sorted[place] == found
        if known or found in self._new:
            return True
        self._new.add(found)
        if len(self._new) >= max(_FEW, len(self._sorted) // 16):
            merged = np.concatenate([np.frombuffer(self._sorted, dtype=np.int64), [*self._new]])
            self._sorted = array("q", np.sort(merged, kind="stable").tobytes())
            self._new.clear()
        return False
