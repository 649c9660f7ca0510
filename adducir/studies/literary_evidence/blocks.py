"""Block quotations: consecutive matches joined, and grown by what was quoted less exactly.

RELiC joins matches that are consecutive in the criticism and in the book, then lets a block grow
by a neighbour that shares 15 characters or more in a row with the neighbour in the book (Thai et
al., appendix A). Two more cases belong to the quotation, so that nothing of it stays in the
context: the rest of an elided sentence, and a sentence of the book that the critic's punctuation
joined to the one before.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from adducir.studies.literary_evidence.matching import Match
from adducir.studies.literary_evidence.rules import Rules
from adducir.studies.literary_evidence.similarity import is_part, ratio, share_run


@dataclass(slots=True)
class Block:
    """A quotation: where it stands in the criticism, and where in the book; ends exclusive.

    Attributes:
        first: First sentence of the criticism.
        last: Past the last sentence of the criticism.
        start: First sentence of the book.
        end: Past the last sentence of the book.
        book: The book's number.
        matched: Matches in it; other sentences were joined by growth.
        head: The character of its first sentence of criticism that the quotation begins at.
        tail: The character of the last one that it ends before; None: the sentence's end.
    """

    first: int
    last: int
    start: int
    end: int
    book: int
    matched: int = 1
    head: int = 0
    tail: int | None = None

    @property
    def length(self) -> int:
        """Sentences of the book."""
        return self.end - self.start


def join_matches(matches: Sequence[Match]) -> list[Block]:
    """Join matches that follow each other in the criticism and in the book.

    Args:
        matches: Without overlap, in the order of the criticism.
    """
    blocks: list[Block] = []
    for match in matches:
        last = blocks[-1] if blocks else None
        if last and (last.last, last.end, last.book) == (match.first, match.sentence, match.book):
            last.last, last.end, last.matched = match.last, match.sentence + 1, last.matched + 1
        else:
            blocks.append(
                Block(match.first, match.last, match.sentence, match.sentence + 1, match.book)
            )
    return blocks


def grow_blocks(
    blocks: Sequence[Block], work: Sequence[str], books: Sequence[Sequence[str]], rules: Rules
) -> list[Block]:
    """Let blocks grow on both sides and join those that meet.

    Args:
        blocks: In the order of the criticism.
        work: The criticism's sentences, normalised.
        books: The sentences of each book, normalised.
    """
    grown: list[Block] = []
    for at, block in enumerate(blocks):
        floor = grown[-1].last if grown else 0
        ceiling = blocks[at + 1].first if at + 1 < len(blocks) else len(work)
        _grow(block, work, books[block.book], (floor, ceiling), rules)
        if grown and _meet(grown[-1], block):
            before = grown[-1]
            before.last, before.end = block.last, max(before.end, block.end)
            before.matched += block.matched
        else:
            grown.append(block)
    return grown


def _meet(before: Block, after: Block) -> bool:
    """Whether a block goes on where the other ended, or within its last sentence."""
    follows = after.start in (before.end, before.end - 1)
    return before.last == after.first and before.book == after.book and follows


def _grow(
    block: Block, work: Sequence[str], book: Sequence[str], bounds: tuple[int, int], rules: Rules
) -> None:
    """Move the ends of a block outward, as far as they fit and no other block stands."""
    floor, ceiling = bounds
    while block.first > floor:
        near = work[block.first - 1]
        if block.start and _belongs(near, book[block.start - 1], rules):
            block.first, block.start = block.first - 1, block.start - 1
        elif is_part(near, book[block.start], rules.run, rules.min_similarity):
            block.first -= 1
        else:
            break
    while block.last < ceiling:
        near = work[block.last]
        if block.end < len(book) and _belongs(near, book[block.end], rules):
            block.last, block.end = block.last + 1, block.end + 1
        elif is_part(near, book[block.end - 1], rules.run, rules.min_similarity):
            block.last += 1
        else:
            break
    before = book[block.start - 1] if block.start else ""
    behind = book[block.end] if block.end < len(book) else ""
    if _is_joined_on(before, work[block.first], rules, work[block.first].startswith(before)):
        block.start -= 1
    if _is_joined_on(behind, work[block.last - 1], rules, work[block.last - 1].endswith(behind)):
        block.end += 1


def _is_joined_on(sentence: str, edge: str, rules: Rules, at_the_edge: bool) -> bool:
    """Whether a sentence of the book stands inside the critic's; a short one must be its edge."""
    placed = at_the_edge or len(sentence) >= rules.run
    return bool(sentence) and placed and is_part(sentence, edge, rules.run, rules.min_similarity)


def _belongs(near: str, expected: str, rules: Rules) -> bool:
    """Whether a neighbour in the criticism quotes the neighbour in the book."""
    return ratio(near, expected) >= rules.min_similarity or share_run(near, expected, rules.run)
