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
        return self.add_hash(hash(name))

    def add_hash(self, found: int) -> bool:
        """Take a hash of 64 bits, signed; whether it came before."""
        if _place(self._sorted, found) is not None or found in self._new:
            return True
        self._new.add(found)
        if len(self._new) >= max(_FEW, len(self._sorted) // 16):
            merged = np.concatenate([np.frombuffer(self._sorted, dtype=np.int64), [*self._new]])
            self._sorted = array("q", np.sort(merged, kind="stable").tobytes())
            self._new.clear()
        return False


class Numbered:
    """Numbers what differs in the order in which it comes, at about twenty bytes each."""

    def __init__(self) -> None:
        self._hashes, self._numbers = array("q"), array("q")
        self._new: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._hashes) + len(self._new)

    def number(self, found: int) -> int:
        """The number of a hash of 64 bits, signed: that of its first, or the next one."""
        place = _place(self._hashes, found)
        if place is not None:
            return self._numbers[place]
        number = self._new.setdefault(found, len(self))
        if len(self._new) >= max(_FEW, len(self._hashes) // 16):
            self._merge()
        return number

    def _merge(self) -> None:
        hashes, numbers = (
            np.concatenate([np.frombuffer(old, dtype=np.int64), np.array([*new], dtype=np.int64)])
            for old, new in (
                (self._hashes, self._new.keys()),
                (self._numbers, self._new.values()),
            )
        )
        order = np.argsort(hashes, kind="stable")
        self._hashes = array("q", hashes[order].tobytes())
        self._numbers = array("q", numbers[order].tobytes())
        self._new.clear()


def _place(hashes: "array[int]", found: int) -> int | None:
    """Where a number stands among sorted ones; None if it does not."""
    place = bisect_left(hashes, found)
    return place if place < len(hashes) and hashes[place] == found else None
