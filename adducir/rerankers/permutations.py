"""Ranking by windows: which passages are ranked together, and how an answer becomes an order.

Windows slide over the candidates from the bottom up (Sun et al., EMNLP 2023) and always reach the
top, which the published loops miss unless the stride divides the rest.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Order = NDArray[np.int64]

_FORM = re.compile(r"\[[0-9]{1,9}\](?: ?> ?\[[0-9]{1,9}\])*")
_CHAIN = re.compile(r"\[[0-9]{1,9}\](?: ?> ?\[[0-9]{1,9}\])+")
_BARE = re.compile(r"[0-9]{1,9}(?: ?(?:>|,) ?[0-9]{1,9})+")


def windows(count: int, window: int, stride: int) -> list[tuple[int, int]]:
    """Windows over this many texts, from bottom to top, ``stride`` apart."""
    spans, end = list[tuple[int, int]](), count
    while end > 0 and (not spans or spans[-1][0] > 0):
        spans.append((max(0, end - window), end))
        end -= stride
    return spans


def completed(numbers: Iterable[int], count: int) -> Order:
    """An order from numbers from 0: others and repetitions dropped, the rest in its old order."""
    order = dict.fromkeys(number for number in numbers if 0 <= number < count)
    return np.array([*order, *(number for number in range(count) if number not in order)], np.int64)


def rank_scores(order: Order) -> NDArray[np.float64]:
    """(n,) 1 / rank of texts whose numbers are given best first."""
    scores = np.zeros(len(order))
    scores[order] = 1.0 / np.arange(1, len(order) + 1)
    return scores


def repaired(answer: str, count: int) -> Order:
    """The order in ``3 > 1 > 2``, of a model that was trained to write nothing else."""
    named = (int(digits) - 1 for digits in re.findall(r"[0-9]+", answer) if len(digits) < 10)
    return completed(named, count)


class Permutation(NamedTuple):
    """An answer's order, from 0; None if it is not one. ``faults`` are what had to be repaired."""

    order: Order | None
    faults: Counter[str]


def permutation(answer: str, count: int) -> Permutation:
    """Read ``[2] > [1]`` strictly.

    Numbers in a sentence are not an order ("I cannot rank 20 passages"): of another form, an answer
    counts only if it is a list of bare numbers, or contains exactly one chain of ``[i] > [j]``.
    """
    text, faults = answer.strip().strip('"'), Counter[str]()
    if not _FORM.fullmatch(text):
        chains = [text] if _BARE.fullmatch(text) else _CHAIN.findall(text)
        if len(chains) != 1:
            return Permutation(None, faults)
        (text,) = chains
        faults["wrong form"] += 1
    numbers = [int(digits) - 1 for digits in re.findall(r"[0-9]+", text)]
    inside = [number for number in numbers if 0 <= number < count]
    for fault, holds in (
        ("out of range", len(inside) < len(numbers)),
        ("repetition", len(set(inside)) < len(inside)),
        ("missing", len(set(inside)) < count),
    ):
        faults[fault] += holds
    return Permutation(completed(inside, count) if inside else None, +faults)
