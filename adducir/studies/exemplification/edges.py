"""Edges of sentences that white space and capitals do not show, as answers on forums have them.

The segmenter keeps such sentences in one piece, because a cut there would be wrong as often as
right in running text. Around an example it matters more: a unit that runs
on masks what is no example.
"""

import re

_STARTERS = "This|These|They|There|It|It['’]s|You|We|However|But|So|If|When|Because|Also|Then"
_EDGE = re.compile(
    rf"""
    (?<=[a-z]{{2}}[.!?])(?=[A-Z][a-z'’]*[\s,])             # a blank is missing: "done.Next"
    |(?<=[a-z]{{2}}[.!?][)"”])(?=[A-Z][a-z'’]*[\s,])
    |(?<=[)\]][.!?])\s+(?=["“'‘(]?(?:[A-Z]|[a-z]{{2}}))    # "(as here). and so on"
    |(?<=[a-z]{{3}}[.!?])\s+(?=e\.?\s?g\b|for[ ]example)    # two examples in a row
    |(?:(?<=[.!?)"”\n])|(?<=[.!?]\s))(?:>|&gt;)[>\s]*(?=["“'‘(]?[A-Z])  # a quoted line
    |(?<=[a-z]{{3}})\s+(?=(?:{_STARTERS})\b)                # a full stop is missing
    |(?<=[a-z]{{2}})\s+(?=For[ ]example\b)
    """,
    re.VERBOSE,
)
_FAR = 8192
"""Characters beyond which no edge is sought: many examples in one endless sentence would take time
in proportion to the square of its length."""
_QUOTED = re.compile(r"(?:(?:>|&gt;)\s*)+")


def narrowed(text: str, start: int, end: int, first: int, last: int) -> tuple[int, int]:
    """The sentence ``start`` to ``end``, cut at the edges nearest to ``first`` to ``last`` in it.

    Returns:
        The first and past-the-last character; edges that touch what must be held are no edges on
        the right, but one on the left begins the sentence.
    """
    for found in _EDGE.finditer(text, max(start, first - _FAR), min(end, last + _FAR)):
        if found.end() <= first:
            start = found.end()
        elif found.start() >= last:
            end = found.start()
            break
    quoted = _QUOTED.match(text, start, first)
    return (start if quoted is None else quoted.end()), end
