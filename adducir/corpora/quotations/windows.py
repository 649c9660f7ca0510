"""Windows: the critic's sentences on both sides of a quotation, and what disqualifies one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adducir.corpora.quotations.language import is_english
from adducir.corpora.quotations.rules import Rules
from adducir.corpora.quotations.similarity import is_part, normalise, ratio, share_run


@dataclass(frozen=True, slots=True)
class Window:
    """One quotation in its critical context.

    Attributes:
        book: Name of the primary source.
        work: Name of the work of criticism.
        left: The critic's sentences before the quotation, the nearest last.
        start: First sentence of the quotation in the book.
        length: Sentences of the quotation.
        right: The critic's sentences behind it.
        place: The sentence of the criticism that the quotation began at.
        quoted: What stood in the criticism; the book's own sentences take its place.
    """

    book: str
    work: str
    left: tuple[str, ...]
    start: int
    length: int
    right: tuple[str, ...]
    place: int
    quoted: str

    @property
    def context(self) -> str:
        """Both sides as one text."""
        return " ".join((*self.left, *self.right))


def fault_of(window: Window, book: Sequence[str], rules: Rules) -> str | None:
    """Why a window is to be dropped, or None.

    Args:
        window: The window.
        book: The sentences of its book, normalised.
        rules: Which windows are wanted.

    Returns:
        ``long`` (more sentences than candidates have), ``bare`` (no context at all), ``language``
        (the context is not English), ``echo`` (the context repeats the quotation), or None.
    """
    if window.length > rules.longest:
        return "long"
    if not window.left and not window.right:
        return "bare"
    if not is_english(window.context):
        return "language"
    return "echo" if repeats(window, book, rules) else None


def repeats(window: Window, book: Sequence[str], rules: Rules) -> bool:
    """Whether the quotation can still be read in its own context.

    It can if a sentence of the context is as alike to one of its sentences as a match must be, if
    a longer one stands inside it, or if a side has a long run of characters in common with it.
    """
    quotation = book[window.start : window.start + window.length]
    whole = " ".join(quotation)
    for side in (window.left, window.right):
        if share_run(normalise(" ".join(side)), whole, rules.echo):
            return True
        for sentence in map(normalise, side):
            if any(ratio(sentence, quoted) >= rules.alike for quoted in quotation):
                return True
            if len(sentence) >= rules.echo and is_part(sentence, whole, rules.echo, rules.alike):
                return True
    return False


def without_duplicates(windows: Iterable[Window], alike: float) -> tuple[list[Window], int]:
    """Drop windows that come again: another copy or edition of the criticism.

    Two windows are one if they quote the same sentences and their contexts are as alike as a
    match must be. The first stays.

    Returns:
        The others, and how many were dropped.
    """
    kept: list[Window] = []
    contexts: dict[tuple[str, int, int], list[str]] = {}
    count = 0
    for window in windows:
        context = normalise(window.context)
        same = contexts.setdefault((window.book, window.start, window.length), [])
        if any(ratio(context, other) >= alike for other in same):
            count += 1
            continue
        same.append(context)
        kept.append(window)
    return kept, count
