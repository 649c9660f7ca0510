"""Windows over a list of candidates, and orders as models write them."""

import re

import numpy as np
from numpy.typing import NDArray

_NUMBER = re.compile(r"[0-9]+")
_DIGITS = 9


def windows(count: int, size: int, stride: int) -> list[tuple[int, int]]:
    """Windows from the bottom of a list to its top: a good text can rise all the way.

    Each window begins ``stride`` above the one before it, and the last begins at the top, so that
    it may be shorter. Where everything fits into one window there is one. (The loop that LiT5 was
    published with does nothing for a list shorter than its window, and misses the top where the
    stride does not divide the rest.)

    Args:
        count: Candidates.
        size: Candidates in a window.
        stride: How far a window is above the one before it; at most ``size``.

    Returns:
        First candidate, and last plus 1, of each window, in turn.
    """
    found = []
    end = count
    while end > 0:
        first = max(0, end - size)
        found.append((first, end))
        if first == 0:
            break
        end -= stride
    return found


def repaired(answer: str, count: int) -> NDArray[np.int64]:
    """The order that an answer such as ``3 > 1 > 2`` gives to so many texts, from 0.

    Whatever is no number is ignored, as are numbers out of range and repetitions; texts that
    the answer does not name follow in their old order.
    """
    named = (int(digits) - 1 for digits in _NUMBER.findall(answer) if len(digits) <= _DIGITS)
    order = list(dict.fromkeys(number for number in named if 0 <= number < count))
    missing = sorted(set(range(count)).difference(order))
    return np.array(order + missing, dtype=np.int64)
