"""How alike two sentences are, on text brought into one shape.

RELiC takes RapidFuzz's QRatio (Thai et al., appendix A): 200 * LCS / (len(a) + len(b)), where LCS
is the longest common subsequence of characters. QRatio used to lower-case and to blank out
punctuation by itself; now that is the caller's part, and here done once a sentence.
"""

import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def normalise(text: str) -> str:
    """Lower case, letters and digits of any script, and one blank for all else between them."""
    from rapidfuzz.utils import default_process

    return " ".join(default_process(text).split())


def normalised(texts: Sequence[str]) -> list[str]:
    """All texts as :func:`normalise` makes them."""
    return [normalise(text) for text in texts]


def count_words(text: str) -> int:
    """Words, punctuation not counted; with a hyphen or apostrophe inside, one word."""
    return sum(1 for _ in _WORD.finditer(text))


def ratio(first: str, second: str) -> float:
    """RapidFuzz's QRatio of two normalised texts, 0 to 100; 0 where one is empty."""
    from rapidfuzz.fuzz import QRatio

    return QRatio(first, second)


def share_run(first: str, second: str, length: int) -> bool:
    """Whether two texts have a common substring of ``length`` or more characters.

    Takes time in proportion to the texts, since only the existence of a run is asked.
    """
    short, long = sorted((first, second), key=len)
    if len(short) < length:
        return False
    runs = {short[start : start + length] for start in range(len(short) - length + 1)}
    return any(long[start : start + length] in runs for start in range(len(long) - length + 1))


def is_part(part: str, whole: str, length: int, alike: float) -> bool:
    """Whether ``part`` stands, all of it, inside ``whole``.

    Args:
        whole: The normalised text it may be cut from.
        length: A text shorter than this must be there word by word, and have two words or more.
        alike: The least ratio of a longer one and the piece of ``whole`` that is nearest to it.
    """
    if len(part) < length:
        return " " in part and f" {part} " in f" {whole} "
    if len(part) > len(whole):
        return False
    from rapidfuzz.fuzz import partial_ratio

    return partial_ratio(part, whole, score_cutoff=alike) >= alike
