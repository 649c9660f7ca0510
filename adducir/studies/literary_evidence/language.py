"""Whether a text is English, by its function words.

RELiC asks langid; here no model is needed, since texts of a sentence or more are told apart by the
share of the commonest English words (docs/quotations.md has the shares that were measured).
"""

import re

_WORD = re.compile(r"[^\W\d_]+")
_COMMON_TEXT = """
    the of and to a in that it was i is he his with as for you had be not her at on but she him
    by have this which my so from all or me they were no an are there if we would when their
    been who your has will what one than more its some them could do very into out up our then
    any said must only upon should these those such did other about how may can before now
    after most
"""
_COMMON = frozenset(_COMMON_TEXT.split())
"""Some words, such as "me" or "has", are words of other languages too; the share decides."""
LEAST_SHARE = 0.25
_LEAST_WORDS = 12


def english_share(text: str) -> float:
    """The share of a text's words that are among the commonest of English; 0 without words."""
    words = _WORD.findall(text.lower())
    return sum(word in _COMMON for word in words) / len(words) if words else 0.0


def is_english(text: str) -> bool:
    """Whether a text passes for English; one of fewer than 12 words does, if its letters are Latin.

    So few words decide nothing: names and titles would fail.
    """
    words = _WORD.findall(text.lower())
    if len(words) < _LEAST_WORDS:
        return all(letter < "ɐ" for word in words for letter in word)
    return english_share(text) >= LEAST_SHARE
