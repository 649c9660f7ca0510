"""Paragraphs with titles, on the disk: what pools are searched in."""

from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adducir.core.duplicates import Seen
from adducir.core.text_file import TextFile


class Paragraphs:
    """Paragraphs, each under a title of its own, numbered as they were added.

    The texts lie in a file; some forty bytes of each paragraph are held in memory.

    Args:
        folder: Where the file is; by default where the system has temporary files.
        paragraphs: Titles and texts to begin with.
    """

    def __init__(
        self, folder: Path | None = None, paragraphs: Iterable[tuple[str, str]] = ()
    ) -> None:
        self._texts = TextFile(folder)
        self._seen = Seen()
        self._hashes = array("q")
        self.add(paragraphs)

    def add(self, paragraphs: Iterable[tuple[str, str]]) -> None:
        """Take paragraphs; of a title the first counts. A title has no line break."""
        for title, text in paragraphs:
            if not self._seen.add(title):
                self._texts.append(f"{title}\n{text}")
                self._hashes.append(hash(title))
        self.__dict__.pop("_order", None)

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def searched(self) -> Sequence[str]:
        """Title and text of each."""
        return self._texts

    def __getitem__(self, number: int) -> tuple[str, str]:
        """The title and the text of a paragraph."""
        title, _, text = self._texts[number].partition("\n")
        return title, text

    def number(self, title: str) -> int | None:
        """The number of the paragraph under a title."""
        hashes, wanted = np.frombuffer(self._hashes, dtype=np.int64), hash(title)
        place = int(np.searchsorted(hashes, wanted, sorter=self._order)) if len(self) else 0
        while place < len(self) and hashes[self._order[place]] == wanted:
            number = int(self._order[place])
            if self[number][0] == title:
                return number
            place += 1
        return None

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(np.frombuffer(self._hashes, dtype=np.int64), kind="stable")
