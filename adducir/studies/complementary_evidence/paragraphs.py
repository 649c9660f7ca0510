"""Paragraphs with titles, on the disk: what pools are searched in."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from adducir.core.names import Numbered, TextFile


class Paragraphs:
    """Paragraphs, each under a title of its own, numbered as they were added.

    The texts lie in a file; some thirty bytes of each paragraph are held in memory.

    Args:
        folder: Where the file is; by default where the system has temporary files.
        paragraphs: Titles and texts to begin with.
    """

    def __init__(
        self, folder: Path | None = None, paragraphs: Iterable[tuple[str, str]] = ()
    ) -> None:
        self._texts, self._titles = TextFile(folder), Numbered()
        self.add(paragraphs)

    def add(self, paragraphs: Iterable[tuple[str, str]]) -> None:
        """Take paragraphs; of a title the first counts. A title has no line break."""
        for title, text in paragraphs:
            if self._titles.number(hash(title)) == len(self._texts):
                self._texts.append(f"{title}\n{text}")

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
        number = self._titles.find(hash(title))
        return number if number is not None and self[number][0] == title else None
