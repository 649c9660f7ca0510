"""Windows: the critic's sentences on both sides of a quotation, and what disqualifies one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from adducir.studies.literary_evidence.alignment import share_words
from adducir.studies.literary_evidence.blocks import Block
from adducir.studies.literary_evidence.language import is_english
from adducir.studies.literary_evidence.rules import RELIC, Rules
from adducir.studies.literary_evidence.similarity import is_part, normalise, ratio, share_run
from adducir.studies.literary_evidence.sources import Source

_FRAGMENT = 3
"""Words of the critic's beside a quotation that are worth keeping."""
_BEFORE = " \t\"'“‘([{—–-…*_"
_BEHIND = " \t\"'”’)]}—–-…*_.,;:!?"


@dataclass(frozen=True, slots=True)
class Window:
    """One quotation in its critical context.

    Attributes:
        book: Name of the primary source.
        work: Name of the work of criticism.
        left: The critic's sentences before the quotation, the nearest last, which may be the
            beginning of the one that the quotation stands in.
        start: First sentence of the quotation in the book.
        length: Sentences of the quotation, or of what of it is sought.
        right: The critic's sentences behind it; the first may be the rest of one.
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


def windows_of(
    block: Block, work: Source, book: str, texts: Sequence[str], rules: Rules
) -> Iterator[Window]:
    """The windows of a block: one, or by the strict rules one for each part of a long one.

    By the strict rules the critic's words beside a quotation in the same sentence stay in the
    context, all of a quotation is masked though a part of it is sought, and a side ends where it
    repeats that part.
    """
    sentences, count = work.sentences, rules.context
    left = sentences[max(0, block.first - count) : block.first]
    right = sentences[block.last : block.last + count]
    quoted = " ".join(sentences[block.first : block.last])
    place = (block.first, quoted)
    if rules.name == RELIC:
        yield Window(book, work.name, tuple(left), block.start, block.length, tuple(right), *place)
        return
    before = sentences[block.first][: block.head].rstrip(_BEFORE)
    behind = sentences[block.last - 1][block.tail :].lstrip(_BEHIND) if block.tail else ""
    around = " ".join(texts[max(0, block.start - 1) : block.end + 1])
    nearest = _with(before, left[::-1], count, around)
    following = _with(behind, right, count, around)
    past = min(block.end, block.start + rules.parts * rules.max_sentences)
    for start in range(block.start, past, rules.max_sentences):
        length = min(rules.max_sentences, past - start)
        passage = " ".join(texts[start : start + length])
        left = _unrepeated(nearest, passage, rules.echo)[::-1]
        right = _unrepeated(following, passage, rules.echo)
        yield Window(book, work.name, tuple(left), start, length, tuple(right), *place)


def _with(fragment: str, sentences: Sequence[str], count: int, quoted: str) -> list[str]:
    """The sentences of one side, nearest first, with the fragment that is nearest of all.

    A fragment that has words of the book's in a row is the rest of the quotation, which the critic
    changed somewhere.
    """
    own = len(fragment.split()) >= _FRAGMENT
    kept = [fragment] if own and not share_words(normalise(fragment), quoted, _FRAGMENT) else []
    return [*kept, *sentences][:count]


def _unrepeated(sentences: Sequence[str], passage: str, words: int) -> list[str]:
    """The sentences before the first one that has so many of the passage's words in a row."""
    kept: list[str] = []
    for sentence in sentences:
        if share_words(normalise(sentence), passage, words):
            break
        kept.append(sentence)
    return kept


def error_of(window: Window, book: Sequence[str], rules: Rules) -> str | None:
    """Why a window is to be dropped, or None.

    Args:
        book: The sentences of its book, normalised.

    Returns:
        ``long`` (more sentences than candidates have), ``bare`` (no context at all), ``language``
        (the context is not English), ``echo`` (the context repeats the quotation), or None.
    """
    if window.length > rules.max_sentences:
        return "long"
    if not window.left and not window.right:
        return "bare"
    if not is_english(window.context):
        return "language"
    return "echo" if rules.name == RELIC and repeats(window, book, rules) else None


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
            if any(ratio(sentence, quoted) >= rules.min_similarity for quoted in quotation):
                return True
            if len(sentence) >= rules.echo and is_part(
                sentence, whole, rules.echo, rules.min_similarity
            ):
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
