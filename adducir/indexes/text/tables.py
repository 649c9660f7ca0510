"""The tables of :mod:`adducir.indexes.text`, read from ``words.txt``."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from adducir.indexes.arrays import Array

CODES = 0x110000
STRIDE = 32  # places per state in ``moves``
MOST_UNITS = 255  # UTF-16 units of a token
_BLANKS = "9-d 1c-20 1680 2000-2006 2008-200a 2028-2029 205f 3000"  # Java's Character.isWhitespace


class Tables(NamedTuple):
    """What a tokeniser looks up.

    Attributes:
        classes: (code points,) uint8, each code point's class.
        moves: (states * STRIDE,) uint8, at a state times STRIDE plus a class the next state; 0 for
            none. State 1 is the first.
        types: (states,) uint8, the type of a token that can end here: a place in ``names``, or 0.
        lower: (code points to the last capital,) int32, each one's lower case; empty to keep case.
        names: Lucene's names of the types of tokens, from place 1 on.
    """

    classes: Array
    moves: Array
    types: Array
    lower: Array
    names: tuple[str, ...]


@cache
def blank_tables() -> Tables:
    """Those of Lucene's WhitespaceTokenizer."""
    classes = np.ones(CODES, dtype=np.uint8)
    for blank in _BLANKS.split():
        first, _, last = blank.partition("-")
        classes[int(first, 16) : int(last or first, 16) + 1] = 0
    moves = np.zeros(3 * STRIDE, dtype=np.uint8)
    moves[[STRIDE + 1, 2 * STRIDE + 1]] = 2
    types = np.array([0, 0, 1], dtype=np.uint8)
    return Tables(classes, moves, types, np.zeros(0, dtype=np.int32), ("", "word"))


@cache
def word_tables() -> Tables:
    """Those of Lucene's StandardTokenizer."""
    text = Path(__file__).with_name("words.txt").read_text(encoding="ascii")
    _, names, states, ranges, lower = (part.partition("]\n")[2] for part in text.split("\n["))
    numbers = {name: number for number, name in enumerate(names.split())}
    fields = ranges.split()
    # Boundaries between a range, of a class, and the gap behind it, of class 0.
    bounds = np.zeros(2 * len(fields[::3]) + 2, dtype=np.int64)
    bounds[1:-1:2] = [int(first, 16) for first in fields[::3]]
    bounds[2:-1:2] = [int(last, 16) + 1 for last in fields[1::3]]
    bounds[-1] = CODES
    values = np.zeros(len(bounds) - 1, dtype=np.uint8)
    values[1::2] = [numbers[name] for name in fields[2::3]]
    classes = np.repeat(values, np.diff(bounds))

    rows = [line.split() for line in states.splitlines()]
    kinds = ("", *dict.fromkeys(kind for kind, *_ in rows if kind != "-"))
    types = [0, *(0 if kind == "-" else kinds.index(kind) for kind, *_ in rows)]
    moves = np.zeros((len(rows) + 1, STRIDE), dtype=np.uint8)
    for state, (_, *following) in enumerate(rows, 1):
        moves[state, : len(following)] = [0 if move == "." else int(move) + 1 for move in following]

    fields = lower.split()
    firsts, lasts = ([int(code, 16) for code in fields[place::4]] for place in (0, 1))
    small = np.arange(max(lasts) + 1, dtype=np.int32)
    for first, last, step, added in zip(firsts, lasts, fields[2::4], fields[3::4], strict=True):
        small[first : last + 1 : int(step)] += int(added)
    return Tables(classes, moves.ravel(), np.array(types, dtype=np.uint8), small, kinds)
