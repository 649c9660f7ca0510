"""From lines to paragraphs: wrapped lines and broken words joined, emphasis marks taken off."""

import re
from collections import Counter

_BLANK = re.compile(r"\n\s*\n")
_WORD = r"[^\W\d_]+"
_WORDS = re.compile(rf"{_WORD}(?:-{_WORD})*")
_BREAK = re.compile(rf"(?<![-\w])({_WORD})-[ \t]*\n[ \t]*({_WORD})")
_GAP = re.compile(rf"(?<![-\w])({_WORD})-[ ]({_WORD})")
_EMPHASIS = re.compile(r"(?<![^\W_])_([^_]{1,400})_(?![^\W_])")
_HEADING = re.compile(
    r"(?:(?:chapter|volume|vol\.|book|part)\s+(?:[ivxlcdm]+|\d+|the\s+\w+|one|two|three|four)\b"
    r".{0,80}|[ivxlcdm]{1,7}\.?|\d{1,3}\.?)",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST_HEADING = 100
_PAIRING = frozenset(("and", "or", "nor", "to", "but"))
"""After "pre-" such a word is no rest of a broken one: "pre- and post-war"."""


def paragraphs(text: str) -> list[str]:
    r"""The paragraphs of a plain text as single lines; headings are left out.

    Args:
        text: Plain text with ``\n`` as line break and blank lines between paragraphs.
    """
    joined = (" ".join(part.split()) for part in _BLANK.split(rejoin_breaks(text)))
    plain = (_EMPHASIS.sub(r"\1", part) for part in joined)
    return [part for part in plain if part and not is_heading(part)]


def is_heading(paragraph: str) -> bool:
    """Whether a paragraph is a chapter's number or title: no sentence, and nobody quotes it."""
    if len(paragraph) > _LONGEST_HEADING:
        return False
    if _HEADING.fullmatch(paragraph):
        return True
    letters = [letter for letter in paragraph if letter.isalpha()]
    shouted = len(letters) > 1 and all(letter.isupper() for letter in letters)
    return not letters or (shouted and paragraph[-1] not in "!?\"”’'")


def rejoin_breaks(text: str) -> str:
    r"""Join the words that a line's end, or a scanner, broke in two.

    Whether ``drawing-\nroom`` is one word or two cannot be seen from it. The text itself
    determines: the hyphen stays where the hyphenated form is the more frequent elsewhere, or where
    neither form occurs and both halves are words of their own. A hyphen and a blank inside a line
    (``worth- lessness``) is rejoined only where the halves are not both words.
    """
    whole = _GAP.sub(" ", _BREAK.sub(" ", text))
    known = Counter(word.lower() for word in _WORDS.findall(whole))

    def joined(match: re.Match[str], kept: str) -> str:
        first, second = match[1], match[2]
        one, two = known[(first + second).lower()], known[f"{first}-{second}".lower()]
        if one or two:
            return first + second if one >= two else f"{first}-{second}"
        if known[first.lower()] and known[second.lower()]:
            return kept
        return first + second

    def at_line_end(match: re.Match[str]) -> str:
        return joined(match, f"{match[1]}-{match[2]}")

    def inside_line(match: re.Match[str]) -> str:
        return match[0] if match[2] in _PAIRING else joined(match, match[0])

    return _GAP.sub(inside_line, _BREAK.sub(at_line_end, text))
