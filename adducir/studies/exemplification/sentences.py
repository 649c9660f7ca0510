"""The sentences of a long text, cut only where somebody looks.

Few sentences of a book hold an example. So paragraphs are cut into sentences when they are first
asked for, which makes extraction many times faster than cutting whole books.
"""

from bisect import bisect_right
from collections.abc import Iterator

from adducir.corpora.sentences import paragraph_bounds, sentence_bounds

Bounds = tuple[int, int]
"""The first and past-the-last character of a piece of the text."""


class Sentences:
    """The sentences of one text, by place.

    Args:
        text: The text; all places are offsets in it.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.paragraphs = list(paragraph_bounds(text))
        self._starts = [start for start, _ in self.paragraphs]
        self._cut: dict[int, list[Bounds]] = {}

    def paragraph_at(self, place: int) -> int:
        """The number of the paragraph that holds this place, or else of the last before it."""
        return bisect_right(self._starts, place) - 1

    def of_paragraph(self, number: int) -> list[Bounds]:
        """The sentences of one paragraph."""
        if number not in self._cut:
            start, end = self.paragraphs[number]
            bounds = sentence_bounds(self.text[start:end])
            self._cut[number] = [(start + first, start + past) for first, past in bounds]
        return self._cut[number]

    def at(self, place: int) -> Bounds:
        """The sentence that holds this place."""
        sentences = self.of_paragraph(self.paragraph_at(place))
        return sentences[bisect_right(sentences, (place, len(self.text))) - 1]

    def within(self, start: int, end: int) -> list[Bounds]:
        """The sentences between two places; the first and the last may be parts."""
        pieces = []
        for first, past in self.after(start):
            if first >= end:
                break
            if self.text[first : min(end, past)].strip():
                pieces.append((first, min(end, past)))
        return pieces

    def before(self, place: int) -> Iterator[Bounds]:
        """The sentences left of a place, nearest first; the first may be a part of one."""
        for number in range(self.paragraph_at(place), -1, -1):
            for first, past in reversed(self.of_paragraph(number)):
                if first < place and self.text[first : min(past, place)].strip():
                    yield first, min(past, place)

    def after(self, place: int) -> Iterator[Bounds]:
        """The sentences right of a place, nearest first; the first may be a part of one."""
        for number in range(max(0, self.paragraph_at(place)), len(self.paragraphs)):
            for first, past in self.of_paragraph(number):
                if past > place and self.text[max(first, place) : past].strip():
                    yield max(first, place), past
