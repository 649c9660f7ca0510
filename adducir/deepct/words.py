"""The words of a text that get weights, with their places in it.

:func:`words` breaks a text as Lucene's StandardTokenizer does (Unicode's word boundaries, UAX #29),
because the weights end in a Lucene index: "don't" and "1,000.5" are one word, "e-mail" two, and
every Han or Hiragana character is one. Unlike Lucene it gives no word for an emoji.

:func:`passages` cuts a text into parts that fit a model's input: at white space, and inside a chunk
without any (a web address, Chinese) only where the chunk alone is too long, then at BERT's basic
words. Joined, passages are the text again: white space belongs to the passage before it.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache, partial
from typing import Any, Literal, NamedTuple

import regex

# Lucene cuts a longer word into parts of this length (StandardTokenizer's maxTokenLength).
LONGEST = 255


CountPieces = Callable[[list[str]], Iterable[int]]
"""Counts the word pieces of each of some chunks of text, as if each stood between blanks."""
Unit = Literal["pieces", "words"]
_CHUNK = re.compile(r"\S+")


class Word(NamedTuple):
    """A word: ``text`` stands in the passage from ``start`` to ``end`` (characters)."""

    start: int
    end: int
    text: str


def words(text: str, *, whole: bool = True) -> list[Word]:
    """The words of a text in order, as an index has them; if not ``whole``, :func:`basic_words`."""
    if not whole:
        return basic_words(text)
    # A pattern of Unicode properties takes five times as long, and most texts need none.
    matches: Iterable[Any] = (_ASCII if text.isascii() else _UNICODE).finditer(text)
    found = [Word(match.start(), match.end(), match.group()) for match in matches]
    if any(len(word.text) > LONGEST for word in found):
        return [part for word in found for part in _parts(word)]
    return found


def basic_words(text: str) -> list[Word]:
    """The words of BERT's basic tokenisation (uncased), by which the original DeepCT looks up.

    It cuts at blanks and at every punctuation mark. A word's text, in lower case and without
    accents, may differ in length from the slice that it stands for.
    """
    from tokenizers import PreTokenizedString

    normalizer, splitter = _bert()
    cut = PreTokenizedString(text)
    cut.normalize(normalizer.normalize)
    splitter.pre_tokenize(cut)
    parts = cut.get_splits(offset_referential="original", offset_type="char")
    return [Word(start, end, part) for part, (start, end), _ in parts]


def match_key(word: str) -> str:
    """What two words must share (before stemming) to be one term: lower case, no possessive ``'s``.

    As Lucene's EnglishPossessiveFilter and LowerCaseFilter; the typographic apostrophe counts as
    the plain one, so that "don’t" is the stop word "don't".
    """
    key = word.lower()
    if not key.isascii():
        key = key.translate(_APOSTROPHES)
    return key[:-2] if key.endswith("'s") else key


def passages(
    text: str, count_pieces: CountPieces, *, length: int, unit: Unit = "pieces"
) -> list[tuple[int, int]]:
    """Where passages of at most ``length`` pieces or words, as long as possible, begin and end.

    A single word of more pieces is a passage of its own, and so is a text of white space only.
    ``count_pieces`` is not called where ``unit`` is ``words``.
    """
    if unit == "words":
        count_pieces = partial(map, count_words)
    spans = [match.span() for match in _CHUNK.finditer(text)]
    steps: list[tuple[int, int]] = []  # what is never cut: where it begins, and its pieces
    counts = count_pieces([text[start:end] for start, end in spans]) if spans else []
    for (start, end), pieces in zip(spans, counts, strict=True):
        if pieces <= length:
            steps.append((start, pieces))
            continue
        inner = basic_words(text[start:end])
        starts = list(dict.fromkeys([start, *(start + word.start for word in inner[1:])]))
        parts = [text[a:b] for a, b in zip(starts, [*starts[1:], end], strict=True)]
        steps += zip(starts, count_pieces(parts), strict=True)
    cuts, held = [0], 0
    for number, (start, pieces) in enumerate(steps):
        if number and held + pieces > length:
            cuts.append(start)
            held = 0
        held += pieces
    return list(zip(cuts, [*cuts[1:], len(text)], strict=True))


@lru_cache(maxsize=1 << 18)
def count_words(chunk: str) -> int:
    """How many words a chunk has, at least 1."""
    return max(1, len(words(chunk)))


def _parts(word: Word) -> list[Word]:
    starts = range(word.start, word.end, LONGEST)
    ends = [min(start + LONGEST, word.end) for start in starts]
    return [
        Word(start, end, word.text[start - word.start : end - word.start])
        for start, end in zip(starts, ends, strict=True)
    ]


@cache
def _bert() -> tuple[Any, Any]:
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    return BertNormalizer(lowercase=True), BertPreTokenizer()


_APOSTROPHES = str.maketrans("’＇", "''")

# What follows writes rules WB4 to WB13b of UAX #29 as one pattern. Every character takes with it
# the marks that extend it (WB4).
_MARKS = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*+"
_LETTER = r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}]" + _MARKS
_DIGIT = r"[\p{WB=Numeric}０-９]" + _MARKS
_JOINER = r"\p{WB=ExtendNumLet}" + _MARKS
_KATAKANA = r"\p{WB=Katakana}" + _MARKS
_IN_WORD = r"[\p{WB=MidLetter}\p{WB=MidNumLet}']" + _MARKS
_IN_NUMBER = r"[\p{WB=MidNum}\p{WB=MidNumLet}']" + _MARKS


def _pattern(
    opening: str, letter: str, digit: str, joiner: str, in_word: str, in_number: str
) -> str:
    """Letters and digits, joined by low lines, points and the like where these stand inside."""
    run = f"{letter}(?:(?:{in_word})?{letter})*|{digit}(?:(?:{in_number})?{digit})*"
    return f"{opening}(?:{run})(?:{run}|(?:{joiner})+)*"


# A row of joiners without a word is read once: in ASCII it is tried from its first only, else it is
# skipped as a whole. Tried from each of them, it would take time in proportion to its square.
# Groups are not possessive: Python before 3.11.5 matches such groups wrongly (gh-106052).
_ASCII = re.compile(_pattern("(?:_(?<!__)_*+)?", "[A-Za-z]", "[0-9]", "_", "[:.']", "[,;.']"))
_UNICODE = regex.compile(
    _pattern(f"(?:{_JOINER})*+", _LETTER, _DIGIT, _JOINER, _IN_WORD, _IN_NUMBER)
    + rf"|(?:{_JOINER})++(*SKIP)(*FAIL)"
    + rf"|(?:{_KATAKANA})++"
    + rf"|(?:\p{{Line_Break=SA}}{_MARKS})++"
    + rf"|[\p{{Script=Han}}\p{{Script=Hiragana}}]{_MARKS}"
)
