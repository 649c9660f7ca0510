"""Documents cut into passages whose words are terms: what examples are made of.

It depends on no reference, no judgement and no network, so that models which learn other targets,
or leave out other documents, have their passages in common.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from adducir.corpora.documents import Document, text_of
from adducir.deepct.passages import CountPieces, Unit, passages
from adducir.deepct.targets import Keys, Matcher
from adducir.deepct.words import Word

PAPER_LENGTH = 500
"""Word pieces of a passage in the DeepCT study of argument retrieval (section 3)."""
NO_TERM = 0
"""The number of a word that is no term."""


@dataclass(frozen=True)
class CutSettings:
    """How documents are cut.

    Attributes:
        text_fields: What the model reads, joined by newlines.
        length: The most that a passage holds, in ``unit``.
        overlap: How much of a passage comes again in the next.
        unit: ``pieces`` or ``words``.
        keys: How targets are found, see :mod:`adducir.deepct.targets`.
    """

    text_fields: tuple[str, ...]
    length: int = PAPER_LENGTH
    overlap: int = 0
    unit: Unit = "pieces"
    keys: Keys = "words"


class Cut(NamedTuple):
    """A passage.

    Attributes:
        number: From 0 in its document.
        text: The passage.
        terms: Of each word the number of its stem, or :data:`NO_TERM`.
        is_stop: Of each word whether it is a stop word.
        words: The words, where the passage was just cut.
        row: The number of the passage among all that are kept, where it was read from those.
    """

    number: int
    text: str
    terms: Sequence[int]
    is_stop: Sequence[bool]
    words: Sequence[Word] = ()
    row: int = 0


Cutter = Callable[[int, Document], Iterable[Cut]]
"""Gives the passages of a document, which is named by its place in the corpus, too."""


@lru_cache(maxsize=1 << 18)
def number_of(stem: str | None) -> int:
    """The number of a stem: 64 bits of a hash.

    A passage of 500 words and a query of 10 have two different stems of one number with a
    probability of 3e-16.
    """
    if stem is None:
        return NO_TERM
    digest = blake2b(stem.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


def cutter(settings: CutSettings, matcher: Matcher, count_pieces: CountPieces) -> Cutter:
    """What cuts documents as they are read.

    Args:
        count_pieces: Counts word pieces, see :mod:`adducir.deepct.passages`.
    """

    def cut(place: int, document: Document) -> Iterator[Cut]:
        del place
        text = text_of(document, settings.text_fields)
        for number, start, end in passages(
            text, count_pieces, length=settings.length, overlap=settings.overlap, unit=settings.unit
        ):
            passage = text[start:end].strip()
            found = matcher.read(passage)
            terms = [number_of(stem) for stem in found.stems]
            yield Cut(number, passage, terms, found.is_stop, found.words)

    return cut
