"""Which of many names come twice, at eight bytes a name."""

from array import array

import numpy as np


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
