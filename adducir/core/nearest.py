"""The word that was probably meant."""

import difflib
from collections.abc import Iterable


def nearest(word: str, words: Iterable[str]) -> str:
    """``; did you mean `x`?`` for the word of ``words`` most like ``word``, else nothing."""
    folded = {_folded(other): other for other in sorted(words, reverse=True)}
    found = difflib.get_close_matches(_folded(word), folded, n=1, cutoff=0.5)
    return f"; did you mean `{folded[found[0]]}`?" if found else ""


def _folded(word: str) -> str:
    return word.casefold().replace("-", "_").replace(" ", "_")
