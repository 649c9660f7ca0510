"""The words of answers, and which of them are common.

Words are those of KILT's evaluation (``kilt/eval_downstream.py``, after SQuAD's): lower case, the
32 punctuation marks of ASCII deleted, ``a``, ``an`` and ``the`` deleted, cut at white space. So
``don't`` is the word ``dont``, as in the Hindsight paper's lists of common words.
"""

import re
import string
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from adducir.core.errors import UsageError

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:an?|the)\b")


@lru_cache(maxsize=1 << 12)
def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, in its order."""
    return tuple(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def common_words(texts: Iterable[str], mass: float) -> tuple[str, ...]:
    """The most frequent words of texts, most frequent first, that make up a share of all words.

    Words of one frequency stand in alphabetical order. The word that reaches the share is the last
    one; the Hindsight paper (appendix A.2) leaves that open.

    Args:
        texts: The training targets.
        mass: The share, 0 to 1: the paper has .5 for Wizard of Wikipedia (121 words), .33 for
            MS MARCO NLGen (55 words).

    Raises:
        UsageError: ``mass`` is no share.
    """
    if not 0 <= mass <= 1:
        raise UsageError(f"the share of common words must be 0 to 1, not {mass}.")
    counts = Counter(word for text in texts for word in words_of(text))
    wanted, reached = mass * counts.total(), 0
    found: list[str] = []
    for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if reached >= wanted:
            break
        found.append(word)
        reached += count
    return tuple(found)
