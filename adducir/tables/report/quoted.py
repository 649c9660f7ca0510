"""The beginning of a document as the report quotes it: words of the query, words with weights."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

WORD = re.compile(r"([^\W_]+)")
"""A word, as the page's script has it: letters and digits. Weights of a text are of these words."""
_SHORT = 3
_LEVELS = 4


class Part(NamedTuple):
    """A part of a text: an element's name (empty for none), its class, its title and its text."""

    element: str
    role: str
    title: str
    text: str


def quoted(text: str, query: str, weights: Sequence[int] = ()) -> Iterator[Part]:
    """The parts of a text: marks for words of the query, underlines for words with weights.

    Args:
        text: The text.
        query: The query; of its words, longer ones are marked.
        weights: For each word of the text its weight in hundredths; none for no weights.
    """
    asked = set(WORD.findall(query.lower()))
    for at, part in enumerate(WORD.split(text)):
        is_word = at % 2 == 1
        weight = weights[at // 2] if is_word and weights else 0
        element = "u" if weight else ""
        if is_word and len(part) > _SHORT and part.lower() in asked:
            element = "mark"
        role = f"w{min(_LEVELS, -(-weight // 25))}" if weight else ""
        yield Part(element, role, f"{weight / 100:g}" if weight else "", part)
